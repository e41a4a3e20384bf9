/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.h - measures what every job on this node has used so far, in one pass.
 *
 * One interface to two ways of measuring: BPF (scan.c), which reads the kernel's own per-cgroup
 * statistics without opening a file, and descriptors kept open on cgroup files (files.c). Each
 * figure has a bit that says whether it was measured; sample_status() lists in words what is
 * missing on this host, and why. Nothing is estimated.
 *
 * Counters (*_ns, *_bytes read or written, faults) are cumulative over the life of the
 * job's cgroup, include exited processes and removed sub-cgroups, and never go down.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/err.h"

struct sampler;

enum sample_have {
	/* On-cpu time, exact nanoseconds (cpu.stat usage_usec is this / 1000). */
	SAMPLE_CPU = 1 << 0,
	/* cpu_user_ns + cpu_system_ns = cpu_ns, split as the kernel does in cpu.stat. */
	SAMPLE_CPU_SPLIT = 1 << 1,
	/* core_ns[]: exact nanoseconds for each CPU number. */
	SAMPLE_CPU_CORES = 1 << 2,
	/* Sum over all tasks, of the time spent runnable but not running. Like SAMPLE_FAULTS
	 * through BPF: exited tasks count from the first sample_add() on (or from the oldest
	 * agent whose pins were taken over), so add a job before its first process starts. */
	SAMPLE_RUN_DELAY = 1 << 3,
	/* Wall time in which at least one task of the job waited for a CPU (cpu.pressure
	 * "some"). Not the same quantity as the run delay: at most the wall time. */
	SAMPLE_CPU_PRESSURE = 1 << 4,
	/* Charged to the job's cgroup: memory.current, page cache included. */
	SAMPLE_MEM = 1 << 5,
	/* The highest SAMPLE_MEM there ever was, kept by the kernel at each charge. */
	SAMPLE_MEM_PEAK = 1 << 6,
	/* Parts of SAMPLE_MEM: anonymous, page cache (file includes shmem), shared memory. */
	SAMPLE_MEM_PARTS = 1 << 7,
	/* Part of SAMPLE_MEM: kernel memory (stacks, page tables, slab). */
	SAMPLE_MEM_KERNEL = 1 << 8,
	SAMPLE_SWAP = 1 << 9,
	/* Mapped by the job's processes: anon + file + shmem pages of each address space, so
	 * a page mapped by two processes counts twice. Peak: highest sampled sum. */
	SAMPLE_RSS = 1 << 10,
	SAMPLE_FAULTS = 1 << 11,
	/* Tasks (threads) in the job: the kernel's "pids". */
	SAMPLE_TASKS = 1 << 12,
	/* Highest number of tasks, kept by the kernel. Without this bit tasks_peak is the
	 * highest number sampled. */
	SAMPLE_TASKS_PEAK_EXACT = 1 << 13,
	/* Processes (thread groups); procs_peak is the highest number sampled. */
	SAMPLE_PROCS = 1 << 14,
	/* Bytes at the block layer over all devices (io.stat rbytes, wbytes). */
	SAMPLE_IO = 1 << 15,
};
#define SAMPLE_N_HAVE 16

struct sample {
	int64_t job;
	uint64_t cgroup_id;
	uint32_t have;	  /* enum sample_have */
	bool gone;	  /* the cgroup has vanished: these are the last values */
	uint64_t boot_ns; /* CLOCK_BOOTTIME of the measurement */
	uint64_t cpu_ns, cpu_user_ns, cpu_system_ns;
	const uint64_t *core_ns; /* n_cores entries, until the next call on this sampler */
	uint32_t n_cores;
	uint64_t run_delay_ns;
	uint64_t cpu_pressure_ns;
	uint64_t mem_bytes, mem_peak_bytes;
	uint64_t anon_bytes, file_bytes, shmem_bytes, kernel_bytes;
	uint64_t swap_bytes;
	uint64_t rss_bytes, rss_peak_bytes;
	uint64_t minor_faults, major_faults;
	uint64_t tasks, tasks_peak;
	uint64_t procs, procs_peak;
	uint64_t read_bytes, written_bytes;
};

struct sample_config {
	const char *root;    /* cgroup directory below which all jobs are, absolute path */
	const char *pin_dir; /* on bpffs; NULL: what exited tasks used is lost at a restart */
	uint32_t max_jobs;   /* 0 = 1024 */
	bool files_only;     /* tier 3, also where BPF would work */
	/* Walk the node's tasks (run delay, faults, rss, processes) at each n-th
	 * sample_all(); in between the last values stand. 0 = 1. */
	uint32_t tasks_every;
};

struct sample_job {
	int64_t job;
	uint64_t cgroup_id; /* inode number of the cgroup directory */
	const char *path; /* absolute path of the cgroup directory; need not outlive the call */
};

/* Choose the best way this host allows. Fails only when neither works: -ENOENT no such root,
 * -ENOMEM, or the errno of the cgroup files. */
int sample_open(const struct sample_config *config, struct sampler **ret, struct err *err);
struct sampler *sample_close(struct sampler *s);

/* Start or, after a restart, go on measuring a job. -EEXIST: already added; -ENOSPC:
 * max_jobs; -ENOENT: no such cgroup. */
int sample_add(struct sampler *s, const struct sample_job *job, struct err *err);
/* Forget a job; unknown ids are fine. */
void sample_remove(struct sampler *s, uint64_t cgroup_id);
/* After a restart and all sample_add(): forget jobs that were kept in the kernel for an
 * earlier agent and not added again. Returns how many. */
unsigned sample_prune(struct sampler *s);

typedef void (*sample_fn)(void *ctx, const struct sample *sample);
/* One pass over all jobs; `fn` is called once for each, in the order of sample_add(). */
int sample_all(struct sampler *s, sample_fn fn, void *ctx, struct err *err);
/* One job, now, tasks included where they are measured at all. -ENOENT: not added.
 * ret->core_ns is valid until the next call. */
int sample_one(struct sampler *s, uint64_t cgroup_id, struct sample *ret, struct err *err);

/* The same, but what is measured by walking the node's tasks stands as of the last walk. */
int sample_cgroup(struct sampler *s, uint64_t cgroup_id, struct sample *ret, struct err *err);

/* 1: BPF reads the figures (per-core ones included where the kernel shows them), 3: files. */
int sample_tier(const struct sampler *s);
/* What this host does not give and why, one line each, "" when nothing is missing. */
const char *sample_status(struct sampler *s);

static inline void sample_closep(struct sampler **s)
{
	sample_close(*s);
}
