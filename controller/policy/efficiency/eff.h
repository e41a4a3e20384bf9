/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff - efficiency: used against requested, of one job or of many.
 *
 * Pure, exact integers. Each resource is a fraction: what was used over what was requested,
 * both multiplied with the running time, so that the fraction of a sum is right whatever
 * the jobs: an hour on 100 cores counts as a hundred hours on one.
 *
 *   cpu       cpu time / (cores x running time)
 *   mem, vmem, jobfs   (peak x running time) / (requested x running time): a request is a peak
 *             that is held all along. mem is the peak of anonymous, shared and mapped pages;
 *             page cache, which the kernel takes back, is not in it.
 *   gpu       busy time of its GPUs / (GPUs x running time), of jobs that had some
 *   walltime  (cores x running time) / (cores x requested walltime)
 *
 * Each attempt counts by itself, with the walltime that it could have used. A resource that was
 * not measured, or not requested, is in neither side. Within a sum no attempt counts more than
 * its request: what one used beyond 100 % never hides what another left idle; how many went
 * beyond is kept apart.
 */
#pragma once
#include "common/engine.h"
#include "common/model/job.h"
#include "controller/policy/charge/charge.h"

struct eff_attempt {
	int64_t job;
	enum engine engine; /* that started it: whose options its owner types */
	bool is_simulated;  /* its GPUs' figures are those of a double of a driver */
	bool is_history;    /* ran elsewhere, or before: what is known comes from there */
	struct resources requested; /* 0: not stated */
	struct usage usage;	    /* cpu_ns and the peaks of rss, mem, vmem, jobfs count */
	struct job_end end;	    /* of history: as if it had exited with 0 */
	int64_t running_ns;
	int64_t charge_ms;
	bool has_terms; /* `terms` is the bundle by which it was charged; else unknown */
	struct charge_bundle terms;
};

enum eff_side { EFF_CPU, EFF_MEM, EFF_VMEM, EFF_JOBFS, EFF_WALLTIME, EFF_GPU, _EFF_SIDE_MAX };
/* "cpu" "mem" "vmem" "jobfs" "walltime" "gpu busy" */
const char *eff_side_name(enum eff_side s);

struct eff_part {
	__int128 used, requested; /* amount x milliseconds; used <= requested */
	__int128 over;		  /* what attempts used beyond their requests */
	int64_t n, n_over;	  /* attempts that were measured; that went beyond */
	int64_t n_unmeasured;
};

struct eff_sum {
	int64_t jobs, attempts; /* attempts of one job are added one after the other */
	int64_t n_history;	/* attempts of history */
	int64_t running_ms, core_ms, gpu_ms, charge_ms;
	struct eff_part part[_EFF_SIDE_MAX];
	__int128 with_cache; /* peak with page cache x milliseconds, apart from all else */
	int64_t n_with_cache;
	/* Of the attempts that had GPUs: peaks of GPU memory x milliseconds. */
	__int128 gpu_mem;
	int64_t n_with_gpus, n_gpu_mem, gpu_held_ms;
	int64_t n_simulated;
	int64_t n_gpus_idle; /* attempts whose GPUs did nothing at all */
	/* What could have been smaller (advice.h), and would have been cheaper. */
	int64_t saved_ms, jobs_saving;
	int64_t most_saved_ms, most_job; /* the attempt that would have saved most */
	struct resources most_fit;
	enum engine most_engine;
	/* The end of the attempt added last, as far as advice_more() reads it, and its engine. */
	enum engine engine;
	enum job_end_kind end_kind;
	enum limit_kind limit;
	int64_t limit_requested, limit_reached;
	/* Of the attempt added last: advice_unjudged(), and what advice_less() proposes, cheaper or not. */
	const char *unjudged;
	struct resources less;
	bool has_less;
	int64_t last_job, last_saving_job, held_ms;
};

/* -ERANGE: a sum is beyond what 64 bits hold; *sum is then of no use. */
int eff_add(struct eff_sum *sum, const struct eff_attempt *a);

/* Tenths of a percent, rounded down; -1: not measured. Above 1000 for one job that used more
 * than it requested; never for several. */
int64_t eff_permille(const struct eff_sum *sum, enum eff_side side);
/* Request and use, averaged over the running time: for one attempt the
 * request and the peak themselves. -1: not measured in all attempts. Not for walltime. */
int64_t eff_requested(const struct eff_sum *sum, enum eff_side side);
int64_t eff_used(const struct eff_sum *sum, enum eff_side side);
/* The peak with page cache, as eff_used() has the one without; no part of any fraction. */
int64_t eff_with_cache(const struct eff_sum *sum);
/* The sum of the peaks of a job's GPUs, as eff_used() has others; -1: not measured in all that
 * had some, or none had. */
int64_t eff_gpu_mem(const struct eff_sum *sum);
/* GPU-milliseconds allocated and idle, where that was measured; -1: nowhere. */
int64_t eff_idle_gpu_ms(const struct eff_sum *sum);
/* Cpu time where it was measured; -1: nowhere. */
int64_t eff_cpu_ms(const struct eff_sum *sum);
/* Core-milliseconds allocated and idle, where cpu time was measured; -1: nowhere. */
int64_t eff_idle_core_ms(const struct eff_sum *sum);
/* Could at least a tenth of the charge, and one equivalent hour, have been saved? */
bool eff_is_worth_advice(const struct eff_sum *sum);
