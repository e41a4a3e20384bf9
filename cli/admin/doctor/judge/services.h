/* SPDX-License-Identifier: GPL-2.0-or-later */
/* services - judges the daemon's unit, its configuration, and the versions of what is installed and what runs. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/report.h"

#define JUDGE_WHY_MAX 512
#define JUDGE_WORD_MAX 64

/* What systemd says of a unit (systemctl show). */
struct judge_unit {
	const char *name;	 /* "reeve-agent.service" */
	char why[JUDGE_WHY_MAX]; /* it could not be asked; "": it was */
	bool has_systemd;	 /* false: systemd does not run here */
	char load[JUDGE_WORD_MAX], file[JUDGE_WORD_MAX], active[JUDGE_WORD_MAX],
		result[JUDGE_WORD_MAX];
	int64_t restarts;
};
void judge_unit(struct judge_report *r, const struct judge_unit *u);

/* What the daemon's own check said of its configuration. */
struct judge_config {
	const char *check, *path, *command; /* command: that shows all faults */
	char why[JUDGE_WHY_MAX];	    /* it could not be asked */
	bool is_good;
	char words[JUDGE_WHY_MAX]; /* the first fault */
};
void judge_config(struct judge_report *r, const struct judge_config *c);

/* A version that was found. */
struct judge_version {
	const char *what; /* "the running agent" */
	char version[JUDGE_WORD_MAX];
	char why[JUDGE_WHY_MAX]; /* it is not known; "": it is */
	const char *remedy;	 /* where it differs from this command's; NULL: none */
};
/* Compares all with the version of this command. */
void judge_versions(struct judge_report *r, const char *ours, const struct judge_version *v,
		    size_t n);
