/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rule.h - which cgroups hold processes of a job's user that belong to no job. Pure.
 *
 * A user gets processes outside every job by a user manager that lingers, by a login session without pam_reeve,
 * by cron or at, or by a service of root's that starts programs for users. All of these leave the process in a
 * cgroup that is not below the one above all jobs, and a user cannot move a process between the two.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define STRAY_UNIT_MAX 64

/* Absolute paths, below the mount of cgroup v2. */
struct stray_node {
	const char *mount;  /* "/sys/fs/cgroup" */
	const char *jobs;   /* above all jobs: Reeve's, Slurm's or PBS's */
	const char *own;    /* the agent's; "": unknown */
	const char *exempt; /* StrayExemptUnits: names by commas or blanks; NULL: none */
	uint32_t min_uid;   /* processes of uids below it are the system's */
};

enum stray_kind {
	STRAY_NONE,  /* of a job, of the agent, of the system, or exempt */
	STRAY_SLICE, /* in the user's own slice: user manager and login sessions */
	STRAY_LATER, /* started by cron, at or sshd */
	STRAY_OTHER, /* anywhere else: some daemon acts as the user, perhaps for a moment only */
};

struct stray_place {
	enum stray_kind kind;
	uint32_t owner; /* STRAY_OTHER in the slice of another user: that user's uid; else 0 */
	/* Names its unit: "user@1000.service", "cron.service"; each login session is "session-*.scope", and
	 * "/" the root. Only printable ASCII. */
	char unit[STRAY_UNIT_MAX];
};

/* The units of STRAY_LATER, below the mount's system.slice, up to NULL; "sshd@": any instance. */
extern const char *const stray_later_units[];

/* The kind of a process of `uid` in this cgroup (an absolute path). */
struct stray_place stray_rule(const struct stray_node *node, uint32_t uid, const char *cgroup);

/* The name that stray_rule() gives the unit: from the first part of the path that is no slice. */
void stray_unit(const char *path, char ret[static STRAY_UNIT_MAX]);
