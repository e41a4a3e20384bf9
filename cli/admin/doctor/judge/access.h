/* SPDX-License-Identifier: GPL-2.0-or-later */
/* access - judges the ways by which a user may run processes on a node that belong to no job: lingering, user managers, sshd without
 * pam_reeve, cron and at. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/services.h"

#define JUDGE_USERS_MAX 64

/* A user with a linger file or a running user manager. */
struct judge_user {
	uint32_t uid;
	char name[JUDGE_WORD_MAX];
	bool has_linger, has_manager;
	bool is_exempt; /* root, a system user, or in the group that pam_reeve exempts */
};
struct judge_users {
	char why[JUDGE_WHY_MAX]; /* they could not be listed */
	struct judge_user of[JUDGE_USERS_MAX];
	size_t n;
	bool is_cut; /* there are more */
};
void judge_users(struct judge_report *r, const struct judge_users *u);

/* Whether polkit lets a user without any privilege linger. */
struct judge_polkit {
	bool has_polkit;	 /* pkcheck is installed here */
	char why[JUDGE_WHY_MAX]; /* it was not asked */
	int status; /* of pkcheck: 0 yes, 1 no, 2 and 3 after a password; else it failed */
	char words[JUDGE_WHY_MAX];
	bool has_rule; /* Reeve's file is installed */
};
#define JUDGE_LINGER_ACTION "org.freedesktop.login1.set-self-linger"
#define JUDGE_LINGER_RULE "/usr/share/polkit-1/rules.d/50-reeve-linger.rules"
void judge_polkit(struct judge_report *r, const struct judge_polkit *p);

/* What /etc/pam.d/sshd and sshd's configuration say. */
struct judge_sshd {
	bool has_sshd;		 /* there is one here */
	char why[JUDGE_WHY_MAX]; /* its files could not be read */
	bool has_account, has_session;
	bool is_late;	 /* pam_systemd, or what includes it, comes before the session line */
	bool goes_on;	 /* the session line does not leave out what follows it */
	bool has_module; /* pam_reeve.so is installed */
	bool has_no_pam; /* UsePAM no */
	bool is_restricted;	     /* AllowUsers or AllowGroups */
	char exempt[JUDGE_WORD_MAX]; /* the group; "": none */
};
/* Reads the text of /etc/pam.d/sshd, and of sshd_config (its .d files first), into *ret. */
void judge_read_pam(const char *text, struct judge_sshd *ret);
void judge_read_sshd_config(const char *text, struct judge_sshd *ret);
void judge_sshd(struct judge_report *r, const struct judge_sshd *s);

/* What StrayProcesses = kill would do to those whom pam_reeve passes. */
struct judge_stray {
	bool is_killing;
	const char *exempt;	  /* the group that pam_reeve passes; "": none */
	const char *stray_exempt; /* StrayExemptGroups as typed; NULL: none */
};
void judge_stray(struct judge_report *r, const struct judge_stray *s);

/* A daemon that starts users' commands later. */
struct judge_later {
	const char *name, *allow; /* "cron", "/etc/cron.allow" */
	bool is_installed, has_allow;
};
void judge_later(struct judge_report *r, const struct judge_later *l);
