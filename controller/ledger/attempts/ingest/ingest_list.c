/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ingest_list.c - compares the jobs that a node listed and found with those that the ledger has open there, after its reports. See
 * ingest.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/attempts/ingest/ingest_impl.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/restored.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/steps/steps.h"

/* A job that its node has shown, and that is missing from one list, counts as lost when a list this
 * much later lacks it too. */
#define MISSING_GRACE_NS (10 * S_NS)

/* A report of the same attempt was refused in this exchange. */
static bool is_refused(const struct store_ingest *g, const struct sync_job *h)
{
	for (size_t i = 0; i < g->out->n_refusals; i++)
		if (g->out->refusals[i].job == h->job &&
		    g->out->refusals[i].attempt == h->attempt)
			return true;
	return false;
}

static int refuse_job(struct store_ingest *g, const struct sync_job *h, const char *why)
{
	struct sync_refusal *f;

	if (is_refused(g, h))
		return 0;
	f = &g->out->refusals[g->out->n_refusals++];
	*f = (struct sync_refusal){ .job = h->job, .attempt = h->attempt };
	snprintf(f->why, sizeof(f->why), "%s", why);
	return 0;
}

static const char lost_words[] = "its node was lost for too long; the job was given up";

/* The attempt was ended by the controller while its node was silent. Where it still runs the refusal
 * makes the node kill it, and nothing of it counts any more; where it has ended by itself its final
 * report still counts. */
static int refuse_lost(struct store_ingest *g, const struct sync_job *h,
		       const struct store_place *p, struct err *err)
{
	if (h->state == JOB_ENDING || h->state == JOB_ENDED)
		return 0;
	refuse_job(g, h, lost_words);
	if (p->closed == STORE_VOID)
		return 0;
	ingest_touch_others(g);
	store_announce_job(g->s, h->job);
	if (p->part > 0)
		return db_run(g->s->db, err,
			      "UPDATE parts SET closed = " SQL_STORE_VOID
			      " WHERE job = ?1 AND attempt = ?2"
			      " AND part = ?3",
			      "iii", h->job, (int64_t)h->attempt, (int64_t)p->part);
	return db_run(g->s->db, err,
		      "UPDATE attempts SET closed = " SQL_STORE_VOID
		      " WHERE job = ?1 AND attempt = ?2",
		      "ii", h->job, (int64_t)h->attempt);
}

/* Writes the state that the node's list shows. A part that runs may be the last one that the first
 * node waits for: then that node is woken. */
static int show_place(struct store_ingest *g, const struct store_at *at,
		      const struct store_place *p, enum job_state state, struct err *err)
{
	int r;

	ingest_touch_others(g);
	r = store_place_show(g->s, at, p, state, err);
	if (r < 0 || p->state == state)
		return r;
	g->out->has_freed |= state != JOB_STARTING;
	if (p->part > 0 && state == JOB_RUNNING)
		r = store_parts_run(g->s, at, err);
	if (p->part > 0 && r > 0)
		r = ingest_wake_others(g, at->job, err);
	return r < 0 ? r : 0;
}

/* What the ledger has of a job that the node listed or found. 1: *ret_at and *ret are set; 0: the
 * job was refused, because the node has no such attempt or the controller has ended it. */
static int find_place(struct store_ingest *g, const struct sync_job *h, struct store_at *ret_at,
		      struct store_place *ret, struct err *err)
{
	int r;

	*ret_at = (struct store_at){ h->job, h->attempt, g->in->node };
	r = store_place_find(g->s, ret_at, ret, err);
	if (r == 0 && g->may_adopt) {
		ingest_touch_others(g);
		r = store_restored_adopt(g->s, ret_at, g->from->now_ns, err);
		if (r > 0)
			r = store_place_find(g->s, ret_at, ret, err);
	}
	if (r < 0)
		return r;
	if (r == 0)
		return refuse_job(g, h, "this job was never given to this node");
	/* A job of Slurm that runs on after all is not killed: its final report still counts. */
	if ((ret->closed == STORE_LOST || ret->closed == STORE_VOID) && !store_is_slurm(h->job))
		return refuse_lost(g, h, ret, err);
	return 1;
}

static int ingest_listed(struct store_ingest *g, const struct sync_job *h, struct err *err)
{
	struct store_place p;
	struct store_at at;
	int r = find_place(g, h, &at, &p, err);

	if (r <= 0)
		return r;
	/* Only its final report ends an attempt. */
	if (p.closed != STORE_OPEN || h->state < JOB_STARTING || h->state > JOB_ENDING)
		return 0;
	return show_place(g, &at, &p, h->state, err);
}

/* The job runs on the node, and its agent has lost the record. Where the attempt is open the node
 * gets it with its request once more, so that the agent recovers it; else it is refused, so that the
 * agent kills it. */
static int ingest_found(struct store_ingest *g, const struct sync_job *h, struct err *err)
{
	struct store_place p;
	struct store_at at;
	int r = find_place(g, h, &at, &p, err);

	if (r <= 0)
		return r;
	if (p.closed == STORE_FINAL)
		return refuse_job(g, h, "this attempt of the job has ended");
	ingest_touch_others(g);
	return store_place_miss(g->s, &at, &p, 0, err);
}

static int compare_holds(const void *a, const void *b)
{
	const struct sync_job *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

/* All jobs that the node listed or found, sorted for bsearch(). malloc()ed; NULL: out of memory. */
static struct sync_job *sort_holds(const struct sync *in)
{
	size_t n = in->n_jobs + in->n_found;
	struct sync_job *sorted = malloc(n * sizeof(*sorted) + 1);

	if (!sorted)
		return NULL;
	if (in->n_jobs)
		memcpy(sorted, in->jobs, in->n_jobs * sizeof(*sorted));
	if (in->n_found)
		memcpy(sorted + in->n_jobs, in->found, in->n_found * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_holds);
	return sorted;
}

/* The node once showed it, has not ended it, and does not list it. */
static bool is_missing(const struct store_ingest *g, const struct sync_job *sorted,
		       const struct store_given *h)
{
	const struct sync_job key = { .job = h->desired.job, .attempt = h->desired.attempt };

	return h->is_shown && !bsearch(&key, sorted, g->in->n_jobs + g->in->n_found,
				       sizeof(key), compare_holds);
}

/* The ledger has it open, and as the node lists it: nothing is to be written. */
static bool is_known(const struct store_ingest *g, const struct sync_job *j)
{
	const struct store_given *h = store_given_find(g->given, j->job, j->attempt);

	return h && h->is_shown && !h->missing_ns && h->desired.state == j->state;
}

static int handle_missing(struct store_ingest *g, const struct store_given *m, struct err *err)
{
	const struct store_desired *d = &m->desired;
	struct store_loss loss = { .job = d->job,
				   .attempt = d->attempt,
				   .part = d->part.index,
				   .now_ns = g->from->now_ns,
				   .node = g->in->node };
	const struct store_at at = { d->job, d->attempt, g->in->node };
	const struct store_place p = { .part = d->part.index };
	int r;

	if (!g->has_rebooted && m->missing_ns &&
	    g->from->now_ns - m->missing_ns < MISSING_GRACE_NS)
		return 0;
	ingest_touch_others(g);
	if (!g->has_rebooted && !m->missing_ns)
		return store_place_miss(g->s, &at, &p, g->from->now_ns, err);
	loss.text = g->has_rebooted ? "the node rebooted under the job"
				    : "the node's agent no longer knows the job";
	g->out->has_freed = true;
	r = loss.part ? store_part_lose(g->s, &loss, err) : store_end_lost(g->s, &loss, err);
	if (r >= 0)
		r = store_credential_drop(g->s, d->job, err);
	return r < 0 ? r : ingest_wake_others(g, d->job, err);
}

int store_ingest_ask_list(struct store_ingest *g, struct err *err)
{
	return store_given_ask(g->s, g->in->node, err);
}

static int compare_list(struct store_ingest *g, const struct sync_job *sorted, struct err *err)
{
	const struct sync *in = g->in;
	int r = 0;

	for (size_t i = 0; i < in->n_jobs && r >= 0; i++)
		if (!is_known(g, &in->jobs[i]))
			r = ingest_listed(g, &in->jobs[i], err);
	for (size_t i = 0; i < in->n_found && r >= 0; i++)
		r = ingest_found(g, &in->found[i], err);
	for (size_t i = 0; i < g->given->n && g->is_told && r >= 0; i++)
		if (is_missing(g, sorted, &g->given->rows[i]))
			r = handle_missing(g, &g->given->rows[i], err);
	return r;
}

int store_ingest_list(struct store_ingest *g, struct err *err)
{
	_cleanup_free_ struct sync_job *sorted = sort_holds(g->in);
	int r = sorted ? store_given_get(g->s, g->in->node, &g->given, err)
		       : err_set(err, -ENOMEM, "out of memory");

	g->n_touched = g->s->n_touched;
	if (r >= 0)
		r = compare_list(g, sorted, err);
	/* What was refused still has cores there. */
	if (r >= 0 && g->may_adopt && g->is_told && !g->out->n_refusals)
		r = store_restored_told(g->s, g->in->node, err);
	g->out->has_freed |= g->may_adopt;
	return r;
}

const struct store_given_list *store_ingest_given(const struct store_ingest *g)
{
	return g->n_touched == g->s->n_touched ? g->given : NULL;
}
