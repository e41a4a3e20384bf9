/* SPDX-License-Identifier: GPL-2.0-or-later */
/* events.h - reports of the kernel about a job at the moment they happen: an OOM kill, frozen,
 * thawed, empty.
 *
 * Three sources behind one interface: fentry on the OOM killer (tier 1), tracepoints (tier 2), or
 * inotify on the cgroup's own files (tier 3). Frozen time is added up in the kernel, in a pinned
 * map: exact also while the agent is away, and for a freeze by root or of an ancestor.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

struct events;

struct events_oom {
	int64_t job;
	uint64_t boot_ns;
	int32_t pid;   /* victim's process id; 0: not known (tier 3) */
	char comm[16]; /* its command; "" not known */
	uint64_t victim_rss_bytes;
	/* Of the cgroup whose limit was hit; 0: not known, or the node itself ran out. */
	uint64_t usage_bytes, limit_bytes;
	bool own_limit; /* it was the job's own limit, not that of a parent or the node */
	bool node_wide; /* no cgroup limit: the node ran out of memory */
};

struct events_freeze {
	bool frozen;	   /* now */
	uint64_t since_ns; /* CLOCK_BOOTTIME, when frozen */
	uint64_t total_ns; /* all frozen intervals, the present one up to now included */
	uint64_t count;	   /* how often it became frozen */
	bool exact;	   /* false: time while the agent was away may be missing (tier 3) */
};

struct events_config {
	const char *pin_dir; /* on bpffs; NULL: not kept across a restart of the agent */
	uint32_t max_jobs;   /* 0 = 1024 */
	int best_tier;	     /* 0 or 1: all; 2: no trampolines; 3: no BPF */
	void *ctx;
	void (*on_oom)(void *ctx, const struct events_oom *oom);
	void (*on_frozen)(void *ctx, int64_t job, bool frozen, uint64_t boot_ns);
	/* The last process has left the job's cgroup. May come more than once. */
	void (*on_empty)(void *ctx, int64_t job, uint64_t boot_ns);
};

struct events_job {
	int64_t job;
	uint64_t cgroup_id;
	const char *path; /* absolute path of the cgroup directory */
	/* Its own cgroup is never frozen, but those of its steps, EVENTS_STEP_DEPTH levels below (a job of
	 * Slurm): it counts as frozen from the first one's freezing to the last one's thawing. */
	bool by_steps;
	/* What an earlier agent had of it, from which tier 3 goes on: frozen intervals that have ended, and since when it is frozen (0: from now
	 * on, if it is). */
	int64_t frozen_ns, since_ns;
};

int events_open(const struct events_config *config, struct events **ret, struct err *err);
struct events *events_close(struct events *e); /* what is pinned goes on counting */

/* Watch a job, or go on after a restart (frozen time then continues). A job that is already
 * frozen counts as frozen from now on; one that is already empty is reported empty at the
 * next dispatch. -EEXIST, -ENOSPC, -ENOENT. */
int events_add(struct events *e, const struct events_job *job, struct err *err);
void events_remove(struct events *e, uint64_t cgroup_id);
unsigned events_prune(struct events *e); /* as sample_prune() */

/* How many steps of a job `by_steps` are frozen, as their files say; to be called about each second.
 * What no hook saw (a step that was frozen before the job was added, or removed while it was frozen) is
 * mended when two calls in a row differ from the count without a change between them. */
void events_check_steps(struct events *e, uint64_t cgroup_id, uint32_t n_frozen);
/* -ENOENT: not added. -EOPNOTSUPP: a job `by_steps`, and no hook counts them: the caller reads files. */
int events_frozen(struct events *e, uint64_t cgroup_id, struct events_freeze *ret,
		  struct err *err);

int events_fd(const struct events *e); /* readable when there is something to dispatch */
/* Calls the callbacks for all that has happened. They may add and remove jobs. 0 or -errno. */
int events_dispatch(struct events *e, struct err *err);

/* The best tier in use (1 to 3), and what is lost against tier 1, one line each. */
int events_tier(const struct events *e);
const char *events_status(struct events *e);
/* An earlier agent's hooks were found and taken over: no interval went unwatched. */
bool events_adopted(const struct events *e);

static inline void events_closep(struct events **e)
{
	events_close(*e);
}
