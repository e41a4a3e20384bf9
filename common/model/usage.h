/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage - what a job really used, as cumulative figures.
 *
 * Pure. One table (`usage_fields`) names every figure with unit and kind; wire form, metrics,
 * CSV and merging come from it. A figure that could not be measured is absent (has no bit in
 * `have`), never zero.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct usage_core {
	int32_t cpu;
	int64_t ns;
};

#define USAGE_CORES_MAX 64 /* cores kept apart */

struct usage {
	uint64_t have;				    /* bit i: usage_fields[i] was measured */
	int64_t cpu_ns, cpu_user_ns, cpu_system_ns; /* on-cpu time, all processes ever */
	int64_t run_delay_ns;			    /* waiting for a cpu while runnable */
	int64_t vmem_bytes, vmem_peak_bytes;	    /* sum of total_vm over address spaces */
	int64_t vmem_refused;			    /* growths refused for the limit of vmem */
	int64_t mem_bytes, mem_peak_bytes; /* memory.current, its peak (cache included) */
	int64_t rss_bytes, rss_peak_bytes; /* anon + shmem + mapped file; peak as sampled */
	int64_t anon_bytes, file_bytes, shmem_bytes;
	int64_t minor_faults, major_faults;
	int64_t read_bytes, write_bytes; /* block I/O */
	int64_t procs, procs_peak;	 /* processes and threads (pids controller) */
	int64_t jobfs_bytes, jobfs_peak_bytes;
	/* With SwitchProfile=yes only. */
	int64_t ctx_switches, ctx_preemptions, cpu_migrations;
	int64_t run_delay_max_ns;
	/* Sums over all GPUs of the job (gpu_use.h has them one by one). */
	int64_t gpu_busy_ns, gpu_mem_bytes, gpu_mem_peak_bytes, gpu_energy_mj;
	int64_t gpu_idle_ns, gpu_opens, gpus_used;
	/* What its processes allocated by CUDA's own calls, where these are probed. */
	int64_t gpu_alloc_bytes, gpu_alloc_peak_bytes;
	/* What the kernel saw it give to GPUs (agent/sample/gpuwork.h). */
	int64_t gpu_launches, gpu_sched_jobs, gpu_sched_busy_ns;
	int32_t n_cores; /* entries in cores[]; further cores are in cpu_ns alone */
	struct usage_core cores[USAGE_CORES_MAX];
};

enum usage_kind {
	USAGE_COUNTER, /* only grows */
	USAGE_GAUGE,   /* as of now */
	USAGE_PEAK,    /* largest so far */
};

struct usage_field {
	const char *name; /* as in JSON and CSV; the unit is its last word */
	enum usage_kind kind;
	size_t offset;
	const char *help;
};
extern const struct usage_field usage_fields[]; /* ends with name == NULL */

void usage_set(struct usage *u, const int64_t *field, int64_t value); /* field: &u->x */
bool usage_has(const struct usage *u, const int64_t *field);

/* `later` onto *u: counters and peaks take the larger value (a reset source never takes
 * anything back), gauges the later one; an absent figure leaves the old value. */
void usage_merge(struct usage *u, const struct usage *later);

/* What a job used on one more node onto *sum, which is all zero at first: figures add up, peaks
 * too, and what says how long something took at most is the longest. A figure is absent where
 * no node has it. The sum keeps no cores apart: each node numbers its own. */
void usage_add(struct usage *sum, const struct usage *more);
/* One addend of *sum changes from `was` to `now`, which has every figure that `was` has: *sum becomes
 * what adding all again would give. false: only adding all again can tell; *sum is as it was. */
bool usage_replace(struct usage *sum, const struct usage *was, const struct usage *now);
