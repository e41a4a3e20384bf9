/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submit.c - the chain of steps of one submission, its row in the ledger and its answer; see
 * submit.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/log.h"
#include "common/engine.h"
#include "controller/api/submit/submit.h"

static void job_done(struct submit_job *s)
{
	free(s->targets);
	request_done(&s->request);
}

static int check_request(struct call *c, struct submit_job *s, struct err *err)
{
	(void)c;
	return request_check(&s->request, err);
}

/* Slurm or PBS alone starts jobs on its nodes. */
static int check_engine(struct call *c, struct submit_job *s, struct err *err)
{
	if (s->cluster->engine == ENGINE_REEVE)
		return 0;
	if (s->cluster->engine == ENGINE_PBS) {
		err_set(err, 0,
			"PBS runs the jobs of cluster '%s': they are not submitted to Reeve",
			s->cluster->name);
		return call_refuse(c, 400, "pbs-cluster",
				   "submit with qsub; reeve shows and charges the job");
	}
	err_set(err, 0, "Slurm runs the jobs of cluster '%s': they are not submitted to Reeve",
		s->cluster->name);
	return call_refuse(
		c, 400, "slurm-cluster",
		"submit with sbatch, salloc or srun; reeve shows and charges the job");
}

static int check_queue_limits(struct call *c, struct submit_job *s, struct err *err)
{
	return queue_limits_check(s->limits, c, &s->request, err);
}

/* ---- the row ---- */

static void set_terms(struct store_new *new, const struct submit_job *s)
{
	const struct tariff_price *p = &s->price;

	new->pool = p->pool;
	new->decided_by = p->decided_by;
	new->unit = p->unit;
	new->rule = p->rule;
	new->terms = (struct tally_terms){ .rate = p->rate,
					   .bundle = p->terms,
					   .ncpus = s->request.res.ncpus,
					   .ngpus = s->request.res.ngpus };
}

static int insert_job(struct call *c, struct submit_job *s, struct err *err)
{
	struct store_new new = { .request = &s->request,
				 .now_ns = api_now_ns(),
				 .credential = s->credential,
				 .is_exclusive = submit_is_exclusive(c, &s->request),
				 .targets = s->targets,
				 .n_targets = s->n_targets };
	int r;

	set_terms(&new, s);
	r = store_submit_one(c->api->c.store, &new, &s->job, err);
	s->has_ledger_failed = r < 0;
	if (r >= 0)
		queue_limits_add(s->limits, &s->request);
	return r;
}

static int encode_answer(struct call *c, struct submit_job *s, struct err *err)
{
	char mails[SUBMIT_MAIL_NOTE_MAX];
	const char *note = *s->quota_note ? s->quota_note
					  : submit_mail_note(&c->api->c.config->hooks,
							     s->request.mail_types, mails);

	c->status = 201;
	c->answer = json_pack("{s:s,s:I,s:s,s:s*}", "schema", WIRE_SCHEMA, "job",
			      (json_int_t)s->job, "queue", s->request.queue, "note",
			      *note ? note : NULL);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* ---- the chain ---- */

static const submit_step_fn steps[] = {
	submit_read_credential, /* request.c */
	submit_read_request,	/* request.c: document to struct request */
	submit_apply_defaults,	/* defaults.c: cluster, queue, amounts */
	check_engine,
	submit_choose_gpus,	  /* gpus.c: "a100" is which of the models there are */
	submit_authorize,	  /* authorize.c: account and QOS, never root */
	check_request,		  /* common/model/request.c */
	submit_split_chunks,	  /* chunking.c: which nodes could ever hold it */
	check_queue_limits,	  /* queue_limits.c */
	submit_find_price,	  /* price.c */
	submit_check_quota,	  /* quota.c: may move it to the queue without charge */
	submit_find_dependencies, /* dependencies.c */
	insert_job,
	encode_answer,
};

/* Nothing may be announced here: the transaction is not committed. submit_finish() does that.
 */
int submit_run(struct call *c, struct queue_limits *limits, struct submit_result *ret,
	       struct err *err)
{
	_cleanup_(job_done) struct submit_job s = { .limits = limits };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && r >= 0; i++)
		r = steps[i](c, &s, err);
	ret->has_ledger_failed = s.has_ledger_failed;
	if (r < 0)
		return r;
	ret->job = s.job;
	snprintf(ret->account, sizeof(ret->account), "%s", s.request.account);
	snprintf(ret->quota_note, sizeof(ret->quota_note), "%s", s.quota_note);
	return 0;
}

/* The job is queued: a note that cannot be stored is logged, and is no failure of the call. */
static void store_note(struct call *c, const struct submit_result *r)
{
	const struct store_quota_note n = { r->job, api_now_ns(), r->quota_note };
	struct err err;

	if (!*r->quota_note)
		return;
	log_job(LOG_INFO, r->job, "quota", "%s", r->quota_note);
	if (store_quota_note(c->api->c.store, &n, &err) < 0)
		log_job(LOG_ERR, r->job, "quota", "cannot store this note: %s", err.text);
}

void submit_finish(struct call *c, const struct submit_result *r)
{
	store_note(c, r);
	c->api->counts.submits++;
	log_job(LOG_INFO, r->job, "submit", "from %s, account %s", c->user, r->account);
	api_request_cycle(c->api);
}
