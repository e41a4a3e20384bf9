/* prof.h - an opt-in look at how one job is scheduled: a program on sched_switch, attached
 * only while a profile is open. Off by default: nothing is attached and nothing is paid.
 */
#pragma once
#include <stdint.h>
#include "common/err.h"

#define PROF_N_BUCKETS 40

struct prof;

struct prof_counts {
	uint64_t on_cpu_ns;
	uint64_t wait_ns;     /* runnable but not running */
	uint64_t switches;    /* times a task of the job was switched out */
	uint64_t preemptions; /* of these, not by its own will */
	uint64_t migrations;  /* ran on another CPU than the time before */
	/* wait[i]: times a task waited at least 2^i ns and less than 2^(i+1); [0] holds 0 too.
	 */
	uint64_t wait[PROF_N_BUCKETS];
};

/* Begin. `cgroup_id` and `level` of the job's cgroup (the cgroup2 root is level 0).
 * A negative errno and the kernel's reason where it cannot be attached. */
int prof_open(uint64_t cgroup_id, uint32_t level, struct prof **ret, struct err *err);
/* Counts since prof_open(). */
int prof_read(struct prof *p, struct prof_counts *ret, struct err *err);
struct prof *prof_close(struct prof *p);

static inline void prof_closep(struct prof **p)
{
	prof_close(*p);
}
