/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fresh.c - computes jobs that have ended as the ledger will have them, and their sums. See fresh.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/bound/elapsed.h"
#include "controller/ledger/slurm/fresh_impl.h"
#include "controller/ledger/usage/rollup/rollup_write.h"

struct taking {
	struct settle *t;
	struct fresh_rows *rows;
	struct rollup_set *sums;
	struct store_wait_sum *waits;
	size_t n_waits, waits_room;
	struct fresh_job job; /* the one under way */
	struct tally before;  /* of it, as charge.c has it */
	/* Its first day with figures, which is a slice where there is a second one. */
	struct rollup first;
};

static void taking_done(struct taking *k)
{
	fresh_rows_free(k->rows);
	rollup_set_free(k->sums);
	free(k->waits);
}

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* ---- sums ---- */

/* *ret is good until the next call. */
static int find_sum(struct taking *k, int64_t day, struct rollup **ret, struct err *err)
{
	const struct store_known *n = &k->job.known;
	int association = rollup_set_find(k->sums, n->cluster, n->account, n->user);

	if (association < 0)
		return err_set(err, association, "the name of an association is too long");
	*ret = rollup_set_at(k->sums, association, (int)n->pool, day);
	return *ret ? 0 : no_memory(err);
}

/* As add_slice() of attempts/days.c. */
static int add_slice(struct taking *k, int64_t day, const struct rollup *gained,
		     struct err *err)
{
	struct store_days *d = &k->job.known.days;
	int r = 0;

	if (rollup_is_zero(gained))
		return 0;
	if (d->usage_day == STORE_NO_DAY) {
		d->usage_day = day;
		k->first = *gained;
		return 0;
	}
	if (!d->is_sliced) {
		r = fresh_rows_add_slice(k->rows, &k->job, d->usage_day, &k->first, err);
		d->is_sliced = true;
		d->usage_day = day;
	}
	return r < 0 ? r : fresh_rows_add_slice(k->rows, &k->job, day, gained, err);
}

/* tally_day_fn */
static int add_day(void *ctx, int64_t day, const struct tally *g)
{
	struct taking *k = ctx;
	const struct rollup gained = rollup_gain(&k->before, g);
	struct rollup *sum;
	int r = find_sum(k, day, &sum, NULL);

	if (r < 0)
		return r;
	rollup_add(sum, &gained);
	return add_slice(k, day, &gained, NULL);
}

static int count_wait(struct taking *k, const struct store_wait *w, struct err *err)
{
	const struct store_wait_sum one = { w->day, waits_size(w->ncpus),
					    waits_bucket(w->wait_s), 1 };
	size_t room = k->waits_room ? 2 * k->waits_room : 64;
	struct store_wait_sum *p;

	for (size_t i = 0; i < k->n_waits; i++) {
		p = &k->waits[i];
		if (p->day == one.day && p->size == one.size && p->bucket == one.bucket) {
			p->jobs++;
			return 0;
		}
	}
	if (k->n_waits == k->waits_room) {
		p = realloc(k->waits, room * sizeof(*p));
		if (!p)
			return no_memory(err);
		k->waits = p;
		k->waits_room = room;
	}
	k->waits[k->n_waits++] = one;
	return 0;
}

static int count_job(struct taking *k, int64_t day, enum rollup_figure which, struct err *err)
{
	struct rollup *sum;
	int r = find_sum(k, day, &sum, err);

	if (r >= 0)
		sum->figure[which]++;
	return r;
}

/* As store_charge_write_days() and store_charge_write_interval() of a first and last report. */
static int add_figures(struct taking *k, struct err *err)
{
	struct fresh_job *j = &k->job;
	struct store *s = k->t->s;
	const struct store_wait wait = store_charge_start(s, &j->known, &j->reported);
	struct store_run_interval x = store_charge_interval(&j->known, &j->reported, &j->span);
	int r = 0;

	j->started_day = wait.day;
	j->ended_day = store_charge_end_day(s, &j->known, j->span.to_ns);
	r = count_job(k, wait.day, ROLLUP_JOBS_STARTED, err);
	if (r >= 0 && j->a.attempt <= 1)
		r = count_wait(k, &wait, err);
	if (r >= 0)
		r = count_job(k, j->ended_day, ROLLUP_JOBS_ENDED, err);
	if (r < 0 || x.running_ns <= 0)
		return r;
	if (x.from_ns > x.to_ns)
		x.from_ns = x.to_ns;
	j->reported.gain.from_ns = j->reported.gain.was_to_ns = x.from_ns;
	j->reported.gain.to_ns = x.to_ns;
	j->reported.gain.running_ns = x.running_ns;
	r = settle_keep_delta(k->t, &j->reported.gain, err);
	return r < 0 ? r : fresh_rows_add_interval(k->rows, &x, err);
}

static int split_days(struct taking *k, struct err *err)
{
	struct fresh_job *j = &k->job;
	int r;

	k->before = (struct tally){ 0 };
	rollup_gain(&k->before, &j->span.before);
	r = tally_split(&j->known.terms, &j->span, calendar_days(k->t->s->calendar), add_day,
			k);
	return r < 0 ? err_set(err, r, "job %lld: its days cannot be added up",
			       (long long)j->a.job)
		     : 0;
}

/* ---- one job ---- */

/* What store_known_load() would read of the rows that are not there yet. */
static void set_known(struct fresh_job *j)
{
	const struct request *q = &j->request;
	const struct charge_bundle *b = &j->new.terms.bundle;
	struct store_known *k = &j->known;

	*k = (struct store_known){
		.seq = -1,
		.given_ns = store_slurm_given(&j->from),
		.job_attempt = j->a.attempt,
		.eligible_ns = store_slurm_submitted(&j->from),
		.state = j->from.state,
		.pool = j->new.pool,
		.mem_bytes = q->res.vmem_bytes > 0 ? q->res.vmem_bytes : q->res.mem_bytes,
		.terms = { .rate = j->new.terms.rate,
			   .ncpus = q->res.ncpus,
			   .ngpus = q->res.ngpus,
			   .bundle = { .is_sum = b->is_sum } },
		.days = { .job = j->a.job, .attempt = j->a.attempt, .usage_day = STORE_NO_DAY }
	};
	k->terms.bundle.side[CHARGE_GPUS] = b->side[CHARGE_GPUS];
	k->terms.bundle.side[CHARGE_CORES] = b->side[CHARGE_CORES];
	k->terms.bundle.side[CHARGE_MEMORY] = b->side[CHARGE_MEMORY];
	snprintf(k->node, sizeof(k->node), "%s", j->from.node);
	snprintf(k->cluster, sizeof(k->cluster), "%s", q->cluster);
	snprintf(k->account, sizeof(k->account), "%s", q->account);
	snprintf(k->user, sizeof(k->user), "%s", q->user);
	snprintf(k->queue, sizeof(k->queue), "%s", q->queue);
}

/* As store_report() charges it. 1: done; 0: the report has to be bounded or refused, which settle.c does. */
static int charge_job(struct taking *k, struct err *err)
{
	struct fresh_job *j = &k->job;
	struct err why = { "its figures" };
	int r;

	set_known(j);
	j->report = settle_report(&j->a, &j->times);
	j->report.seq = 0;
	j->reported = (struct store_report_case){ .report = &j->report,
						  .node = j->from.node,
						  .now_ns = k->t->from->now_ns,
						  .is_followed = true };
	if (!store_elapsed_is_within(&j->reported, j->known.given_ns))
		return 0;
	j->span = store_charge_span(&j->known, &j->reported);
	r = store_charge_delta(k->t->s, &j->known, &j->report, &j->span, &why);
	if (r == -ERANGE || r == -EINVAL)
		return 0;
	return r < 0 ? err_set(err, r, "job %lld: charge: %s", (long long)j->a.job, why.text)
		     : 1;
}

/* The times that the ledger takes. false: an agent is waited for, or the end asks for more than a row. */
static bool find_times(struct taking *k)
{
	struct fresh_job *j = &k->job;
	const struct rule_known nothing = { .has_agent_report = false };
	const int64_t now_ns = k->t->from->now_ns;
	struct rule_decision d;

	j->times = rule_mend(&j->a.row, k->t->batch->at_s, now_ns, j->mended);
	if (!j->times.end_ns)
		return false;
	if (j->times.start_ns) {
		d = rule_decide(&j->times, &nothing, now_ns);
		if (d.action != RULE_WRITE)
			return false;
		j->from = settle_case(k->t, &j->a, &j->times, &j->told);
		j->times = d.times;
	} else {
		j->from = settle_case(k->t, &j->a, &j->times, &j->told);
	}
	j->end = rule_end(&j->a.row, &j->times);
	return j->end.kind != END_NODE_LOST;
}

/* 1: its rows and sums are gathered; 0: it is not one of ours after all. */
static int gather_job(struct taking *k, const struct slurm_batch_job *row, int32_t generation,
		      struct err *err)
{
	struct fresh_job *j = &k->job;
	int r;

	j->a = (struct rows_attempt){ .origin = k->t->origin,
				      .attempt = row->attempt ? (int32_t)row->attempt : 1,
				      .row = *row,
				      .source = k->t->batch->source,
				      .at_s = k->t->batch->at_s };
	j->a.job = store_slurm_number(k->t->origin, generation, rule_local_id(row));
	if (!find_times(k))
		return 0;
	r = store_slurm_describe(&j->from, &j->request, &j->new, j->price_note, err);
	if (r < 0)
		return r;
	r = j->times.start_ns ? charge_job(k, err) : 1;
	if (r > 0 && j->times.start_ns) {
		r = split_days(k, err);
		if (r >= 0)
			r = add_figures(k, err);
	} else if (r == 0) {
		return 0;
	}
	if (r >= 0)
		r = fresh_rows_add_job(k->rows, j, err);
	return r < 0 ? r : 1;
}

static int take_job(struct taking *k, size_t at, int32_t generation, bool *ret_is_taken,
		    struct err *err)
{
	int r = gather_job(k, &k->t->batch->jobs[at], generation, err);

	request_done(&k->job.request);
	if (r > 0) {
		*ret_is_taken = true;
		k->t->n_changed++;
	}
	return r < 0 ? r : 0;
}

/* ---- the document ---- */

static int write_all(struct taking *k, struct err *err)
{
	struct store *s = k->t->s;
	int r = fresh_rows_write(k->rows, s, err);

	if (r >= 0)
		r = rollup_write_set(s, k->sums, err);
	for (size_t i = 0; i < k->n_waits && r >= 0; i++)
		r = store_wait_add(s, k->t->batch->cluster, &k->waits[i], err);
	return r;
}

static int take_found(struct taking *k, const struct fresh_found *found, bool *is_taken,
		      struct err *err)
{
	int r = 0;

	k->rows = fresh_rows_new();
	k->sums = rollup_set_new();
	if (!k->rows || !k->sums)
		return no_memory(err);
	for (size_t i = 0; i < k->t->batch->n_jobs && r >= 0; i++)
		if (found[i].is_fresh)
			r = take_job(k, i, found[i].generation, &is_taken[i], err);
	return r < 0 ? r : write_all(k, err);
}

int fresh_take(struct settle *t, bool *is_taken, struct err *err)
{
	_cleanup_free_ struct fresh_found *found = calloc(t->batch->n_jobs + 1, sizeof(*found));
	_cleanup_free_ struct taking *k = calloc(1, sizeof(*k));
	int r = found && k ? fresh_find(t, found, err) : no_memory(err);

	if (r < 0)
		return r;
	k->t = t;
	r = take_found(k, found, is_taken, err);
	taking_done(k);
	return r;
}
