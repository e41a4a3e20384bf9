/* rows.c - see rows.h. */
#include "common/wire/doc.h"
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
	json_t *usage; /* owned; NULL: none was measured */
};

static json_t *get_place(const struct row *r, const char *key)
{
	json_t *v = json_object_get(r->place.j, key);

	return v ? json_incref(v) : json_null();
}

static json_t *text_or_null(const char *text)
{
	return text && *text ? wire_string(text) : json_null();
}

/* Half of the amounts of a queued job are 0. */
static json_t *int_or_null(int64_t n)
{
	return n ? json_integer(n) : json_null();
}

static json_t *stored_or_null(const char *text)
{
	json_t *v = text ? json_loads(text, 0, NULL) : NULL;

	return v ? v : json_null();
}

/* "queued" of an array, of which tasks run, is "running". */
static json_t *get_state(const struct row *r)
{
	json_t *of_array = json_object_get(r->place.j, "state");

	return of_array ? json_incref(of_array) : json_string(job_state_name(r->job->state));
}

static json_t *get_nodes(const struct row *r)
{
	_cleanup_free_ char *nodes = describe_nodes(r->job);

	return text_or_null(nodes);
}

static json_t *get_why(const struct row *r)
{
	return r->place.j ? get_place(r, "why") : text_or_null(r->why);
}

/* clang-format off */
#define COLUMNS(X) \
	X("job",                 json_integer(j->job)) \
	X("id",                  get_place(r, "id")) \
	X("name",                wire_string(j->name)) \
	X("user",                wire_string(j->user)) \
	X("account",             wire_string(j->account)) \
	X("cluster",             wire_string(j->cluster)) \
	X("queue",               wire_string(j->queue)) \
	X("qos",                 text_or_null(j->qos)) \
	X("state",               get_state(r)) \
	X("node",                text_or_null(j->node)) \
	X("nodes",               get_nodes(r)) \
	X("ncpus",               int_or_null(j->ncpus)) \
	X("ngpus",               int_or_null(j->ngpus)) \
	X("gpu_model",           text_or_null(j->gpu_model)) \
	X("vmem_bytes",          int_or_null(j->vmem_bytes)) \
	X("mem_bytes",           int_or_null(j->mem_bytes)) \
	X("jobfs_bytes",         int_or_null(j->jobfs_bytes)) \
	X("walltime_s",          int_or_null(j->walltime_s)) \
	X("running_ns",          int_or_null(j->running_ns)) \
	X("suspended_ns",        int_or_null(j->suspended_ns)) \
	X("submitted_ns",        int_or_null(j->submitted_ns)) \
	X("started_ns",          int_or_null(j->started_ns)) \
	X("ended_ns",            int_or_null(j->ended_ns)) \
	X("charge_requested_ms", int_or_null(j->charge_requested_ms)) \
	X("charge_used_ms",      int_or_null(j->charge_used_ms)) \
	X("unit",                json_string(tariff_unit_name(j->unit, j->pool))) \
	X("usage",               r->usage ? json_incref(r->usage) : json_null()) \
	X("gpu_idle",            json_boolean(describe_is_gpu_idle(r->api, j, r->usage))) \
	X("end",                 stored_or_null(j->end)) \
	X("array",               get_place(r, "array")) \
	X("why",                 get_why(r)) \
	X("note",                text_or_null(j->note))
/* clang-format on */

json_t *rows_columns(void)
{
	_cleanup_doc_ struct doc d = doc_array();

#define NAME(name, value) doc_add(&d, json_string(name));
	COLUMNS(NAME)
	return doc_take(&d);
}

static json_t *list_values(const struct row *r)
{
	const struct store_job *j = r->job;
	_cleanup_doc_ struct doc d = doc_array();

#define VALUE(name, value) doc_add(&d, value);
	COLUMNS(VALUE)
	return doc_take(&d);
}

json_t *rows_describe(const struct api *a, const struct store_job *j)
{
	struct row r = { .api = a, .job = j };
	json_t *values;

	if (j->is_array || j->is_withheld || j->array_job || store_is_slurm(j->job)) {
		r.place = doc_object();
		describe_place(a, j, &r.place);
	} else {
		describe_why(a, j, r.why);
	}
	if (j->usage)
		r.usage = json_loads(j->usage, 0, NULL);
	values = r.place.has_failed ? NULL : list_values(&r);
	json_decref(r.usage);
	doc_done(&r.place);
	return values;
}
