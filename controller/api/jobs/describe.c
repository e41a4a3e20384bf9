/* describe.c - see describe.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/call.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/jobs/suspended.h"
#include "controller/dispatch/cycle.h"

static void set(json_t *j, const char *key, json_t *value)
{
	if (value)
		json_object_set_new(j, key, value);
}

static void set_text(json_t *j, const char *key, const char *text)
{
	set(j, key, wire_string(text ? text : ""));
}

static void set_int(json_t *j, const char *key, int64_t n)
{
	set(j, key, json_integer(n));
}

static void set_document(json_t *j, const char *key, const char *text)
{
	if (text)
		set(j, key, json_loads(text, 0, NULL));
}

static void set_charges(json_t *j, const struct store_job *row)
{
	char rate[FRACTION_TEXT_MAX];

	set_int(j, "running_ns", row->running_ns);
	set_int(j, "suspended_ns", row->suspended_ns);
	set_int(j, "charge_requested_ms", row->charge_requested_ms);
	set_int(j, "charge_used_ms", row->charge_used_ms);
	set_text(j, "rate", fraction_format(row->rate, rate));
	set_int(j, "rate_num", row->rate.num);
	set_int(j, "rate_den", row->rate.den);
	set_text(j, "pool", charge_pool_name(row->pool));
	set_text(j, "decided_by", charge_side_name(row->decided_by));
	set_text(j, "unit", tariff_unit_name(row->unit, row->pool));
	set_text(j, "rule", row->rule);
}

static void set_nodes(json_t *j, const struct store_job *row)
{
	_cleanup_free_ char *nodes = *row->hosts ? parts_nodes(row->hosts) : NULL;

	if (nodes)
		set_text(j, "nodes", nodes);
}

/* What an attempt has: where, when, how much, how it ended. */
static void set_attempt(json_t *j, const struct store_job *row)
{
	set_int(j, "attempt", row->attempt);
	set_text(j, "state", job_state_name(row->state));
	set_text(j, "node", row->node);
	set_nodes(j, row);
	set_text(j, "cpus", row->cpus);
	set_int(j, "started_ns", row->started_ns);
	set_int(j, "ended_ns", row->ended_ns);
	set_document(j, "usage", row->usage);
	set_document(j, "gpus", row->gpus);
	set_document(j, "end", row->end);
	set_text(j, "note", row->note);
	set_charges(j, row);
}

static void set_why(json_t *j, const struct api *a, const struct store_job *row)
{
	char why[CYCLE_WHY_MAX] = "";

	if (row->state == JOB_QUEUED && !row->is_array)
		cycle_why(a->c.cycle, row->cluster, row->job, why, sizeof(why));
	else if (row->state != JOB_ENDED && row->node_is_lost)
		snprintf(why, sizeof(why),
			 "node %s is not heard of; the job runs on there if the node does",
			 row->node);
	else if (row->state != JOB_ENDED && row->want == STORE_CANCEL)
		snprintf(why, sizeof(why), "it is being cancelled");
	else if (row->state != JOB_ENDED && row->want == STORE_SUSPEND && row->gave_way_to)
		snprintf(why, sizeof(why),
			 "gave its cores to job %lld, and goes on when they are free; time "
			 "suspended counts for neither walltime nor charge",
			 (long long)row->gave_way_to);
	else if (row->state != JOB_ENDED && row->owner_suspended_ns)
		suspended_why(a, row->owner_suspended_ns, why, sizeof(why));
	else if (row->state == JOB_SUSPENDED && row->want == STORE_RUN)
		snprintf(why, sizeof(why), "its node resumes it when cores are free");
	set_text(j, "why", why);
}

/* Allocated but idle is a state that people are told of while it lasts. */
static void set_gpu_idle(json_t *j, const struct api *a, const struct store_job *row)
{
	const json_t *idle = json_object_get(json_object_get(j, "usage"), "gpu_idle_ns");
	int64_t after_ns = config_gpu_idle_ns(a->c.config);

	if (!after_ns)
		return;
	if (row->gpus)
		set_int(j, "gpu_idle_after_ns", after_ns);
	if (row->state == JOB_RUNNING && json_integer_value(idle) >= after_ns)
		set(j, "gpu_idle", json_true());
}

/* What keeps it from being offered says why it waits; else the queue does. */
static void set_queue(json_t *j, const struct api *a, const struct store_job *row)
{
	char why[DESCRIBE_WHY_MAX];
	struct err err;

	if (describe_queue(a, row, j, why, &err) < 0)
		log_job(LOG_ERR, row->job, "describe", "%s", err.text);
	if (*why)
		set_text(j, "why", why);
	else
		set_why(j, a, row);
}

static json_t *encode_job(const struct api *a, const struct store_job *row)
{
	json_t *j = json_object();

	if (!j)
		return NULL;
	set_int(j, "job", row->job);
	set_text(j, "name", row->name);
	set_text(j, "user", row->user);
	set_text(j, "account", row->account);
	set_text(j, "cluster", row->cluster);
	set_text(j, "queue", row->queue);
	if (*row->qos)
		set_text(j, "qos", row->qos);
	set_int(j, "submitted_ns", row->submitted_ns);
	set_attempt(j, row);
	set_gpu_idle(j, a, row);
	if (row->adjusted_ms)
		set_int(j, "adjusted_ms", row->adjusted_ms);
	set_queue(j, a, row);
	return j;
}

/* A listing shows what was asked for, not the script and the environment. */
static void set_request(json_t *j, const struct store_job *row, bool is_full)
{
	static const char *const long_ones[] = { "script", "env" };
	json_t *request = json_loads(row->request, 0, NULL);

	for (size_t i = 0; request && !is_full && i < ARRAY_LEN(long_ones); i++)
		json_object_del(request, long_ones[i]);
	set(j, "request", request);
}

json_t *describe_attempt(const struct store_job *row)
{
	json_t *j = json_object();

	if (j)
		set_attempt(j, row);
	return j;
}

json_t *describe_job(const struct api *a, const struct store_job *row)
{
	json_t *j = encode_job(a, row);

	if (j)
		set_request(j, row, false);
	return j;
}

json_t *describe_job_in_full(const struct api *a, const struct store_job *row)
{
	json_t *j = encode_job(a, row);

	if (j)
		set_request(j, row, true);
	return j;
}

struct found {
	const struct api *api;
	json_t *job;
};

static int take(void *ctx, const struct store_job *row, struct err *err)
{
	struct found *f = ctx;

	f->job = describe_job(f->api, row);
	return f->job ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int describe_job_number(void *api, int64_t job, json_t **ret, struct err *err)
{
	struct found f = { api, NULL };
	int r = store_job(f.api->c.store, job, take, &f, err);

	if (r >= 0)
		*ret = f.job;
	return r;
}
