/* sync_wire.c - see sync_wire.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/sync/sync_gpus.h"
#include "controller/api/sync/sync_steps.h"
#include "controller/api/sync/sync_wire.h"

#define OUTPUT_CHUNK_MAX (1 << 20)
#define NOTES_MAX 64
#define NOTE_SIZE_MAX 1024

static int decode_amounts(const json_t *doc, const char *key, struct resources *ret,
			  struct err *err)
{
	const json_t *j = json_object_get(doc, key);
	static const int64_t none = 0;
	const struct wire_int any = { 0, INT64_MAX / 1024, NULL };
	const struct wire_int optional = { 0, INT64_MAX / 1024, &none };
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s: an object is missing", key);
	r = wire_get_int(j, "ncpus", any, &ret->ncpus, err);
	if (r >= 0)
		r = wire_get_int(j, "mem_bytes", any, &ret->mem_bytes, err);
	if (r >= 0)
		r = wire_get_int(j, "jobfs_bytes", any, &ret->jobfs_bytes, err);
	if (r >= 0)
		r = wire_get_int(j, "ngpus", optional, &ret->ngpus, err);
	return r < 0 ? err_prefix(err, r, "%s", key) : 0;
}

static int decode_who(const json_t *j, struct sync *s, struct err *err)
{
	int r = wire_get_text(j, "node", (struct wire_text){ s->node, sizeof(s->node), false },
			      err);

	if (r >= 0)
		r = wire_get_text(j, "boot",
				  (struct wire_text){ s->boot, sizeof(s->boot), false }, err);
	if (r >= 0)
		r = wire_get_text(j, "version",
				  (struct wire_text){ s->version, sizeof(s->version), true },
				  err);
	if (r >= 0)
		r = wire_get_int(j, "number",
				 (struct wire_int){ 0, INT64_MAX, &(int64_t){ 0 } }, &s->number,
				 err);
	if (r < 0)
		return r;
	if (!request_is_name(s->node))
		return err_set(err, -EINVAL, "node: '%s' is not a name", s->node);
	if (!*s->boot)
		return err_set(err, -EINVAL, "boot: empty");
	return 0;
}

/* Of which kind the node is: as its agent.conf says. */
static int decode_kind(const json_t *j, struct sync *s, struct err *err)
{
	char type[REQUEST_NAME_MAX], features[FEATURES_MAX];
	int r = wire_get_text(j, "node_type", (struct wire_text){ type, sizeof(type), true },
			      err);

	if (r >= 0 && *type)
		r = features_lower(type, s->node_type, sizeof(s->node_type), err);
	if (r < 0)
		return err_prefix(err, r, "node_type");
	r = wire_get_text(j, "features", (struct wire_text){ features, sizeof(features), true },
			  err);
	if (r >= 0 && *features)
		r = features_parse(features, s->features, err);
	return r < 0 ? err_prefix(err, r, "features") : 0;
}

static int decode_state(const json_t *j, struct sync *s, struct err *err)
{
	static const int64_t no_tier = 0;
	char state[16];
	int64_t tier;
	int r = wire_get_text(j, "state", (struct wire_text){ state, sizeof(state), false },
			      err);

	if (r < 0)
		return r;
	s->draining = strcmp(state, "drain") == 0;
	if (!s->draining && strcmp(state, "up") != 0)
		return err_set(err, -EINVAL, "state: '%s' is neither up nor drain", state);
	r = wire_get_int(j, "tier", (struct wire_int){ 0, 9, &no_tier }, &tier, err);
	if (r < 0)
		return r;
	s->tier = (int32_t)tier;
	r = wire_get_text(json_object_get(j, "capacity"), "topology",
			  (struct wire_text){ s->topology, sizeof(s->topology), true }, err);
	return r < 0 ? err_prefix(err, r, "capacity") : 0;
}

static int decode_notes(const json_t *j, struct sync *s, struct err *err)
{
	const json_t *notes = json_object_get(j, "notes");

	if (!notes)
		return 0;
	if (!json_is_array(notes) || json_array_size(notes) > NOTES_MAX)
		return err_set(err, -EINVAL, "notes: not an array of at most %d sentences",
			       NOTES_MAX);
	for (size_t i = 0; i < json_array_size(notes); i++)
		if (!json_is_string(json_array_get(notes, i)) ||
		    json_string_length(json_array_get(notes, i)) > NOTE_SIZE_MAX)
			return err_set(err, -EINVAL,
				       "notes[%zu]: not a sentence of at most %d bytes", i,
				       NOTE_SIZE_MAX);
	s->notes = wire_format(notes);
	return s->notes ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* An optional array of at most `max`; room for its elements. */
static int open_array(const json_t *j, const char *key, size_t max, const json_t **ret,
		      struct err *err)
{
	*ret = json_object_get(j, key);
	if (!*ret)
		return 0;
	if (!json_is_array(*ret) || json_array_size(*ret) > max)
		return err_set(err, -EINVAL, "%s: not an array of at most %zu", key, max);
	return 0;
}

static int decode_hold(const json_t *j, struct sync_hold *h, struct err *err)
{
	char state[16];
	int r = sync_get_attempt(j, &h->job, &h->attempt, err);

	if (r >= 0)
		r = wire_get_text(j, "state", (struct wire_text){ state, sizeof(state), false },
				  err);
	if (r >= 0 && job_state_parse(state, &h->state) < 0)
		r = err_set(err, -EINVAL, "state: '%s' is not a job's state", state);
	return r;
}

static int decode_jobs(const json_t *j, struct sync *s, struct err *err)
{
	const json_t *a;
	int r = open_array(j, "jobs", WIRE_SYNC_JOBS_MAX, &a, err);

	if (r < 0 || !a)
		return r;
	s->jobs = calloc(json_array_size(a) + 1, sizeof(*s->jobs));
	if (!s->jobs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(a); i++) {
		r = decode_hold(json_array_get(a, i), &s->jobs[i], err);
		if (r < 0)
			return err_prefix(err, r, "jobs[%zu]", i);
		s->n_jobs++;
	}
	return 0;
}

static int decode_found(const json_t *j, struct sync *s, struct err *err)
{
	const json_t *a;
	int r = open_array(j, "found", WIRE_SYNC_JOBS_MAX, &a, err);

	if (r < 0 || !a)
		return r;
	s->found = calloc(json_array_size(a) + 1, sizeof(*s->found));
	if (!s->found)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(a); i++) {
		struct sync_hold *h = &s->found[i];

		r = sync_get_attempt(json_array_get(a, i), &h->job, &h->attempt, err);
		if (r < 0)
			return err_prefix(err, r, "found[%zu]", i);
		s->n_found++;
	}
	return 0;
}

static int decode_reports(const json_t *j, struct sync *s, struct err *err)
{
	const json_t *a;
	int r = open_array(j, "reports", SYNC_REPORTS_MAX, &a, err);

	if (r < 0 || !a)
		return r;
	s->reports = calloc(json_array_size(a) + 1, sizeof(*s->reports));
	if (!s->reports)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(a); i++) {
		char at[32];

		snprintf(at, sizeof(at), "reports[%zu]", i);
		r = wire_decode_report(json_array_get(a, i), at, &s->reports[i], err);
		if (r < 0)
			return r;
		s->n_reports++;
	}
	return 0;
}

static int decode_output(const json_t *j, struct sync_output *o, struct err *err)
{
	char stream[8];
	uint8_t *data;
	int r = sync_get_attempt(j, &o->job, &o->attempt, err);

	if (r >= 0)
		r = wire_get_int(j, "step",
				 (struct wire_int){ 0, STORE_STEPS_MAX, &(int64_t){ 0 } },
				 &o->step, err);
	if (r >= 0)
		r = wire_get_text(j, "stream",
				  (struct wire_text){ stream, sizeof(stream), false }, err);
	if (r < 0)
		return r;
	r = sync_stream_parse(stream, &o->stream, err);
	if (r < 0)
		return r;
	r = wire_get_int(j, "offset", (struct wire_int){ 0, INT64_MAX / 2, NULL }, &o->offset,
			 err);
	if (r < 0)
		return r;
	r = doc_decode_bytes(json_object_get(j, "data"), OUTPUT_CHUNK_MAX, &data, &o->size,
			     err);
	o->data = r < 0 ? NULL : (void *)data;
	return r < 0 ? err_prefix(err, r, "data") : 0;
}

static int decode_outputs(const json_t *j, struct sync *s, struct err *err)
{
	const json_t *a;
	int r = open_array(j, "output", SYNC_OUTPUT_MAX, &a, err);

	if (r < 0 || !a)
		return r;
	s->outputs = calloc(json_array_size(a) + 1, sizeof(*s->outputs));
	if (!s->outputs)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < json_array_size(a); i++) {
		s->n_outputs++;
		r = decode_output(json_array_get(a, i), &s->outputs[i], err);
		if (r < 0)
			return err_prefix(err, r, "output[%zu]", i);
	}
	return 0;
}

int sync_decode(const json_t *j, struct sync **ret, struct err *err)
{
	_cleanup_(sync_freep) struct sync *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	r = decode_who(j, s, err);
	if (r >= 0)
		r = decode_amounts(j, "capacity", &s->capacity, err);
	if (r >= 0)
		r = decode_amounts(j, "free", &s->free, err);
	if (r >= 0)
		r = sync_gpus_decode(j, s, err);
	if (r >= 0)
		r = decode_kind(j, s, err);
	if (r >= 0)
		r = decode_state(j, s, err);
	if (r >= 0)
		r = decode_notes(j, s, err);
	if (r >= 0)
		r = decode_jobs(j, s, err);
	if (r >= 0)
		r = decode_found(j, s, err);
	if (r >= 0)
		r = decode_reports(j, s, err);
	if (r >= 0)
		r = decode_outputs(j, s, err);
	if (r >= 0)
		r = sync_steps_decode(j, s, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}
