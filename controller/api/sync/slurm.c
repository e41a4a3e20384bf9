/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - prices jobs that Slurm started, and translates the answer to their node; see slurm.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/accounts/accounts.h"
#include "controller/api/sync/slurm.h"
#include "controller/pricing/price.h"
#include "controller/quota/expected.h"

__attribute__((format(printf, 2, 3))) static void
add_clause(char note[static STORE_SLURM_NOTE_MAX], const char *fmt, ...)
{
	size_t n = strlen(note);
	va_list ap;

	n += (size_t)snprintf(note + n, STORE_SLURM_NOTE_MAX - n, "%s", n ? "; " : "");
	va_start(ap, fmt);
	vsnprintf(note + n, STORE_SLURM_NOTE_MAX - n, fmt, ap);
	va_end(ap);
}

static void set_terms(struct store_new *job, const struct tariff_price *p)
{
	job->pool = p->pool;
	job->decided_by = p->decided_by;
	job->unit = p->unit;
	job->rule = p->rule;
	job->terms = (struct tally_terms){ .rate = p->rate,
					   .bundle = p->terms,
					   .ncpus = job->request->res.ncpus,
					   .ngpus = job->request->res.ngpus };
}

/* It has its row now, and counts by that. */
static void end_expectation(struct api *a, const struct store_new *job)
{
	const struct request *q = job->request;
	const struct expected_seen seen = { .cluster = q->cluster,
					    .account = q->account,
					    .user = q->user,
					    .job = job->slurm_job,
					    .array = job->slurm_array };

	expected_see(a->expected, &seen);
}

int slurm_find_price(void *ctx, struct store_new *job, char note[static STORE_SLURM_NOTE_MAX],
		     struct err *err)
{
	struct slurm_pricing *s = ctx;
	const struct config *config = s->api->c.config;
	const struct request *q = job->request;
	const struct config_cluster *cl = config_cluster(config, q->cluster);
	bool has_queue = cl && config_has_queue(cl, q->queue);
	const struct price_query query = { .pick = { .cluster = q->cluster,
						     .queue = has_queue ? q->queue : "" },
					   .res = q->res,
					   .node_cores = job->node_cores };
	int r;

	if (accounts_find(s->api->accounts, q->account) < 0)
		add_clause(note, "its account '%s' is unknown to Reeve", q->account);
	if (!has_queue)
		add_clause(note,
			   "its queue '%s' is unknown to Reeve: it is charged as in the "
			   "cluster's default queue",
			   q->queue);
	r = price_find(config, &query, &s->price, err);
	if (r == -EINVAL) {
		/* The node's other jobs must not wait for a price of this one. */
		log_line(LOG_ERR, "no price for a job of user %s in queue %s: %s", q->user,
			 q->queue, err->text);
		add_clause(note, "it has no price here, and is charged nothing");
		s->price = (struct tariff_price){ .rate = { 0, 1 } };
		r = 0;
	}
	set_terms(job, &s->price);
	end_expectation(s->api, job);
	return r;
}

static int64_t id_of(enum engine e, int64_t job)
{
	return e == ENGINE_PBS ? store_pbs_id(job) : store_slurm_id(job);
}

void slurm_translate_answer(enum engine e, struct sync_result *r, struct sync_desired *d)
{
	for (size_t i = 0; i < r->n_acks; i++)
		r->acks[i].job = id_of(e, r->acks[i].job);
	for (size_t i = 0; i < r->n_refusals; i++)
		r->refusals[i].job = id_of(e, r->refusals[i].job);
	for (size_t i = 0; i < d->n_jobs; i++)
		d->jobs[i].job = id_of(e, d->jobs[i].job);
}
