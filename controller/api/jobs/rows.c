/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows.c - see rows.h. */
#include <errno.h>
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "controller/api/context.h"
#include "controller/api/jobs/describe.h"
#include "controller/api/jobs/rows.h"
#include "controller/ledger/jobs/slurm.h"

/* A job, and what is found out before its values are listed. */
struct row {
	const struct api *api;
	const struct store_job *job;
	struct doc place; /* of a job that is more than a number: id, array, why; else empty */
	char why[DISPATCH_WHY_MAX];
};

static void put_place(struct rowpack_writer *w, const struct row *r, const char *key)
{
	rowpack_put_text(w, json_string_value(json_object_get(r->place.j, key)));
}

static void put_text(struct rowpack_writer *w, const char *text)
{
	rowpack_put_text(w, text && *text ? text : NULL);
}

/* Half of the amounts of a queued job are 0. */
static void put_int(struct rowpack_writer *w, int64_t n)
{
	if (n)
		rowpack_put_int(w, n);
	else
		rowpack_put_null(w);
}

/* "queued" of an array, of which tasks run, is "running". */
static void put_state(struct rowpack_writer *w, const struct row *r)
{
	const char *of_array = json_string_value(json_object_get(r->place.j, "state"));

	rowpack_put_text(w, of_array ? of_array : job_state_name(r->job->state));
}

static void put_nodes(struct rowpack_writer *w, const struct row *r)
{
	_cleanup_free_ char *nodes = describe_nodes(r->job);

	put_text(w, nodes);
}

static void put_array(struct rowpack_writer *w, const struct row *r)
{
	const json_t *array = json_object_get(r->place.j, "array");
	_cleanup_free_ char *text = array ? wire_format(array) : NULL;

	w->has_failed = w->has_failed || (array && !text);
	rowpack_put_json(w, text);
}

static void put_why(struct rowpack_writer *w, const struct row *r)
{
	if (r->place.j)
		put_place(w, r, "why");
	else
		put_text(w, r->why);
}

/* Its usage is read only where that can be. */
static void put_gpu_idle(struct rowpack_writer *w, const struct row *r)
{
	const struct store_job *j = r->job;
	_cleanup_json_ json_t *usage = NULL;

	if (j->usage && j->state == JOB_RUNNING && j->ngpus > 0)
		usage = wire_load(j->usage, 0, NULL);
	rowpack_put_bool(w, describe_is_gpu_idle(r->api, j, usage));
}

/* clang-format off */
#define COLUMNS(X) \
	X("job",                 rowpack_put_int(w, j->job)) \
	X("id",                  put_place(w, r, "id")) \
	X("name",                rowpack_put_text(w, j->name)) \
	X("user",                rowpack_put_text(w, j->user)) \
	X("account",             rowpack_put_text(w, j->account)) \
	X("cluster",             rowpack_put_text(w, j->cluster)) \
	X("queue",               rowpack_put_text(w, j->queue)) \
	X("qos",                 put_text(w, j->qos)) \
	X("state",               put_state(w, r)) \
	X("node",                put_text(w, j->node)) \
	X("nodes",               put_nodes(w, r)) \
	X("ncpus",               put_int(w, j->ncpus)) \
	X("ngpus",               put_int(w, j->ngpus)) \
	X("gpu_model",           put_text(w, j->gpu_model)) \
	X("vmem_bytes",          put_int(w, j->vmem_bytes)) \
	X("mem_bytes",           put_int(w, j->mem_bytes)) \
	X("jobfs_bytes",         put_int(w, j->jobfs_bytes)) \
	X("walltime_s",          put_int(w, j->walltime_s)) \
	X("running_ns",          put_int(w, j->running_ns)) \
	X("suspended_ns",        put_int(w, j->suspended_ns)) \
	X("submitted_ns",        put_int(w, j->submitted_ns)) \
	X("started_ns",          put_int(w, j->started_ns)) \
	X("ended_ns",            put_int(w, j->ended_ns)) \
	X("charge_requested_ms", put_int(w, j->charge_requested_ms)) \
	X("charge_used_ms",      put_int(w, j->charge_used_ms)) \
	X("unit",                rowpack_put_text(w, tariff_unit_name(j->unit, j->pool))) \
	X("usage",               rowpack_put_json(w, j->usage)) \
	X("gpu_idle",            put_gpu_idle(w, r)) \
	X("end",                 rowpack_put_json(w, j->end)) \
	X("array",               put_array(w, r)) \
	X("why",                 put_why(w, r)) \
	X("note",                put_text(w, j->note))
/* clang-format on */

json_t *rows_columns(void)
{
	_cleanup_doc_ struct doc d = doc_array();

#define NAME(name, value) doc_add(&d, json_string(name));
	COLUMNS(NAME)
	return doc_take(&d);
}

static void put_values(struct rowpack_writer *w, const struct row *r)
{
	const struct store_job *j = r->job;

#define VALUE(name, put) put;
	COLUMNS(VALUE)
}

int rows_add(const struct api *a, const struct store_job *j, struct rowpack_writer *w)
{
	struct row r = { .api = a, .job = j };

	if (j->is_array || j->array_job || store_is_slurm(j->job)) {
		r.place = doc_object();
		describe_place(a, j, DISPATCH_WHY_ESTIMATED, &r.place);
	} else {
		describe_reason(a, j, DISPATCH_WHY_ESTIMATED, r.why);
	}
	w->has_failed = w->has_failed || r.place.has_failed;
	put_values(w, &r);
	doc_done(&r.place);
	return w->has_failed ? -ENOMEM : 0;
}
