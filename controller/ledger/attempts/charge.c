/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charge.c - turns a report's cumulative figures into deltas of charge and counts them. See
 * attempts/charge.h. */
#include <stdio.h>
#include "common/err.h"
#include "controller/ledger/usage/queue_waits.h"
#include "controller/ledger/attempts/charge.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/usage/rollup/rollup_collect.h"

/* The figures that charges depend on: resident peak, or where it was not measured the
 * cgroup's peak, which counts page cache too; GPUs that have done nothing. */
static void set_measured(struct store_known *k)
{
	const struct usage *from = &k->usage;
	struct tally_use *u = &k->use;

	u->gpus_idle = 0;
	if (usage_has(from, &from->gpus_used) && from->gpus_used < k->terms.ngpus)
		u->gpus_idle = k->terms.ngpus - from->gpus_used;
	u->cpu_ns = usage_has(from, &from->cpu_ns) ? from->cpu_ns : -1;
	if (usage_has(from, &from->rss_peak_bytes))
		u->mem_peak_bytes = from->rss_peak_bytes;
	else if (usage_has(from, &from->mem_peak_bytes))
		u->mem_peak_bytes = from->mem_peak_bytes;
	else
		u->mem_peak_bytes = -1;
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

struct rollup_ctx {
	struct store *s;
	struct store_known *k;
	struct tally before; /* cumulative, to turn ns into ms without losing any */
	struct err *err;
};

static struct rollup_key key_of(const struct store_known *k, int64_t day)
{
	return (struct rollup_key){ k->cluster, k->account, k->user, (int64_t)k->pool, day };
}

static int add_day(void *ctx, int64_t day, const struct tally *g)
{
	struct rollup_ctx *c = ctx;
	const struct rollup_key key = key_of(c->k, day);
	struct rollup gained = rollup_gain(&c->before, g);
	int r = rollup_collect(c->s, &key, &gained, c->err);

	return r < 0 ? r : store_slice(c->s, &c->k->days, day, &gained, c->err);
}

int store_charge_count_job(struct store *s, struct store_known *k, enum store_mark which,
			   int64_t day, struct err *err)
{
	const struct rollup_key key = key_of(k, day);
	struct rollup one = { 0 };
	int r;

	one.figure[which == STORE_MARK_STARTED ? ROLLUP_JOBS_STARTED : ROLLUP_JOBS_ENDED] = 1;
	r = rollup_collect(s, &key, &one, err);
	return r < 0 ? r : store_mark(s, &k->days, which, day, err);
}

static int64_t clamp_moment(int64_t at_ns, int64_t low_ns, int64_t high_ns)
{
	if (at_ns < low_ns)
		at_ns = low_ns;
	return at_ns > high_ns ? high_ns : at_ns;
}

struct tally_span store_charge_span(const struct store_known *k,
				    const struct store_report_case *c)
{
	const struct report *rep = c->report;
	int64_t before = k->is_several ? k->part.at_ns : k->at_ns;
	int64_t from = before ? before : rep->started_ns;
	int64_t to = rep->ended_ns ? rep->ended_ns : rep->at_ns;

	return (struct tally_span){ .from_ns = clamp_moment(from, k->given_ns, c->now_ns),
				    .to_ns = clamp_moment(to, k->given_ns, c->now_ns) };
}

int64_t store_charge_end_day(const struct store *s, const struct store_known *k, int64_t at_ns)
{
	return calendar_last_day(s->calendar, k->given_ns, at_ns);
}

int store_charge_write(struct store *s, struct store_known *k, const struct tally_span *span,
		       struct err *err)
{
	struct rollup_ctx ctx = { .s = s, .k = k, .err = err };
	int r;

	k->days.so_far = rollup_gain(&ctx.before, &span->before);
	r = tally_split(&k->terms, span, calendar_days(s->calendar), add_day, &ctx);
	return r < 0 ? r : store_usage_day(s, &k->days, err);
}

struct store_wait store_charge_start(const struct store *s, const struct store_known *k,
				     const struct store_report_case *c)
{
	int64_t at_ns = clamp_moment(c->report->started_ns, k->given_ns, c->now_ns);

	return (struct store_wait){ .cluster = k->cluster,
				    .day = calendar_day(s->calendar, at_ns),
				    .ncpus = k->terms.ncpus,
				    .wait_s = (at_ns - k->eligible_ns) / S_NS };
}

/* The job starts: its first attempt tells how long it was in the queue. */
static int count_start(struct store *s, struct store_known *k,
		       const struct store_report_case *c, struct err *err)
{
	const struct store_wait wait = store_charge_start(s, k, c);
	int r = store_charge_count_job(s, k, STORE_MARK_STARTED, wait.day, err);

	return r < 0 || k->days.attempt > 1 ? r : store_wait_count(s, &wait, err);
}

int store_charge_write_days(struct store *s, struct store_known *k,
			    const struct store_report_case *c, const struct tally_span *span,
			    struct err *err)
{
	const struct report *rep = c->report;
	int r = store_charge_write(s, k, span, err);

	if (r >= 0 && rep->started_ns && !k->started_ns)
		r = count_start(s, k, c, err);
	if (r >= 0 && rep->state == JOB_ENDED && k->closed == 0)
		r = store_charge_count_job(s, k, STORE_MARK_ENDED,
					   store_charge_end_day(s, k, span->to_ns), err);
	return r;
}

/* The node's start is nearer to when it began to run than the report before. */
struct store_run_interval store_charge_interval(const struct store_known *k,
						struct store_report_case *c,
						const struct tally_span *span)
{
	const struct tally gained = tally_minus(&span->after, &span->before);
	struct sync_usage_delta *g = &c->gain;

	snprintf(g->cluster, sizeof(g->cluster), "%s", k->cluster);
	snprintf(g->account, sizeof(g->account), "%s", k->account);
	snprintf(g->user, sizeof(g->user), "%s", k->user);
	snprintf(g->queue, sizeof(g->queue), "%s", k->queue);
	g->pool = k->pool;
	g->rate = k->terms.rate;
	g->ncpus = k->terms.ncpus;
	g->ngpus = k->terms.ngpus;
	g->mem_bytes = k->mem_bytes;
	return (struct store_run_interval){ .job = c->report->job,
					    .attempt = c->report->attempt,
					    .from_ns =
						    later(span->from_ns, c->report->started_ns),
					    .to_ns = span->to_ns,
					    .running_ns = gained.running_ns,
					    .suspended_ns = gained.suspended_ns,
					    .last = &k->last,
					    .rows = c->rows ? &c->rows->intervals : NULL };
}

int store_charge_write_interval(struct store *s, const struct store_known *k,
				struct store_report_case *c, const struct tally_span *span,
				struct err *err)
{
	struct store_run_interval x = store_charge_interval(k, c, span);

	return store_run_interval(s, &x, &c->gain, err);
}

/* What a node reports of a job on several: onto its own, and the sum of all. */
static int merge_usage(struct store *s, struct store_known *k, const struct report *rep,
		       struct err *err)
{
	struct usage was;

	if (!k->is_several) {
		usage_merge(&k->usage, &rep->usage);
		return 0;
	}
	was = k->part.usage;
	usage_merge(&k->part.usage, &rep->usage);
	if (usage_replace(&k->usage, &was, &k->part.usage))
		return 0;
	return store_part_sum(s, &k->part, &k->usage, err);
}

int store_charge_delta(struct store *s, struct store_known *k, const struct report *rep,
		       struct tally_span *span, struct err *err)
{
	int r;

	set_measured(k);
	r = tally_make(&k->terms, &k->use, &span->before);
	if (r < 0)
		return r;
	/* What was charged is what was written; the terms of an attempt never change. */
	span->before.charge_requested_ms = k->old_charge_requested_ms;
	span->before.charge_used_ms = k->old_charge_used_ms;
	r = merge_usage(s, k, rep, err);
	if (r < 0)
		return r;
	if (k->part.part == 0) {
		k->use.running_ns = later(k->use.running_ns, rep->running_ns);
		k->use.suspended_ns = later(k->use.suspended_ns, rep->suspended_ns);
	}
	set_measured(k);
	return tally_make(&k->terms, &k->use, &span->after);
}
