/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - POST /v1/slurm/submit: may a job be submitted to Slurm? Runs the steps of a submission that decide by policy, on
 * a request that reeve-slurm-submit describes, and stores nothing in the ledger.
 *
 * Slurm knows its partitions, associations and GPUs better than Reeve does: what Reeve does not know is accepted, except an
 * account where the cluster's accounts are Reeve's (Accounts=reeve). What is accepted counts from then on (quota/expected.h). The
 * price is the one that the job is charged by (sync/slurm.c): amounts that it does not state are not filled in, save its walltime.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/engine.h"
#include "common/utf8.h"
#include "common/wire/slurm_submit.h"
#include "controller/accounts/accounts.h"
#include "controller/api/submit/submit.h"
#include "controller/quota/expected.h"
#include "controller/quota/qos.h"

/* A job without a time limit is judged by this walltime, as Slurm's own limits are. */
#define NO_LIMIT_S (366 * DAY_S)

/* May the sender speak for the users of the cluster? */
static int check_sender(struct call *c, const struct config_cluster *cl, struct err *err)
{
	if (c->is_operator || config_is_slurm_user(c->api->c.config, cl, c->user))
		return 0;
	err_set(err, 0, "user '%s' may not speak for the users of cluster '%s'", c->user,
		cl->name);
	return call_refuse(
		c, 403, NULL,
		"run reeve-slurm-submit as the cluster's SlurmUser= (controller.conf)");
}

int submit_find_slurm_cluster(struct call *c, const char *name,
			      const struct config_cluster **ret, struct err *err)
{
	*ret = config_cluster(c->api->c.config, name);
	if (*ret && *name && (*ret)->engine == ENGINE_SLURM)
		return check_sender(c, *ret, err);
	err_set(err, 0, "there is no cluster '%.63s' of Slurm here", name);
	return call_refuse(c, 400, "unknown-cluster", "GET /v1/cluster lists the clusters");
}

/* ---- the request ---- */

static void fill_request(struct call *c, const struct slurm_submit *from, const char *queue,
			 struct submit_job *s)
{
	struct request *q = &s->request;

	request_init(q);
	snprintf(q->cluster, sizeof(q->cluster), "%s", s->cluster->name);
	snprintf(q->user, sizeof(q->user), "%s", from->user);
	snprintf(q->account, sizeof(q->account), "%s", from->account);
	if (config_has_queue(s->cluster, queue))
		snprintf(q->queue, sizeof(q->queue), "%s", queue);
	else
		config_default_queue(s->cluster, q->queue);
	if (config_qos(c->api->c.config, from->qos))
		snprintf(q->qos, sizeof(q->qos), "%s", from->qos);
	q->res.ncpus = from->ncpus ? from->ncpus : 1;
	q->res.ngpus = from->ngpus;
	q->res.mem_bytes = from->mem_bytes;
	q->res.walltime_s =
		from->walltime_s ? from->walltime_s : s->cluster->defaults.walltime_s;
	if (!q->res.walltime_s)
		q->res.walltime_s = NO_LIMIT_S;
	if (from->ngpus)
		snprintf(q->res.gpu_model, sizeof(q->res.gpu_model), "%s", from->gpu_model);
	q->is_exclusive = from->is_exclusive;
	if (from->tasks > 1)
		q->array = (struct array){ from->tasks, 0, from->tasks - 1, 1, 0 };
}

/* ---- steps ---- */

/* 1: Reeve has no account of it, and so nothing to say. */
static int check_account(struct call *c, struct submit_job *s, struct err *err)
{
	const struct accounts *a = c->api->accounts;
	const char *user = s->request.user, *name = s->request.account;
	bool is_ours = s->cluster->accounts == CONFIG_ACCOUNTS_REEVE;
	int32_t i;

	if (!*name && !accounts_default_account(a, user, s->request.account))
		return 1;
	i = accounts_find(a, name);
	if (i < 0 && !is_ours)
		return 1;
	if (i < 0) {
		err_set(err, 0, "there is no account '%s'", name);
		return call_refuse(c, 400, "unknown-account",
				   "name another with -A, or ask an operator");
	}
	if (is_ours && !accounts_member(a, i, user)) {
		err_set(err, 0, "user '%s' is not in account '%s'", user, name);
		return call_refuse(c, 400, "unknown-account",
				   "name another with -A, or ask an operator");
	}
	if (accounts_allows_cluster(a, i, s->cluster->name))
		return 0;
	err_set(err, 0, "account '%s' is not for cluster '%s'; it is for: %s", name,
		s->cluster->name, a->accounts[i].clusters);
	return call_refuse(c, 400, "unknown-account", "name another with -A");
}

static int check_qos(struct call *c, struct submit_job *s, struct err *err)
{
	const struct quota_site site = submit_quota_site(c);
	struct quota_qos_refusal no;

	if (quota_allows_qos(&site, &s->request, &no))
		return 0;
	err_set(err, 0, "%s", no.text);
	return call_refuse(c, 400, no.code, no.remedy);
}

/* What has no price is charged nothing, so that it is accepted. 1: it has none. */
static int find_price(struct call *c, struct submit_job *s, struct err *err)
{
	int r = submit_find_price(c, s, err);

	if (r != -EINVAL)
		return r;
	log_line(LOG_WARNING, "no price for a job of user %s in queue %s: %s", s->request.user,
		 s->request.queue, err->text);
	return 1;
}

static const submit_step_fn steps[] = {
	check_account, check_qos,	   submit_check_bounds, /* defaults.c */
	find_price,    submit_check_quota,			/* quota.c */
};

/* ---- the answer ---- */

static void word_refusal(struct call *c, const struct err *err, struct slurm_submit_answer *ret)
{
	ret->verdict = SLURM_SUBMIT_REFUSE;
	utf8_format(ret->text, sizeof(ret->text), "%s%s%s", err->text, *c->remedy ? ": " : "",
		    c->remedy);
	c->status = 0;
	c->code = NULL;
	c->remedy[0] = '\0';
}

/* What the job counts as in the partition where that is most. */
static void set_count(const struct submit_job *s, struct submit_slurm_verdict *ret)
{
	const struct request *q = &s->request;

	if (ret->is_counted && s->task_ms < ret->task_ms)
		return;
	ret->is_counted = true;
	ret->pool = s->price.pool;
	ret->task_ms = s->task_ms;
	ret->more_ms = s->more_ms;
	snprintf(ret->account, sizeof(ret->account), "%s", q->account);
	snprintf(ret->queue, sizeof(ret->queue), "%s", q->queue);
	snprintf(ret->qos, sizeof(ret->qos), "%s", q->qos);
}

/* For one of the partitions that the job may run in. */
static int judge_queue(struct call *c, struct submit_job *s, struct submit_slurm_verdict *all,
		       struct err *err)
{
	struct slurm_submit_answer *ret = &all->answer;
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && r == 0; i++)
		r = steps[i](c, s, err);
	if (r < 0 && c->status == 400) {
		word_refusal(c, err, ret);
		return 0;
	}
	if (r >= 0 && *s->quota_note) {
		ret->verdict = SLURM_SUBMIT_MOVE;
		snprintf(ret->queue, sizeof(ret->queue), "%s", s->request.queue);
		snprintf(ret->text, sizeof(ret->text), "%s", s->quota_note);
	}
	if (r == 0)
		set_count(s, all);
	return r < 0 ? r : 0;
}

static void job_done(struct submit_job *s)
{
	request_done(&s->request);
}

/* Slurm chooses one of the partitions, so each must be allowed: the first that is not decides. */
int submit_judge_slurm(struct call *c, const struct slurm_submit *from,
		       const struct config_cluster *cl, struct submit_slurm_verdict *all,
		       struct err *err)
{
	const struct expected_own own = { cl->name, from->account, from->user, from->job,
					  !from->is_unchanged };
	struct slurm_submit_answer *ret = &all->answer;
	const char *rest = from->queues;
	int r = 0;

	for (int n = 0; r >= 0 && ret->verdict == SLURM_SUBMIT_ACCEPT && (*rest || !n); n++) {
		_cleanup_(job_done) struct submit_job s = { .cluster = cl,
							    .own = from->job ? &own : NULL };
		size_t size = strcspn(rest, ",");
		char queue[REQUEST_NAME_MAX];

		if (n == SLURM_SUBMIT_QUEUES_MAX) {
			ret->verdict = SLURM_SUBMIT_REFUSE;
			snprintf(ret->text, sizeof(ret->text),
				 "the job names more than %d partitions: name fewer",
				 SLURM_SUBMIT_QUEUES_MAX);
			return 0;
		}
		snprintf(queue, sizeof(queue), "%.*s", (int)size, rest);
		rest += size + (rest[size] == ',');
		fill_request(c, from, queue, &s);
		r = judge_queue(c, &s, all, err);
	}
	return r;
}

/* The array that is changed waits with this many tasks; slurmctld does not tell how many. */
static void fill_tasks(const struct call *c, struct slurm_submit *from)
{
	const struct expected_own own = { .cluster = from->cluster, .job = from->job };

	if (from->job && from->tasks <= 1)
		from->tasks = expected_tasks_of(c->api->expected, &own);
}

/* From now on it counts, until it is listed. */
static int count_accepted(struct call *c, const struct slurm_submit *from,
			  struct submit_slurm_verdict *v, struct err *err)
{
	const struct expected_job job = {
		.cluster = from->cluster,
		.account = v->account,
		.user = from->user,
		.queue = v->queue,
		.qos = v->qos,
		.pool = v->pool,
		.need_ms = from->job ? v->more_ms : v->task_ms,
		.n_tasks = from->tasks,
		.changed = from->job,
	};
	int r;

	if (v->answer.verdict == SLURM_SUBMIT_REFUSE || !v->is_counted ||
	    (from->job && !v->more_ms))
		return 0;
	r = expected_accept(&c->api->expected, &job, api_monotonic_ns(), err);
	if (r != -EAGAIN)
		return r;
	v->answer.verdict = SLURM_SUBMIT_REFUSE;
	snprintf(v->answer.text, sizeof(v->answer.text), "%s", err->text);
	return 0;
}

int route_slurm_submit(struct call *c, struct err *err)
{
	struct submit_slurm_verdict v = { .answer.verdict = SLURM_SUBMIT_ACCEPT };
	const struct slurm_submit_answer *answer = &v.answer;
	_cleanup_doc_ struct doc doc = { 0 };
	const struct config_cluster *cl;
	struct slurm_submit from = { 0 };
	int r = wire_decode_fields(slurm_submit_fields, c->body, &from, err);

	if (r >= 0)
		r = submit_find_slurm_cluster(c, from.cluster, &cl, err);
	if (r >= 0)
		fill_tasks(c, &from);
	if (r >= 0)
		r = submit_judge_slurm(c, &from, cl, &v, err);
	if (r >= 0)
		r = count_accepted(c, &from, &v, err);
	if (r < 0)
		return r;
	if (answer->verdict != SLURM_SUBMIT_ACCEPT)
		log_line(LOG_INFO, "job of user %s, account %s, for Slurm: %s: %s", from.user,
			 from.account, slurm_submit_verdict_name(answer->verdict),
			 answer->text);
	doc = doc_message();
	wire_encode_fields(slurm_submit_answer_fields, answer, &doc);
	return doc_finish(&doc, &c->answer, err);
}
