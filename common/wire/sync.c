/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sync.c - rows of a node's sync document, and what rows cannot say: devices once each and
 * counted by model, steps in order and once each. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/pbs/id.h"
#include "common/wire/json/load.h"
#include "common/wire/sync.h"
#include "common/wire/sync_fields.h"

/* ---- words ---- */

static const char *const stream_names[_SYNC_STREAM_MAX] = {
	[SYNC_OUT] = "out", [SYNC_ERR] = "err"
};

const char *sync_stream_name(enum sync_stream s)
{
	return s < _SYNC_STREAM_MAX ? stream_names[s] : "?";
}

const char *sync_stream_word(int i)
{
	return i < _SYNC_STREAM_MAX ? stream_names[i] : NULL;
}

static const char *engine_word(int i)
{
	return engine_words[i];
}

static const char *job_state_word(int i)
{
	return i < _JOB_STATE_MAX ? job_state_name((enum job_state)i) : NULL;
}

static const char *node_state_word(int is_draining)
{
	static const char *const words[] = { "up", "drain", NULL };

	return words[is_draining];
}

static const char *step_state_word(int has_ended)
{
	static const char *const words[] = { "running", "ended", NULL };

	return words[has_ended];
}

/* ---- values with a form of their own ---- */

/* {"a100-40": 3} */
static json_t *encode_models(const void *member)
{
	const struct gpus *g = member;
	_cleanup_doc_ struct doc d = doc_object();

	for (int32_t i = 0; i < g->n; i++)
		doc_int(&d, g->of[i].model, g->of[i].n);
	return doc_take(&d);
}

static bool has_no_models(const void *member)
{
	return ((const struct gpus *)member)->n == 0;
}

static int add_model(struct gpus *g, const char *model, int64_t n, struct err *err)
{
	if (!resources_is_gpu_model(model))
		return err_set(err, -EINVAL, "model '%.63s' is not the name of one", model);
	if (gpus_add(g, model, n) < 0 || g->n > GPUS_NODE_MODELS_MAX)
		return err_set(err, -EINVAL, "more than %d models", GPUS_NODE_MODELS_MAX);
	return 0;
}

static int decode_models(const json_t *value, const char *at, void *member, struct err *err)
{
	const char *model;
	json_t *n;

	(void)at;
	if (!json_is_object(value))
		return err_set(err, -EINVAL, "is not an object");
	json_object_foreach((json_t *)(uintptr_t)value, model, n)
	{
		int r;

		if (!json_is_integer(n) || json_integer_value(n) < 0 ||
		    json_integer_value(n) > SYNC_GPUS_MAX)
			return err_set(err, -EINVAL, "not a number of devices");
		r = add_model(member, model, json_integer_value(n), err);
		if (r < 0)
			return r;
	}
	return 0;
}

static const struct wire_custom models = { .encode = encode_models,
					   .decode = decode_models,
					   .is_absent = has_no_models };

static json_t *encode_report(const void *member)
{
	return wire_encode_report(member);
}

static int decode_report(const json_t *value, const char *at, void *member, struct err *err)
{
	return wire_decode_report(value, at, member, err);
}

static void done_report(void *member)
{
	report_done(member);
}

static const struct wire_custom report_element = { .encode = encode_report,
						   .decode = decode_report,
						   .done = done_report };

/* ---- rows ---- */

#define AMOUNT_MAX (INT64_MAX / 1024) /* so that amounts of many nodes can be added up */

#define AMOUNT_ROW(of, name, how)                                                              \
	{                                                                                      \
		.key = #name, .type = WIRE_T_INT, .flags = (how),                              \
		WIRE_MEMBER(struct sync, of.name), .max = AMOUNT_MAX                           \
	}
#define AMOUNT_ROWS(of)                                                                        \
	AMOUNT_ROW(of, ncpus, 0), AMOUNT_ROW(of, mem_bytes, 0),                                \
		AMOUNT_ROW(of, jobfs_bytes, 0), AMOUNT_ROW(of, ngpus, WIRE_OPTIONAL)

static const struct wire_field capacity_fields[] = {
	AMOUNT_ROWS(capacity),
	WIRE_INT_OR(struct sync, pids, 0, AMOUNT_MAX, 0, WIRE_OMIT),
	WIRE_CHARS(struct sync, topology, WIRE_OPTIONAL),
	WIRE_END,
};

static const struct wire_field free_fields[] = {
	AMOUNT_ROWS(free),
	{ .key = "gpu_models",
	  .type = WIRE_T_CUSTOM,
	  WIRE_MEMBER(struct sync, free_gpu_models),
	  .custom = &models },
	WIRE_END,
};

static const struct wire_field job_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_job),
	WIRE_WORD(struct sync_job, "state", state, job_state_word),
	WIRE_END,
};

static const struct wire_field found_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_job),
	WIRE_END,
};

#define SLURM_AMOUNT_ROW(name)                                                                 \
	WIRE_INT_OR(struct sync_slurm_job, name, 0, AMOUNT_MAX, 0, WIRE_OPTIONAL)

static const struct wire_field slurm_job_fields[] = {
	WIRE_INT(struct sync_slurm_job, job, 1, PBS_NUMBER_MAX),
	WIRE_INT(struct sync_slurm_job, attempt, 1, INT32_MAX),
	WIRE_INT(struct sync_slurm_job, uid, 0, UINT32_MAX),
	WIRE_CHARS(struct sync_slurm_job, user, 0),
	WIRE_CHARS(struct sync_slurm_job, account, WIRE_OPTIONAL),
	WIRE_CHARS(struct sync_slurm_job, queue, WIRE_OPTIONAL),
	WIRE_CHARS(struct sync_slurm_job, name, WIRE_OPTIONAL),
	WIRE_INT(struct sync_slurm_job, ncpus, 1, 1 << 20),
	SLURM_AMOUNT_ROW(mem_bytes),
	SLURM_AMOUNT_ROW(vmem_bytes),
	SLURM_AMOUNT_ROW(jobfs_bytes),
	WIRE_INT_OR(struct sync_slurm_job, ngpus, 0, 1 << 20, 0, WIRE_OMIT),
	WIRE_CHARS(struct sync_slurm_job, gpu_model, WIRE_OMIT),
	WIRE_INT_OR(struct sync_slurm_job, nodes, 1, 1 << 20, 1, WIRE_OMIT),
	WIRE_INT_OR(struct sync_slurm_job, job_ncpus, 0, 1 << 20, 0, WIRE_OMIT),
	WIRE_INT_OR(struct sync_slurm_job, job_ngpus, 0, 1 << 20, 0, WIRE_OMIT),
	WIRE_INT_OR(struct sync_slurm_job, started_ns, 0, INT64_MAX, 0, WIRE_OPTIONAL),
	WIRE_END,
};

static const struct wire_field gpu_fields[] = {
	WIRE_CHARS(struct sync_gpu, uuid, 0),
	WIRE_CHARS(struct sync_gpu, model, 0),
	WIRE_CHARS(struct sync_gpu, product, WIRE_OMIT),
	WIRE_CHARS(struct sync_gpu, vendor, WIRE_OMIT),
	WIRE_INT_OR(struct sync_gpu, mem_bytes, 0, AMOUNT_MAX, -1, WIRE_OMIT),
	WIRE_INT_OR(struct sync_gpu, numa_node, -1, INT16_MAX, -1, WIRE_OMIT),
	WIRE_FLAG(struct sync_gpu, "simulated", is_simulated),
	WIRE_FLAG(struct sync_gpu, "partitioned", is_partitioned),
	WIRE_FLAG(struct sync_gpu, "drained", is_drained),
	WIRE_END,
};

static const struct wire_field output_fields[] = {
	SYNC_ATTEMPT_ROWS(struct sync_output),
	WIRE_WORD(struct sync_output, "stream", stream, sync_stream_word),
	WIRE_INT(struct sync_output, offset, 0, INT64_MAX / 2),
	{ .key = "data",
	  .type = WIRE_T_BYTES,
	  WIRE_MEMBER(struct sync_output, data),
	  .count = offsetof(struct sync_output, size),
	  .max = SYNC_CHUNK_MAX },
	WIRE_INT_OR(struct sync_output, step, 0, SYNC_STEP_MAX, 0, WIRE_OMIT),
	WIRE_FLAG(struct sync_output, "end", is_end),
	WIRE_END,
};

#define OF_ENDED .when = offsetof(struct sync_step, has_ended)

static const struct wire_field step_fields[] = {
	SYNC_STEP_ID_ROWS(struct sync_step, id),
	WIRE_WORD(struct sync_step, "state", has_ended, step_state_word),
	{ .key = "exit_status",
	  .type = WIRE_T_INT,
	  .flags = WIRE_OPTIONAL | WIRE_IF,
	  WIRE_MEMBER(struct sync_step, exit_status),
	  .min = -1,
	  .max = 255,
	  .def = -1,
	  OF_ENDED },
	{ .key = "signal",
	  .type = WIRE_T_INT,
	  .flags = WIRE_OPTIONAL | WIRE_IF,
	  WIRE_MEMBER(struct sync_step, signal),
	  .max = 128,
	  OF_ENDED },
	{ .key = "text",
	  .type = WIRE_T_STRING,
	  .flags = WIRE_OMIT | WIRE_IF,
	  WIRE_MEMBER(struct sync_step, text),
	  .max = SYNC_STEP_TEXT_MAX,
	  OF_ENDED },
	WIRE_END,
};

static const struct wire_field sync_fields[] = {
	WIRE_CHARS(struct sync, node, 0),
	WIRE_CHARS(struct sync, boot, 0),
	WIRE_CHARS(struct sync, version, WIRE_OPTIONAL),
	{ .key = "capacity", .type = WIRE_T_OBJECT, .of = capacity_fields },
	{ .key = "free", .type = WIRE_T_OBJECT, .of = free_fields },
	WIRE_WORD(struct sync, "state", draining, node_state_word),
	WIRE_INT_OR(struct sync, tier, 0, 9, 0, WIRE_OPTIONAL),
	{ .key = "notes",
	  .type = WIRE_T_TEXTS,
	  WIRE_MEMBER(struct sync, notes),
	  .max = SYNC_NOTES_MAX,
	  .min = SYNC_NOTE_SIZE_MAX },
	WIRE_LIST(struct sync, "jobs", jobs, n_jobs, WIRE_SYNC_JOBS_MAX, job_fields, 0),
	{ .key = "reports",
	  .type = WIRE_T_LIST,
	  .offset = offsetof(struct sync, reports),
	  .size = sizeof(struct report),
	  .count = offsetof(struct sync, n_reports),
	  .max = SYNC_REPORTS_MAX,
	  .custom = &report_element },
	WIRE_LIST(struct sync, "output", outputs, n_outputs, SYNC_OUTPUT_MAX, output_fields, 0),
	WIRE_LIST(struct sync, "gpus", gpus, n_gpus, SYNC_GPUS_MAX, gpu_fields, WIRE_OMIT),
	WIRE_CHARS(struct sync, node_type, WIRE_OMIT),
	WIRE_CHARS(struct sync, features, WIRE_OMIT),
	WIRE_LIST(struct sync, "found", found, n_found, WIRE_SYNC_JOBS_MAX, found_fields,
		  WIRE_OMIT),
	WIRE_LIST(struct sync, "steps", steps, n_steps, SYNC_STEPS_MAX, step_fields, WIRE_OMIT),
	WIRE_INT_OR(struct sync, number, 0, INT64_MAX, 0, WIRE_OMIT),
	WIRE_CHARS(struct sync, ledger, WIRE_OMIT),
	WIRE_INT_OR(struct sync, restored_ns, 0, INT64_MAX, 0, WIRE_OMIT),
	{ .key = "engine",
	  .type = WIRE_T_WORD,
	  .flags = WIRE_OMIT,
	  WIRE_MEMBER(struct sync, engine),
	  .word = engine_word },
	WIRE_LIST(struct sync, "slurm_jobs", slurm_jobs, n_slurm_jobs, WIRE_SYNC_JOBS_MAX,
		  slurm_job_fields, WIRE_OMIT),
	WIRE_END,
};

/* ---- encode ---- */

int sync_encode(const struct sync *s, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	wire_encode_fields(sync_fields, s, &d);
	return doc_finish(&d, ret, err);
}

int sync_add_output(json_t *doc, const struct sync_output *o, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_object();

	wire_encode_fields(output_fields, o, &d);
	if (json_array_append_new(json_object_get(doc, "output"), doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

json_t *sync_reports(json_t *doc)
{
	return json_object_get(doc, "reports");
}

static const struct wire_field *find_row(const char *key)
{
	const struct wire_field *f = sync_fields;

	while (strcmp(f->key, key) != 0)
		f++;
	return f;
}

int sync_add_steps(json_t *doc, struct sync_step *steps, size_t n, struct err *err)
{
	const struct sync s = { .steps = steps, .n_steps = n };
	const struct wire_field rows[] = { *find_row("steps"), WIRE_END };
	_cleanup_doc_ struct doc d = doc_edit(doc);

	wire_encode_fields(rows, &s, &d);
	return doc_check(&d, err);
}

static char *format_list(const struct sync *s, const char *key)
{
	struct wire_field rows[] = { *find_row(key), WIRE_END };
	_cleanup_doc_ struct doc d = doc_object();
	const json_t *list;

	rows[0].flags = 0; /* also an empty one */
	wire_encode_fields(rows, s, &d);
	list = d.has_failed ? NULL : json_object_get(d.j, key);
	return list ? wire_format(list) : NULL;
}

char *sync_format_gpus(const struct sync *s)
{
	return format_list(s, "gpus");
}

char *sync_format_notes(const struct sync *s)
{
	return format_list(s, "notes");
}

char *sync_format_slurm_job(const struct sync_slurm_job *j)
{
	_cleanup_doc_ struct doc d = doc_object();

	wire_encode_fields(slurm_job_fields, j, &d);
	return d.has_failed ? NULL : wire_format(d.j);
}

int sync_parse_slurm_job(const char *text, struct sync_slurm_job *ret, struct err *err)
{
	_cleanup_json_ json_t *j = wire_load(text, 0, NULL);

	if (!j)
		return err_set(err, -EINVAL, "not a document");
	return wire_decode_fields(slurm_job_fields, j, ret, err);
}

/* ---- decode: what rows cannot say ---- */

static int check_names(struct sync *s, struct err *err)
{
	char type[REQUEST_NAME_MAX], features[FEATURES_MAX];
	int r = 0;

	if (!request_is_name(s->node))
		return err_set(err, -EINVAL, "node: '%s' is not a name", s->node);
	if (!*s->boot)
		return err_set(err, -EINVAL, "boot: empty");
	memcpy(type, s->node_type, sizeof(type));
	memcpy(features, s->features, sizeof(features));
	*s->features = '\0';
	if (*type)
		r = features_lower(type, s->node_type, sizeof(s->node_type), err);
	if (r < 0)
		return err_prefix(err, r, "node_type");
	if (*features)
		r = features_parse(features, s->features, err);
	return r < 0 ? err_prefix(err, r, "features") : 0;
}

static int check_gpu(const struct sync *s, size_t i, struct err *err)
{
	if (!*s->gpus[i].uuid)
		return err_set(err, -EINVAL, "uuid is empty");
	if (!*s->gpus[i].model)
		return err_set(err, -EINVAL, "model is empty");
	for (size_t k = 0; k < i; k++)
		if (!strcmp(s->gpus[k].uuid, s->gpus[i].uuid))
			return err_set(err, -EINVAL, "uuid is there twice");
	return 0;
}

/* A GPU that is cut in parts is shown and never allocated; one that is not clean, not for now. */
static int count_gpus(struct sync *s, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < s->n_gpus; i++) {
		const struct sync_gpu *g = &s->gpus[i];

		r = check_gpu(s, i, err);
		if (r == 0 && !g->is_partitioned)
			r = add_model(&s->gpu_models, g->model, 1, err);
		if (r == 0 && !g->is_partitioned && g->is_drained)
			r = add_model(&s->drained_gpu_models, g->model, 1, err);
		if (r < 0)
			return err_prefix(err, r, "gpus[%zu]", i);
	}
	if (s->n_gpus == 0) {
		s->free_gpu_models = (struct gpus){ 0 };
		return 0;
	}
	s->capacity.ngpus = gpus_count(&s->gpu_models, "");
	s->free.ngpus = gpus_count(&s->free_gpu_models, "");
	return 0;
}

int sync_step_compare(const void *a, const void *b)
{
	const struct sync_step_id *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->attempt != y->attempt)
		return x->attempt < y->attempt ? -1 : 1;
	return (x->step > y->step) - (x->step < y->step);
}

static int sort_steps(struct sync *s, struct err *err)
{
	if (s->n_steps)
		qsort(s->steps, s->n_steps, sizeof(*s->steps), sync_step_compare);
	for (size_t i = 1; i < s->n_steps; i++)
		if (sync_step_compare(&s->steps[i - 1], &s->steps[i]) == 0)
			return err_set(
				err, -EINVAL, "steps: job %lld, step %lld is there twice",
				(long long)s->steps[i].id.job, (long long)s->steps[i].id.step);
	return 0;
}

/* Ids of Slurm are numbers of the ledger only with what the controller puts before them: a larger one would be another
 * job's number. */
static int check_engine(const struct sync *s, struct err *err)
{
	int64_t most = s->engine == ENGINE_PBS ? PBS_NUMBER_MAX : SYNC_SLURM_ID_MAX;
	const char *of = s->engine == ENGINE_PBS ? "PBS" : "Slurm";

	if (!engine_is_foreign(s->engine))
		return s->n_slurm_jobs
			       ? err_set(err, -EINVAL, "slurm_jobs: the node's engine is reeve")
			       : 0;
	for (size_t i = 0; i < s->n_jobs; i++)
		if (s->jobs[i].job > most)
			return err_set(err, -EINVAL, "jobs[%zu].job: %lld is no job id of %s",
				       i, (long long)s->jobs[i].job, of);
	for (size_t i = 0; i < s->n_reports; i++)
		if (s->reports[i].job > most)
			return err_set(err, -EINVAL,
				       "reports[%zu].job: %lld is no job id of %s", i,
				       (long long)s->reports[i].job, of);
	for (size_t i = 0; i < s->n_slurm_jobs; i++)
		if (s->slurm_jobs[i].job > most)
			return err_set(err, -EINVAL,
				       "slurm_jobs[%zu].job: %lld is no job id of %s", i,
				       (long long)s->slurm_jobs[i].job, of);
	return 0;
}

int sync_decode(const json_t *doc, struct sync **ret, struct err *err)
{
	_cleanup_(sync_freep) struct sync *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	r = wire_decode_fields(sync_fields, doc, s, err);
	if (r >= 0)
		r = check_names(s, err);
	if (r >= 0)
		r = count_gpus(s, err);
	if (r >= 0)
		r = sort_steps(s, err);
	if (r >= 0)
		r = check_engine(s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct sync *sync_free(struct sync *s)
{
	if (s)
		wire_done_fields(sync_fields, s);
	free(s);
	return NULL;
}
