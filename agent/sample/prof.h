/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prof.h - the switch profile: how jobs are scheduled, counted by one program on sched_switch for
 * all jobs of the node. Off by default: nothing is attached and it costs nothing.
 *
 * Its links and maps are pinned, so that a restarted agent goes on with the same counts. An agent
 * that is configured without it removes what another left.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

#define PROF_N_BUCKETS 40

struct prof;

struct prof_config {
	const char *pin_dir; /* on bpffs; NULL: nothing is pinned */
	uint32_t level;	     /* of every profiled cgroup; the cgroup2 root is level 0 */
};

struct prof_counts {
	uint64_t on_cpu_ns;
	uint64_t wait_ns;     /* runnable but not running */
	uint64_t switches;    /* times a task of the job was switched out */
	uint64_t preemptions; /* of these, not by its own will */
	uint64_t migrations;  /* ran on another CPU than the time before */
	/* wait[i]: times a task waited at least 2^i ns and less than 2^(i+1); [0]: 0 as well. */
	uint64_t wait[PROF_N_BUCKETS];
};

/* A negative errno and the kernel's reason where it cannot be attached. */
int prof_open(const struct prof_config *config, struct prof **ret, struct err *err);
/* What is pinned goes on counting. */
struct prof *prof_close(struct prof *p);
/* Detach and forget what is pinned in `pin_dir`; nothing there is fine. */
void prof_forget(const char *pin_dir);

/* Counts begin at zero, or go on where an earlier agent had begun. -E2BIG: more jobs
 * than 64 and two a CPU, or 1,024. */
int prof_add(struct prof *p, uint64_t cgroup_id, struct err *err);
void prof_remove(struct prof *p, uint64_t cgroup_id);
/* After a restart: remove those of which `is_known` says no. */
void prof_prune(struct prof *p, bool (*is_known)(void *ctx, uint64_t cgroup_id), void *ctx);
/* Counts since prof_add(). -ENOENT: not added. */
int prof_read(struct prof *p, uint64_t cgroup_id, struct prof_counts *ret, struct err *err);
/* The longest that a task waited for a CPU: below this many ns (a power of two); 0: no switch
 * was counted. */
uint64_t prof_longest_wait_ns(const struct prof_counts *c);

static inline void prof_closep(struct prof **p)
{
	prof_close(*p);
}
