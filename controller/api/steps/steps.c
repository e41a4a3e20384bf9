/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps.c - /v1/jobs/ID/steps: starts, lists and cancels steps inside a running job. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/log.h"
#include "common/wire/json/load.h"
#include "controller/api/jobs/owned_job.h"
#include "controller/api/steps/steps.h"
#include "controller/api/await.h"
#include "controller/api/stored_limit.h"
#include "controller/api/steps/step_spec.h"
#include "controller/ledger/jobs/slurm.h"

#define LIST_MAX 1000

/* --- POST: start --- */

/* Operators may see and end jobs of others, but not run commands as their owners. */
static int check_owner(struct call *c, const struct owned_job *job, struct err *err)
{
	if (job->uid == c->who.uid)
		return 0;
	err_set(err, 0, "job %lld is not yours: only its owner starts or ends something in it",
		(long long)c->id);
	return call_refuse(c, 403, "not-permitted", "");
}

static int keep_workdir(void *ctx, const struct store_job *row, struct err *err)
{
	_cleanup_json_ json_t *request = wire_load(row->request ? row->request : "", 0, NULL);
	const char *dir = json_string_value(json_object_get(request, "workdir"));
	char *buf = ctx;

	(void)err;
	snprintf(buf, STEP_WORKDIR_MAX, "%s", dir ? dir : "/");
	return 0;
}

static int refuse_node(struct call *c, const char *node, struct err *err)
{
	_cleanup_free_ char *nodes = NULL;
	int r = store_steps_nodes(c->api->c.store, c->id, &nodes, err);

	if (r < 0)
		return r;
	err_set(err, 0, "job %lld is not on node '%s'; its nodes are %.300s%s",
		(long long)c->id, node, nodes, strlen(nodes) > 300 ? "..." : "");
	return call_refuse(c, 400, "not-its-node", "reeve job shows the nodes of a job");
}

static int refuse_step(struct call *c, int why, struct err *err)
{
	switch (why) {
	case STORE_STEPS_TOO_MANY:
		err_set(err, 0, "job %lld has had all of the %d steps that a job may have",
			(long long)c->id, STORE_STEPS_MAX);
		return call_refuse(c, 409, "too-many-steps",
				   "start several commands by one step, with a shell");
	case STORE_STEPS_TOO_OPEN:
		err_set(err, 0, "no more than %d steps of a job run at a time",
			STORE_STEPS_OPEN_MAX);
		return call_refuse(c, 409, "too-many-open", "wait until some have ended");
	case STORE_STEPS_TOO_MUCH:
		return stored_limit_refuse(c, c->user, 0, err);
	default:
		err_set(err, 0, "job %lld is not running", (long long)c->id);
		return call_refuse(c, 409, "not-running",
				   "commands are started in jobs that run; see reeve jobs");
	}
}

static int answer_started(struct call *c, const struct step_nodes *nodes, int64_t first,
			  struct err *err)
{
	json_t *steps = json_array();

	c->answer = wire_new();
	if (!c->answer || json_object_set_new(c->answer, "steps", steps) < 0 ||
	    json_object_set_new(c->answer, "job", json_integer(c->id)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < nodes->n; i++) {
		json_t *one = json_pack("{s:I,s:s}", "step", (json_int_t)(first + (int64_t)i),
					"node", nodes->names[i]);

		if (json_array_append_new(steps, one) < 0)
			return err_set(err, -ENOMEM, "out of memory");
		api_wake_node(c->api, nodes->names[i]);
	}
	c->status = 201;
	return 0;
}

static int start_step(struct call *c, const char *spec, const struct step_nodes *nodes,
		      struct err *err)
{
	const struct store_steps_new n = { .job = c->id,
					   .now_ns = api_now_ns(),
					   .nodes = nodes->names,
					   .n_nodes = nodes->n,
					   .spec = spec };
	int64_t first = 0;
	int r = store_steps_add(c->api->c.store, &n, &first, err);

	if (r == STORE_STEPS_NOT_ITS_NODE)
		return refuse_node(c, nodes->names[first], err);
	if (r > 0)
		return refuse_step(c, r, err);
	if (r < 0)
		return r;
	log_job(LOG_INFO, c->id, "exec", "%s starts step %lld%s", c->user, (long long)first,
		nodes->n > 1 ? " and others" : "");
	return answer_started(c, nodes, first, err);
}

int route_start_steps(struct call *c, struct err *err)
{
	_cleanup_free_ char *spec = NULL;
	struct step_nodes nodes;
	struct owned_job job;
	char workdir[STEP_WORKDIR_MAX];
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = check_owner(c, &job, err);
	if (r >= 0 && store_is_slurm(c->id)) {
		err_set(err, 0, "Slurm or PBS starts the programs of job %lld",
			(long long)c->id);
		r = call_refuse(c, 409, "slurm-job",
				"use srun --overlap --jobid=ID, or pbs_tmrsh");
	}
	if (r >= 0)
		r = store_job(c->api->c.store, c->id, keep_workdir, workdir, err);
	if (r >= 0)
		r = step_spec_nodes(c->body, &nodes, err);
	if (r >= 0)
		r = step_spec_read(c->body, workdir, &spec, err);
	return r < 0 ? r : start_step(c, spec, &nodes, err);
}

/* --- POST: cancel --- */

int route_cancel_step(struct call *c, struct err *err)
{
	char node[REQUEST_NAME_MAX];
	struct owned_job job;
	int64_t step = 0;
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = check_owner(c, &job, err);
	if (r >= 0)
		r = wire_get_int(c->body, "step", (struct wire_int){ 1, STORE_STEPS_MAX, NULL },
				 &step, err);
	if (r >= 0)
		r = store_steps_cancel(c->api->c.store, c->id, step, node, err);
	if (r == STORE_TOO_LATE) {
		err_set(err, 0, "step %lld of job %lld has ended", (long long)step,
			(long long)c->id);
		return call_refuse(c, 409, "too-late", "");
	}
	if (r < 0)
		return r;
	api_wake_node(c->api, node);
	c->answer = json_pack("{s:s,s:I,s:I}", "schema", WIRE_SCHEMA, "job", (json_int_t)c->id,
			      "step", (json_int_t)step);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* --- GET --- */

struct list {
	json_t *array;
	bool has_ended; /* the last one */
};

static json_t *describe_step(const struct store_step *t)
{
	static const char *const states[] = { "starting", "running", "ended" };
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "step", t->step);
	doc_text(&d, "node", t->node);
	doc_text(&d, "state", states[t->state]);
	if (t->state == STORE_STEP_ENDED) {
		if (t->exit_status >= 0)
			doc_int(&d, "exit_status", t->exit_status);
		doc_int(&d, "signal", t->signal);
		doc_text_if(&d, "text", t->text);
	}
	return doc_take(&d);
}

static int add_step(void *ctx, const struct store_step *t, struct err *err)
{
	struct list *l = ctx;

	l->has_ended = t->state == STORE_STEP_ENDED;
	if (json_array_append_new(l->array, describe_step(t)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* 1: the requested step has ended; 0: not yet, or several were requested. */
static int read_steps(struct api *a, const void *ctx, json_t **ret, struct err *err)
{
	const struct store_steps_range *what = ctx;
	_cleanup_json_ json_t *doc = wire_new();
	struct list l = { json_array(), false };
	int r;

	if (!doc || json_object_set_new(doc, "steps", l.array) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = store_steps(a->c.store, *what, add_step, &l, err);
	if (r < 0)
		return r;
	if (what->limit == 1 && json_array_size(l.array) == 0)
		return err_set(err, -ENOENT, "job %lld has no step %lld", (long long)what->job,
			       (long long)what->after + 1);
	*ret = TAKE_PTR(doc);
	return l.has_ended;
}

/* Reads which steps: at most LIST_MAX behind `after`; or one, whose end the call may wait for.
 */
static int read_query(struct call *c, struct store_steps_range *what, int64_t *ret_wait_s,
		      struct err *err)
{
	static const int64_t none = 0;
	const struct wire_int number = { 0, STORE_STEPS_MAX, &none };
	int64_t step;
	int r = call_query_int(c, "step", number, &step, err);

	if (r >= 0)
		r = call_query_int(c, "after", number, &what->after, err);
	if (r >= 0)
		r = await_query(c, ret_wait_s, err);
	what->limit = LIST_MAX;
	if (step) {
		what->after = step - 1;
		what->limit = 1;
	}
	return r;
}

int route_steps(struct call *c, struct err *err)
{
	struct store_steps_range what = { .job = c->id };
	struct await w = { .read = read_steps, .what = &what, .size = sizeof(what) };
	struct owned_job job;
	int r = owned_job_find(c, &job, err);

	if (r >= 0)
		r = read_query(c, &what, &w.wait_s, err);
	if (what.limit != 1)
		w.wait_s = 0;
	w.job = what.job;
	w.step = what.after + 1;
	return r < 0 ? r : await_answer(c, &w, err);
}
