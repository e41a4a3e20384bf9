/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff.c - sums the use and the request of attempts, and what smaller requests would have saved;
 * see eff.h. Sums are in 128 bits: amount x milliseconds of many jobs passes 64. */
#include <errno.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/policy/efficiency/advice.h"
#include "controller/policy/efficiency/eff.h"
#include "controller/policy/placement/fit.h"

/* Starting and ending a job takes cpu time outside its running time, and cpu time and running
 * time are not read at the same instant: so much more than all cores had is no excess. */
#define CPU_SLACK_MS S_MS

const char *eff_side_name(enum eff_side s)
{
	static const char *const names[_EFF_SIDE_MAX] = {
		[EFF_CPU] = "cpu",     [EFF_MEM] = "mem",	    [EFF_VMEM] = "vmem",
		[EFF_JOBFS] = "jobfs", [EFF_WALLTIME] = "walltime", [EFF_GPU] = "gpu busy",
	};

	return names[s];
}

/* ---- one attempt ---- */

#define NOT_MEASURED (-1)

struct measure {
	__int128 used,
		requested; /* amount x ms; used: or NOT_MEASURED; requested: 0: not requested */
};

/* A peak as if it had lasted for the whole running time, or NOT_MEASURED. */
static __int128 peak_times_ms(const struct usage *u, const int64_t *peak, int64_t ms)
{
	return usage_has(u, peak) ? (__int128)*peak * ms : NOT_MEASURED;
}

static void measure_cpu(const struct eff_attempt *a, int64_t ms, struct measure *m)
{
	__int128 cores = (__int128)a->requested.ncpus * ms;

	m->requested = cores;
	m->used =
		usage_has(&a->usage, &a->usage.cpu_ns) ? a->usage.cpu_ns / MS_NS : NOT_MEASURED;
	if (!a->is_history && m->used > cores && m->used <= cores + CPU_SLACK_MS)
		m->used = cores;
}

/* A job without GPUs has nothing that could be measured. */
static void measure_gpu(const struct eff_attempt *a, int64_t ms, struct measure *m)
{
	bool is_known = usage_has(&a->usage, &a->usage.gpu_busy_ns);

	*m = (struct measure){ 0, 0 };
	if (a->requested.ngpus <= 0)
		return;
	m->requested = (__int128)a->requested.ngpus * ms;
	m->used = is_known ? a->usage.gpu_busy_ns / MS_NS : NOT_MEASURED;
}

static void measure_attempt(const struct eff_attempt *a, int64_t ms,
			    struct measure m[_EFF_SIDE_MAX])
{
	const struct resources *r = &a->requested;
	const struct usage *u = &a->usage;

	measure_cpu(a, ms, &m[EFF_CPU]);
	measure_gpu(a, ms, &m[EFF_GPU]);
	m[EFF_MEM] = (struct measure){ peak_times_ms(u, &u->rss_peak_bytes, ms),
				       (__int128)r->mem_bytes * ms };
	m[EFF_VMEM] = (struct measure){ peak_times_ms(u, &u->vmem_peak_bytes, ms),
					(__int128)r->vmem_bytes * ms };
	m[EFF_JOBFS] = (struct measure){ peak_times_ms(u, &u->jobfs_peak_bytes, ms),
					 (__int128)r->jobfs_bytes * ms };
	m[EFF_WALLTIME] = (struct measure){ (__int128)r->ncpus * ms,
					    (__int128)r->ncpus * r->walltime_s * S_MS };
}

/* A resource that was not measured or not requested is in neither side of the fraction. */
static void add_part(struct eff_part *p, const struct measure *m)
{
	p->n_unmeasured += m->used < 0;
	if (m->used < 0 || m->requested <= 0)
		return;
	p->n++;
	p->requested += m->requested;
	p->used += m->used > m->requested ? m->requested : m->used;
	if (m->used > m->requested) {
		p->n_over++;
		p->over += m->used - m->requested;
	}
}

/* ---- what a smaller request would have cost ---- */

static int price_request(const struct eff_attempt *a, const struct resources *r,
			 int64_t *ret_ms)
{
	const struct charge_amounts amounts = { .side = { [CHARGE_GPUS] = r->ngpus,
							  [CHARGE_CORES] = r->ncpus,
							  [CHARGE_MEMORY] = fit_memory(r) } };
	struct charge_rate rate;
	int e = charge_rate_of(&a->terms, &amounts, &rate);

	return e < 0 ? e : charge_requested(rate.rate, a->running_ns, ret_ms);
}

static struct resources apply_advice(const struct resources *r, const struct resources *fit)
{
	struct resources s = *r;

	if (fit->ncpus)
		s.ncpus = fit->ncpus;
	if (fit->vmem_bytes)
		s.vmem_bytes = fit->vmem_bytes;
	if (fit->mem_bytes)
		s.mem_bytes = fit->mem_bytes;
	if (fit->ngpus)
		s.ngpus = fit->ngpus;
	return s;
}

/* Where the terms do not reproduce the charge it had (whole nodes, say), they cannot price a
 * smaller request either: 0. */
static int64_t find_saving(const struct eff_attempt *a, const struct resources *fit)
{
	struct resources less = apply_advice(&a->requested, fit);
	int64_t now, then;

	if (!a->has_terms || price_request(a, &a->requested, &now) < 0 || now != a->charge_ms ||
	    price_request(a, &less, &then) < 0 || then >= now)
		return 0;
	return now - then;
}

static int add_saving(struct eff_sum *sum, const struct eff_attempt *a)
{
	const struct advice_facts facts = { .requested = &a->requested,
					    .usage = &a->usage,
					    .end = &a->end,
					    .running_ns = a->running_ns };
	struct resources fit;
	int64_t saved;

	sum->has_less = advice_less(&facts, &fit);
	sum->less = fit;
	saved = sum->has_less ? find_saving(a, &fit) : 0;
	if (!saved)
		return 0;
	if (sum->last_saving_job != a->job || a->is_history)
		sum->jobs_saving++;
	sum->last_saving_job = a->job;
	if (saved > sum->most_saved_ms ||
	    (saved == sum->most_saved_ms && a->job < sum->most_job)) {
		sum->most_saved_ms = saved;
		sum->most_job = a->job;
		sum->most_fit = fit;
		sum->most_engine = a->engine;
	}
	return __builtin_add_overflow(sum->saved_ms, saved, &sum->saved_ms) ? -ERANGE : 0;
}

/* ---- sums ---- */

static void add_gpus(struct eff_sum *sum, const struct eff_attempt *a, int64_t ms)
{
	const struct advice_facts facts = { .requested = &a->requested,
					    .usage = &a->usage,
					    .end = &a->end,
					    .running_ns = a->running_ns };

	if (a->requested.ngpus <= 0)
		return;
	sum->n_with_gpus++;
	sum->n_simulated += a->is_simulated;
	sum->gpu_held_ms += ms;
	sum->n_gpus_idle += advice_gpus_idle(&facts);
	if (!usage_has(&a->usage, &a->usage.gpu_mem_peak_bytes))
		return;
	sum->n_gpu_mem++;
	sum->gpu_mem += peak_times_ms(&a->usage, &a->usage.gpu_mem_peak_bytes, ms);
}

/* *sum += a x b; false: overflow. */
static bool add_product(int64_t *sum, int64_t a, int64_t b)
{
	int64_t product;

	return !__builtin_mul_overflow(a, b, &product) &&
	       !__builtin_add_overflow(*sum, product, sum);
}

int eff_add(struct eff_sum *sum, const struct eff_attempt *a)
{
	struct measure m[_EFF_SIDE_MAX];
	int64_t ms = a->running_ns / MS_NS, weight = ms ? ms : 1;

	measure_attempt(a, weight, m);
	for (enum eff_side s = 0; s < _EFF_SIDE_MAX; s++)
		add_part(&sum->part[s], &m[s]);
	if (usage_has(&a->usage, &a->usage.mem_peak_bytes)) {
		sum->with_cache += peak_times_ms(&a->usage, &a->usage.mem_peak_bytes, weight);
		sum->n_with_cache++;
	}
	add_gpus(sum, a, weight);
	/* Job numbers of a history may repeat; it has one attempt for each job. */
	sum->jobs += sum->attempts == 0 || sum->last_job != a->job || a->is_history;
	sum->last_job = a->job;
	sum->attempts++;
	sum->n_history += a->is_history;
	sum->engine = a->engine;
	sum->end_kind = a->end.kind;
	sum->limit = a->end.reason.limit;
	sum->limit_requested = a->end.reason.requested;
	sum->limit_reached = a->end.reason.reached;
	sum->unjudged = advice_unjudged(
		&(struct advice_facts){ .end = &a->end, .running_ns = a->running_ns });
	if (!add_product(&sum->running_ms, ms, 1) || !add_product(&sum->held_ms, weight, 1) ||
	    !add_product(&sum->core_ms, ms, a->requested.ncpus) ||
	    !add_product(&sum->gpu_ms, ms, a->requested.ngpus) ||
	    !add_product(&sum->charge_ms, a->charge_ms, 1))
		return -ERANGE;
	return add_saving(sum, a);
}

/* For one job all that it used, for several what was used within the requests. */
static __int128 used_of(const struct eff_sum *sum, enum eff_side side)
{
	const struct eff_part *p = &sum->part[side];

	return sum->jobs == 1 ? p->used + p->over : p->used;
}

int64_t eff_permille(const struct eff_sum *sum, enum eff_side side)
{
	const struct eff_part *p = &sum->part[side];

	return p->n ? (int64_t)(used_of(sum, side) * 1000 / p->requested) : -1;
}

/* -1 unless every attempt was measured: an average of some would look like one of all. */
static int64_t average_held(const struct eff_sum *sum, enum eff_side side, __int128 amount_ms)
{
	bool is_whole = sum->attempts && sum->part[side].n == sum->attempts;

	return is_whole ? (int64_t)(amount_ms / sum->held_ms) : -1;
}

int64_t eff_requested(const struct eff_sum *sum, enum eff_side side)
{
	return average_held(sum, side, sum->part[side].requested);
}

int64_t eff_used(const struct eff_sum *sum, enum eff_side side)
{
	return average_held(sum, side, used_of(sum, side));
}

int64_t eff_with_cache(const struct eff_sum *sum)
{
	bool is_whole = sum->attempts && sum->n_with_cache == sum->attempts;

	return is_whole ? (int64_t)(sum->with_cache / sum->held_ms) : -1;
}

int64_t eff_gpu_mem(const struct eff_sum *sum)
{
	bool is_whole = sum->n_with_gpus && sum->n_gpu_mem == sum->n_with_gpus;

	return is_whole ? (int64_t)(sum->gpu_mem / sum->gpu_held_ms) : -1;
}

int64_t eff_idle_gpu_ms(const struct eff_sum *sum)
{
	const struct eff_part *p = &sum->part[EFF_GPU];

	return p->n ? (int64_t)(p->requested - p->used) : -1;
}

int64_t eff_cpu_ms(const struct eff_sum *sum)
{
	const struct eff_part *p = &sum->part[EFF_CPU];

	return p->n ? (int64_t)(p->used + p->over) : -1;
}

int64_t eff_idle_core_ms(const struct eff_sum *sum)
{
	const struct eff_part *p = &sum->part[EFF_CPU];

	return p->n ? (int64_t)(p->requested - p->used) : -1;
}

bool eff_is_worth_advice(const struct eff_sum *sum)
{
	return sum->saved_ms >= HOUR_MS && (__int128)sum->saved_ms * 10 >= sum->charge_ms;
}
