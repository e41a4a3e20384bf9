/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kernel - judges the kernel's features, the enforcement tier that the agent found, cgroups, and the test of project quotas. */
#pragma once
#include <stdint.h>
#include "cli/admin/doctor/judge/services.h"

#define JUDGE_NOTES_MAX 48
#define JUDGE_PATH_MAX 512

struct judge_kernel {
	int major, minor; /* of uname; 0, 0: not known */
	bool has_btf;	  /* /sys/kernel/btf/vmlinux */
	bool has_bpffs;	  /* /sys/fs/bpf is mounted as bpf */
	char lockdown
		[JUDGE_WORD_MAX]; /* "none", "integrity", "confidentiality"; "": the kernel has none */
};
void judge_kernel(struct judge_report *r, const struct judge_kernel *k);

/* What the running agent publishes on the system bus. */
struct judge_agent {
	char why[JUDGE_WHY_MAX]; /* it did not answer; "": it did */
	int tier;
	char version[JUDGE_WORD_MAX];
	char notes[JUDGE_NOTES_MAX][JUDGE_WHY_MAX];
	size_t n_notes;
	char controller[JUDGE_PATH_MAX]; /* "": none is configured */
	char link_why[JUDGE_WHY_MAX];
	bool is_up;
	int64_t spool_bytes, spool_max_bytes;
	bool has_spool;
};
/* `has_bus`: is there a system bus on which an agent could answer? */
void judge_agent(struct judge_report *r, const struct judge_agent *a, bool has_bus);
/* The tier and why it is no better one; the agent's other notes. */
void judge_tier(struct judge_report *r, const struct judge_agent *a);
/* The agent's own connection to the controller, and its spool. */
void judge_uplink(struct judge_report *r, const struct judge_agent *a);

struct judge_cgroup {
	const char *mount;	    /* "/sys/fs/cgroup" */
	bool is_v2;		    /* the mount is a cgroup2 file system */
	bool is_hybrid;		    /* controllers of cgroup v1 are mounted too */
	char controllers[256];	    /* of the root; by blanks */
	char slice[JUDGE_PATH_MAX]; /* the cgroup above all jobs; "": there is none yet */
	char slice_controllers[256];
};
void judge_cgroup(struct judge_report *r, const struct judge_cgroup *c);

/* A file was written over a limit of its project. */
struct judge_quota {
	const char *dir;
	bool is_none;					   /* Jobfs = none */
	char why[JUDGE_WHY_MAX];			   /* the test could not be made */
	char type[JUDGE_WORD_MAX], device[JUDGE_PATH_MAX]; /* of the file system; "" unknown */
	bool was_set;	  /* the kernel took a project and a limit */
	char words[128];  /* otherwise: why not */
	bool was_stopped; /* the write above the limit was refused with EDQUOT */
	int64_t limit_bytes, written_bytes;
};
void judge_quota(struct judge_report *r, const struct judge_quota *q);
