/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - a sync document of a node of a Slurm cluster, from Slurm's ids to numbers of the ledger; see jobs/slurm.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/store_sqlite.h"

struct taking {
	struct store *s;
	const struct sync_from *from;
	struct sync *doc;
	struct sync_result *out;
	int64_t origin;
	int64_t *numbers; /* of doc->slurm_jobs, in their order */
};

/* Its index in doc->slurm_jobs; n_slurm_jobs: the node has not described it. */
static size_t find_told(const struct sync *doc, int64_t id, int32_t attempt)
{
	size_t i = 0;

	while (i < doc->n_slurm_jobs &&
	       (doc->slurm_jobs[i].job != id || doc->slurm_jobs[i].attempt != attempt))
		i++;
	return i;
}

/* As the node lists it; NULL: it does not. */
static const struct sync_job *find_listed(const struct sync *doc,
					  const struct sync_slurm_job *told)
{
	for (size_t i = 0; i < doc->n_jobs; i++)
		if (doc->jobs[i].job == told->job && doc->jobs[i].attempt == told->attempt)
			return &doc->jobs[i];
	return NULL;
}

static struct store_slurm_case case_of(const struct taking *t,
				       const struct sync_slurm_job *told)
{
	const struct sync_job *listed = find_listed(t->doc, told);
	struct store_slurm_case c = { .told = told,
				      .cluster = t->from->cluster,
				      .node = t->doc->node,
				      .state = told->started_ns ? JOB_RUNNING : JOB_STARTING,
				      .is_pbs = t->from->slurm->is_pbs,
				      .has_ended = listed && listed->state == JOB_ENDED,
				      .origin = t->origin,
				      .now_ns = t->from->now_ns,
				      .how = t->from->slurm };

	if (listed && listed->state >= JOB_STARTING && listed->state <= JOB_ENDING)
		c.state = listed->state;
	return c;
}

static int adopt_all(struct taking *t, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < t->doc->n_slurm_jobs && r >= 0; i++) {
		const struct store_slurm_case c = case_of(t, &t->doc->slurm_jobs[i]);

		r = store_slurm_adopt(t->s, &c, &t->numbers[i], err);
	}
	return r;
}

/* 1: the attempt, or a part of it, is on this node; 0: on others alone, or there is none; *ret_node is its first node ("": none). */
static int is_here(struct store *s, const struct sync_job *j, const char *node,
		   char ret_node[static REQUEST_NAME_MAX], struct err *err)
{
	const struct store_at at = { j->job, j->attempt, node };
	struct store_place p;
	struct db_row *st;
	int r = store_place_find(s, &at, &p, err);

	*ret_node = '\0';
	if (r != 0)
		return r;
	r = db_query_first(s->db, err, &st,
			   "SELECT node FROM attempts WHERE job = ?1 AND attempt = ?2", "ii",
			   j->job, (int64_t)j->attempt);
	if (r <= 0)
		return r;
	snprintf(ret_node, REQUEST_NAME_MAX, "%s", store_text(st, 0));
	db_done(st);
	return 0;
}

/* Puts the number in place of the id. 1: the attempt is this node's; 0: it is not. */
static int translate_job(struct taking *t, struct sync_job *j, struct err *err)
{
	size_t i = find_told(t->doc, j->job, j->attempt);
	char node[REQUEST_NAME_MAX], text[STORE_SLURM_NOTE_MAX];
	int r = 1;

	if (i < t->doc->n_slurm_jobs)
		j->job = t->numbers[i];
	else
		r = t->from->slurm->is_pbs
			    ? store_pbs_known(t->s, t->from->cluster, j->job, &j->job, err)
			    : store_slurm_find(t->s, t->origin, j->job, &j->job, err);
	if (r > 0)
		r = is_here(t->s, j, t->doc->node, node, err);
	if (r == 0 && i < t->doc->n_slurm_jobs && *node && t->doc->slurm_jobs[i].nodes <= 1) {
		const struct store_slurm_case c = case_of(t, &t->doc->slurm_jobs[i]);

		snprintf(
			text, sizeof(text),
			"it also runs on node %.63s: what it uses and holds is counted on node "
			"%.63s alone",
			t->doc->node, node);
		r = store_slurm_note(t->s, &c, j->job, text, err);
		return r < 0 ? r : 0;
	}
	return r;
}

static int translate_jobs(struct taking *t, struct err *err)
{
	struct sync *d = t->doc;
	size_t kept = 0;

	for (size_t i = 0; i < d->n_jobs; i++) {
		int r = translate_job(t, &d->jobs[i], err);

		if (r < 0)
			return r;
		if (r > 0)
			d->jobs[kept++] = d->jobs[i];
	}
	d->n_jobs = kept;
	return 0;
}

/* Reports of another node's attempt are acknowledged, so that the agent forgets them. One of a job that is neither described nor in the
 * ledger is kept by the node: it comes again with the description. */
static int translate_reports(struct taking *t, struct err *err)
{
	struct sync *d = t->doc;
	size_t kept = 0, n = d->n_reports;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		struct report *rep = &d->reports[i];
		struct sync_job key = { .job = rep->job, .attempt = rep->attempt };
		int is_known = r < 0 ? 0 : translate_job(t, &key, err);

		if (is_known < 0)
			r = is_known;
		rep->job = key.job;
		if (is_known > 0) {
			d->reports[kept++] = *rep;
			continue;
		}
		if (r >= 0 && store_is_slurm(key.job))
			t->out->acks[t->out->n_acks++] =
				(struct sync_ack){ key.job, rep->seq, rep->attempt };
		report_done(rep);
	}
	d->n_reports = kept;
	return r;
}

/* Output, steps and processes without a record: of a job of Slurm Reeve has none to take. */
static void drop_rest(struct sync *d)
{
	for (size_t i = 0; i < d->n_outputs; i++)
		free((void *)(uintptr_t)d->outputs[i].data);
	for (size_t i = 0; i < d->n_steps; i++)
		free((char *)(uintptr_t)d->steps[i].text);
	d->n_outputs = d->n_steps = d->n_found = 0;
}

int store_slurm_take(struct store *s, const struct sync_from *from, struct sync_result *out,
		     struct err *err)
{
	struct sync *doc = from->slurm->doc;
	_cleanup_free_ int64_t *numbers = calloc(doc->n_slurm_jobs + 1, sizeof(*numbers));
	struct taking t = { s, from, doc, out, 0, numbers };
	int r = numbers ? store_slurm_origin(s, from->cluster, &t.origin, err)
			: err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = adopt_all(&t, err);
	if (r >= 0)
		r = translate_reports(&t, err);
	if (r >= 0)
		r = translate_jobs(&t, err);
	drop_rest(doc);
	return r;
}
