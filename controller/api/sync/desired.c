/* SPDX-License-Identifier: GPL-2.0-or-later */
/* desired.c - reads the jobs and steps that a node should have, and compares them with those that
 * it reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/hash.h"
#include "controller/api/sync/desired.h"
#include "controller/api/sync/request.h"
#include "controller/api/sync/sync_steps.h"
#include "controller/ledger/jobs/slurm.h"

struct reading {
	struct store *store;
	const struct sync *in;
	struct sync_desired *ret;
	struct store_desired_request
		last; /* tasks of an array follow each other, and have one request */
};

/* The attempt as the node reports it; NULL: the node does not have it. */
static const struct sync_job *find_reported(const struct sync *in, int64_t job, int32_t attempt)
{
	for (size_t i = 0; i < in->n_jobs; i++)
		if (in->jobs[i].job == job && in->jobs[i].attempt == attempt)
			return &in->jobs[i];
	return NULL;
}

/* Does the reported state differ from the desired one, so that the node must act? */
static bool is_open(const struct store_desired *g, const struct sync_job *reported)
{
	if (!reported)
		return true;
	switch (g->want) {
	case DESIRED_CANCEL:
		return reported->state != JOB_ENDING && reported->state != JOB_ENDED;
	case DESIRED_SUSPEND:
		return reported->state == JOB_RUNNING || reported->state == JOB_STARTING;
	default:
		return reported->state == JOB_SUSPENDED;
	}
}

/* Adds what a node needs to start the job: the request, and the user's credential. */
static int set_request(struct reading *l, const struct store_desired *g,
		       struct sync_desired_job *to, struct err *err)
{
	int64_t owner = store_desired_owner(g);
	int r = 0;

	if (l->last.owner != owner) {
		store_desired_request_done(&l->last);
		r = store_desired_request(l->store, owner, &l->last, err);
	}
	if (r < 0)
		return r;
	to->credential = strdup(l->last.credential);
	return to->credential ? sync_request_encode(g, l->last.text, &to->request, err)
			      : err_set(err, -ENOMEM, "out of memory");
}

static int make_room(struct sync_desired *d, struct err *err)
{
	size_t larger = d->size_jobs ? 2 * d->size_jobs : 16;
	struct sync_desired_job *more;

	if (d->n_jobs < d->size_jobs)
		return 0;
	more = realloc(d->jobs, larger * sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	d->jobs = more;
	d->size_jobs = larger;
	return 0;
}

/* Slurm and PBS start, suspend and resume their jobs: the agent of its node gets no order but to end one that it has. Of a node that changed
 * its engine the jobs of before are left alone. */
static bool is_for_engine(const struct sync *in, const struct store_desired *g,
			  const struct sync_job *reported)
{
	if (!engine_is_foreign(in->engine))
		return !store_is_slurm(g->job);
	return store_is_slurm(g->job) && reported && g->want == DESIRED_CANCEL;
}

static int add_job(void *ctx, const struct store_desired *g, struct err *err)
{
	struct reading *l = ctx;
	const struct sync_job *reported = find_reported(l->in, g->job, g->attempt);
	struct sync_desired_job *to;
	int r;

	if (!is_for_engine(l->in, g, reported))
		return 0;
	r = make_room(l->ret, err);
	if (r < 0)
		return r;
	if (is_open(g, reported)) {
		l->ret->digest = hash_number(l->ret->digest, (uint64_t)g->job);
		l->ret->digest = hash_number(l->ret->digest, (uint64_t)g->attempt * 8 +
								     g->want * 2 + !reported);
	}
	to = &l->ret->jobs[l->ret->n_jobs++];
	*to = (struct sync_desired_job){ .job = g->job,
					 .attempt = g->attempt,
					 .want = g->want };
	if (g->want == DESIRED_CANCEL && g->reason && *g->reason) {
		to->reason = strdup(g->reason);
		if (!to->reason)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return reported ? 0 : set_request(l, g, to, err);
}

void sync_desired_done(struct sync_desired *d)
{
	sync_answer_done(&(struct sync_answer){ .jobs = d->jobs,
						.n_jobs = d->n_jobs,
						.steps = d->steps,
						.n_steps = d->n_steps });
	*d = (struct sync_desired){ 0 };
}

/* ---- ahead ---- */

struct asking {
	struct store *store;
	const struct sync *in;
	int64_t last; /* owner of a request that was asked for */
};

static int ask_job(void *ctx, const struct store_desired *g, struct err *err)
{
	struct asking *l = ctx;
	const struct sync_job *reported = find_reported(l->in, g->job, g->attempt);
	int64_t owner = store_desired_owner(g);

	if (reported || owner == l->last || !is_for_engine(l->in, g, reported))
		return 0;
	l->last = owner;
	return store_desired_ask_request(l->store, owner, err);
}

int sync_desired_ask(struct api *a, const struct sync *in, const struct store_given_list *given,
		     struct err *err)
{
	struct asking l = { a->c.store, in, 0 };

	return given ? store_given_desired(given, ask_job, &l, err)
		     : store_given_ask(a->c.store, in->node, err);
}

/* ---- all of it ---- */

int sync_desired_read(struct api *a, const struct sync *in,
		      const struct store_given_list *given, struct sync_desired *ret,
		      struct err *err)
{
	struct reading l = { .store = a->c.store, .in = in, .ret = ret };
	int r;

	*ret = (struct sync_desired){ 0 };
	r = given ? store_given_desired(given, add_job, &l, err)
		  : store_desired(a->c.store, in->node, add_job, &l, err);
	store_desired_request_done(&l.last);
	if (r >= 0)
		r = sync_steps_read(a->c.store, in, ret, err);
	if (r < 0)
		sync_desired_done(ret);
	return r;
}
