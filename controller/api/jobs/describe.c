/* SPDX-License-Identifier: GPL-2.0-or-later */
/* describe.c - encodes a job as JSON for users and hooks; see describe.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "common/wire/json/load.h"
#include "controller/api/call.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/describe_queue.h"
#include "controller/api/jobs/parts.h"
#include "controller/api/jobs/suspended.h"
#include "controller/api/jobs/slurm/slurm_job.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/why.h"

static void set_charges(struct doc *d, const struct store_job *row)
{
	char rate[FRACTION_TEXT_MAX];

	doc_int(d, "running_ns", row->running_ns);
	doc_int(d, "suspended_ns", row->suspended_ns);
	doc_int(d, "charge_requested_ms", row->charge_requested_ms);
	doc_int(d, "charge_used_ms", row->charge_used_ms);
	doc_text(d, "unit", tariff_unit_name(row->unit, row->pool));
	doc_text(d, "rate", fraction_format(row->rate, rate));
	doc_int(d, "rate_num", row->rate.num);
	doc_int(d, "rate_den", row->rate.den);
	doc_text(d, "pool", charge_pool_name(row->pool));
	doc_text(d, "decided_by", charge_side_name(row->decided_by));
	doc_text(d, "rule", row->rule);
}

char *describe_nodes(const struct store_job *row)
{
	return *row->hosts ? parts_nodes(row->hosts) : NULL;
}

/* The fields of an attempt: where, when, how much, how it ended. */
static void set_attempt(struct doc *d, const struct store_job *row)
{
	_cleanup_free_ char *nodes = describe_nodes(row);

	doc_int(d, "attempt", row->attempt);
	doc_text(d, "state", job_state_name(row->state));
	doc_text(d, "node", row->node);
	doc_text_if(d, "nodes", nodes);
	doc_text(d, "cpus", row->cpus);
	doc_int(d, "started_ns", row->started_ns);
	doc_int(d, "ended_ns", row->ended_ns);
	doc_stored(d, "usage", row->usage);
	doc_stored(d, "gpus", row->gpus);
	doc_stored(d, "end", row->end);
	doc_text(d, "note", row->note);
	set_charges(d, row);
}

/* The first reason that applies, of those that are no hold, dependency or limit of an array. */
static void describe_why(const struct api *a, const struct store_job *row,
			 enum dispatch_why_form form, char why[static DISPATCH_WHY_MAX])
{
	const size_t size = DISPATCH_WHY_MAX;

	*why = '\0';
	if (row->state == JOB_QUEUED && !row->is_array)
		dispatch_why(a->c.cycle, row->cluster, row->job, form, why);
	else if (row->state != JOB_ENDED && row->node_is_lost)
		snprintf(why, size,
			 "node %s is not heard of; the job still runs there if the node does",
			 row->node);
	else if (row->state != JOB_ENDED && row->want == DESIRED_CANCEL)
		snprintf(why, size, "it is being cancelled");
	else if (row->state != JOB_ENDED && row->want == DESIRED_SUSPEND && row->preempted_by)
		snprintf(
			why, size,
			"It was preempted by job %lld, and resumes when its cores are free. Time "
			"suspended counts for neither walltime nor charge.",
			(long long)row->preempted_by);
	else if (row->state != JOB_ENDED && row->owner_suspended_ns)
		suspended_why(a, row->owner_suspended_ns, why, size);
	else if (row->state == JOB_SUSPENDED && row->want == DESIRED_RUN)
		snprintf(why, size, "its node resumes it when cores are free");
}

bool describe_is_gpu_idle(const struct api *a, const struct store_job *row, const json_t *usage)
{
	int64_t after_ns = config_gpu_idle_ns(a->c.config);
	const json_t *idle = json_object_get(usage, "gpu_idle_ns");

	return after_ns && row->state == JOB_RUNNING && json_integer_value(idle) >= after_ns;
}

/* Shows that the job's GPUs are allocated but idle, for as long as they are. */
static void set_gpu_idle(struct doc *d, const struct api *a, const struct store_job *row)
{
	int64_t after_ns = config_gpu_idle_ns(a->c.config);

	if (after_ns && row->gpus)
		doc_int(d, "gpu_idle_after_ns", after_ns);
	doc_flag(d, "gpu_idle", describe_is_gpu_idle(a, row, json_object_get(d->j, "usage")));
}

void describe_reason(const struct api *a, const struct store_job *row,
		     enum dispatch_why_form form, char why[static DISPATCH_WHY_MAX])
{
	struct err err;

	if (describe_queue_why(a, row, why, &err) < 0)
		log_job(LOG_ERR, row->job, "describe", "%s", err.text);
	if (!*why)
		describe_why(a, row, form, why);
}

/* "why": a hold, a dependency or the array's limit, if one holds the job back; else the
 * scheduler's reason. */
void describe_place(const struct api *a, const struct store_job *row,
		    enum dispatch_why_form form, struct doc *d)
{
	_Static_assert(DISPATCH_WHY_MAX >= DESCRIBE_WHY_MAX, "one buffer for both");
	char why[DISPATCH_WHY_MAX];
	struct err err;

	if (describe_queue(a, row, d, why, &err) < 0)
		log_job(LOG_ERR, row->job, "describe", "%s", err.text);
	if (!*why)
		describe_why(a, row, form, why);
	doc_text(d, "why", why);
}

/* The request; in a listing without script and environment, which are long and may hold
 * secrets. */
static void set_request(struct doc *d, const struct store_job *row, bool in_full)
{
	static const char *const long_ones[] = { "script", "env" };
	json_t *request = wire_load(row->request, 0, NULL);

	for (size_t i = 0; request && !in_full && i < ARRAY_LEN(long_ones); i++)
		json_object_del(request, long_ones[i]);
	if (request)
		doc_set(d, "request", request);
}

static json_t *encode_job(const struct api *a, const struct store_job *row, bool in_full)
{
	_cleanup_doc_ struct doc job = doc_object();
	char id[PBS_ID_SHORT_MAX];
	struct doc *d = &job;

	doc_int(d, "job", row->job);
	if (store_is_slurm(row->job) && slurm_job_is_pbs(a->c.config, row->cluster))
		doc_text(d, "pbs_job", slurm_job_id(a->c.config, row->cluster, row->job, id));
	else if (store_is_slurm(row->job))
		doc_int(d, "slurm_job", store_slurm_id(row->job));
	doc_text(d, "name", row->name);
	doc_text(d, "user", row->user);
	doc_text(d, "account", row->account);
	doc_text(d, "cluster", row->cluster);
	doc_text(d, "queue", row->queue);
	doc_text_if(d, "qos", row->qos);
	doc_int(d, "submitted_ns", row->submitted_ns);
	set_attempt(d, row);
	set_gpu_idle(d, a, row);
	if (row->adjusted_ms)
		doc_int(d, "adjusted_ms", row->adjusted_ms);
	if (row->state == JOB_SUSPENDED && row->owner_suspended_ns)
		doc_int(d, "suspended_since_ns", row->owner_suspended_ns);
	describe_place(a, row, DISPATCH_WHY_ESTIMATED, d);
	set_request(d, row, in_full);
	return doc_take(d);
}

json_t *describe_attempt(const struct store_job *row)
{
	_cleanup_doc_ struct doc d = doc_object();

	set_attempt(&d, row);
	return doc_take(&d);
}

json_t *describe_job(const struct api *a, const struct store_job *row)
{
	return encode_job(a, row, false);
}

json_t *describe_job_in_full(const struct api *a, const struct store_job *row)
{
	return encode_job(a, row, true);
}

struct found {
	const struct api *api;
	json_t *job;
};

static int keep_described(void *ctx, const struct store_job *row, struct err *err)
{
	struct found *f = ctx;

	f->job = describe_job(f->api, row);
	return f->job ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int describe_job_number(void *api, int64_t job, json_t **ret, struct err *err)
{
	struct found f = { api, NULL };
	int r = store_job(f.api->c.store, job, keep_described, &f, err);

	if (r >= 0)
		*ret = f.job;
	return r;
}
