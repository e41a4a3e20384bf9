/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tally - cumulative figures of one attempt, and how they are spread over days.
 *
 * Pure. A report brings an attempt from one cumulative tally to the next. Between the two the
 * node reports only sums, so the rule is: the difference is spread evenly over the interval
 * [from, to) of real time between the two reports, and cut where a day of the site begins.
 * Charges at such a cut are computed from the cumulative running time there, so the days sum to
 * the whole.
 */
#pragma once
#include <stdint.h>
#include "controller/policy/charge/charge.h"

struct tally {
	int64_t running_ns, suspended_ns, cpu_ns;
	int64_t charge_requested_ms, charge_used_ms;
	int64_t core_ms,
		gpu_ms; /* running time x cores (GPUs) requested: raw, no equivalents */
};

/* What a charge depends on; fixed at submission, so that a changed configuration never
 * reprices a job. */
struct tally_terms {
	struct fraction rate;
	struct charge_bundle bundle;
	int64_t ncpus, ngpus;
};

struct tally_use {
	int64_t running_ns, suspended_ns;
	int64_t cpu_ns, mem_peak_bytes; /* -1: not measured */
	int64_t gpus_idle; /* GPUs of the job that are known to have done nothing */
};

/* The tally at cumulative figures. Cpu time counts towards the charge as used up to cores x
 * running time. -EINVAL, -ERANGE as charge_requested(). */
int tally_make(const struct tally_terms *t, const struct tally_use *u, struct tally *ret);

/* b - a, field by field. */
struct tally tally_minus(const struct tally *b, const struct tally *a);

struct tally_span {
	struct tally before, after;
	int64_t from_ns, to_ns; /* real time, since the epoch */
};

/* The site's calendar: the day that a moment is on, and a day's first instant. A day that
 * begins where the next one begins has no time at all (a time zone that skipped a day). */
struct tally_days {
	int64_t (*day_of)(void *ctx, int64_t at_ns);
	int64_t (*first_ns)(void *ctx, int64_t day);
	void *ctx;
};

/* Calls fn for each day of the span, in order, with the usage of that day. from >= to: all on
 * the day of `to`. Stops at the first error of fn and returns it. */
typedef int (*tally_day_fn)(void *ctx, int64_t day, const struct tally *gained);
int tally_split(const struct tally_terms *t, const struct tally_span *span,
		const struct tally_days *days, tally_day_fn fn, void *ctx);
