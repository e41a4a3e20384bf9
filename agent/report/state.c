/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state.c - the rows of attempts in the agent's store; see state.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/report/state.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"

/* What series_encode() wrote. */
struct state_series {
	uint32_t size;
	uint8_t bytes[];
};

enum kind { INT32, INT64, UINT32, UINT64, TEXT, OWNED, CPUS };

/* Every plain member of struct state_attempt, as it is in the row's body. */
struct field {
	const char *name;
	enum kind kind;
	size_t offset, size;
	bool is_added; /* not in the rows of older agents */
};

#define FIELD(kind, member)                                                                    \
	{                                                                                      \
#member, kind, offsetof(struct state_attempt, member),                         \
			sizeof(((struct state_attempt *)0)->member), false                     \
	}
#define ADDED(kind, member)                                                                    \
	{                                                                                      \
#member, kind, offsetof(struct state_attempt, member),                         \
			sizeof(((struct state_attempt *)0)->member), true                      \
	}

static const struct field fields[] = {
	FIELD(TEXT, step),
	FIELD(TEXT, wanted),
	FIELD(TEXT, unit),
	FIELD(OWNED, cgroup),
	FIELD(UINT64, cgroup_id),
	FIELD(INT32, pid),
	FIELD(CPUS, cpus),
	FIELD(CPUS, mem_nodes),
	FIELD(INT64, mem_max_bytes),
	ADDED(INT64, slurm_nodes),
	ADDED(INT64, slurm_ncpus),
	FIELD(UINT32, jobfs.projid),
	FIELD(INT64, jobfs.limit_bytes),
	FIELD(INT64, jobfs.limit_files),
	FIELD(INT64, jobfs.base_bytes),
	FIELD(INT64, jobfs.base_files),
	FIELD(INT64, clock.running_ns),
	FIELD(INT64, clock.suspended_ns),
	FIELD(INT64, clock.at_ns),
	FIELD(TEXT, clock.boot),
	FIELD(INT64, clock.started_ns),
	FIELD(INT64, clock.ended_ns),
	FIELD(OWNED, err_path),
	FIELD(UINT64, err_dev),
	FIELD(UINT64, err_ino),
	FIELD(OWNED, note),
	FIELD(OWNED, gpus),
	FIELD(OWNED, gpu_use),
	ADDED(INT64, slurm_ngpus),
	ADDED(INT32, pbs_sister),
};

static json_t *encode_field(const struct field *f, const struct state_attempt *a)
{
	const void *at = (const char *)a + f->offset;
	char text[CPULIST_TEXT_MAX];

	switch (f->kind) {
	case INT32:
		return json_integer(*(const int32_t *)at);
	case INT64:
		return json_integer(*(const int64_t *)at);
	case UINT32:
		return json_integer(*(const uint32_t *)at);
	case UINT64: /* as the same 64 bits */
		return json_integer((json_int_t) * (const uint64_t *)at);
	case TEXT:
		return wire_string(at);
	case OWNED:
		return wire_string(*(char *const *)at ? *(char *const *)at : "");
	case CPUS:
		return json_string(cpulist_format(at, text, sizeof(text)));
	}
	return NULL;
}

static int decode_int(const json_t *j, const struct field *f, void *at, struct err *err)
{
	static const struct wire_int range[] = {
		[INT32] = { INT32_MIN, INT32_MAX, NULL },
		[INT64] = { INT64_MIN, INT64_MAX, NULL },
		[UINT32] = { 0, UINT32_MAX, NULL },
		[UINT64] = { INT64_MIN, INT64_MAX, NULL },
	};
	int64_t v;
	int r = wire_get_int(j, f->name, range[f->kind], &v, err);

	if (r < 0)
		return r;
	if (f->size == sizeof(int32_t))
		*(uint32_t *)at = (uint32_t)v;
	else
		*(uint64_t *)at = (uint64_t)v;
	return 0;
}

/* "" is NULL. */
static int decode_owned(const json_t *j, const struct field *f, char **at, struct err *err)
{
	_cleanup_free_ char *text = malloc(STATE_OWNED_MAX);
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	r = wire_get_text(j, f->name, (struct wire_text){ text, STATE_OWNED_MAX, true }, err);
	if (r < 0 || !*text)
		return r;
	*at = strdup(text);
	return *at ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int decode_field(const json_t *j, const struct field *f, struct state_attempt *a,
			struct err *err)
{
	void *at = (char *)a + f->offset;
	char text[CPULIST_TEXT_MAX];
	int r;

	if (f->is_added && !json_object_get(j, f->name))
		return 0;
	if (f->kind == TEXT)
		return wire_get_text(j, f->name, (struct wire_text){ at, f->size, true }, err);
	if (f->kind == OWNED)
		return decode_owned(j, f, at, err);
	if (f->kind != CPUS)
		return decode_int(j, f, at, err);
	r = wire_get_text(j, f->name, (struct wire_text){ text, sizeof(text), true }, err);
	return r < 0 ? r : cpulist_parse(text, at, err);
}

void state_end_set(struct state_attempt *a, const struct job_end *end)
{
	struct reason *reason = a->end.reason ? a->end.reason : malloc(sizeof(*reason));

	if (reason)
		*reason = end->reason;
	a->end = (struct state_end){ end->kind, end->exit_status, end->signal, reason };
}

void state_end_get(const struct state_attempt *a, struct job_end *ret)
{
	*ret = (struct job_end){ .kind = a->end.kind,
				 .exit_status = a->end.exit_status,
				 .signal = a->end.signal,
				 .reason = { .requested = -1, .reached = -1 } };
	if (a->end.reason)
		ret->reason = *a->end.reason;
}

int state_usage_set(struct state_attempt *a, const struct usage *u)
{
	return packed_set(&a->usage, u);
}

void state_usage_get(const struct state_attempt *a, struct usage *ret)
{
	packed_get(a->usage, ret);
}

int state_base_set(struct state_attempt *a, const struct usage *u)
{
	return packed_set(&a->base, u);
}

void state_base_get(const struct state_attempt *a, struct usage *ret)
{
	packed_get(a->base, ret);
}

static int keep_series(struct state_attempt *a, const uint8_t *bytes, size_t size)
{
	struct state_series *kept = a->series;

	if (!kept || kept->size != size)
		kept = realloc(kept, sizeof(*kept) + size);
	if (!kept)
		return -ENOMEM;
	kept->size = (uint32_t)size;
	memcpy(kept->bytes, bytes, size);
	a->series = kept;
	return 0;
}

int state_series_set(struct state_attempt *a, const struct series *s)
{
	uint8_t buf[SERIES_BYTES_MAX];

	return keep_series(a, buf, series_encode(s, buf));
}

int state_series_get(const struct state_attempt *a, struct series *ret)
{
	if (a->series)
		return series_decode(a->series->bytes, a->series->size, ret);
	*ret = (struct series){ 0 };
	return 0;
}

size_t state_series_bytes(const struct state_attempt *a, const uint8_t **ret)
{
	if (!a->series)
		return 0;
	*ret = a->series->bytes;
	return a->series->size;
}

static void encode_series(const struct state_attempt *a, struct doc *d)
{
	if (a->series)
		doc_bytes(d, "series", a->series->bytes, a->series->size);
}

/* Not in the rows of older agents. Points that cannot be read are dropped: the job itself must not be lost for them. */
static int decode_series(const json_t *j, struct state_attempt *a, struct err *err)
{
	const json_t *text = json_object_get(j, "series");
	_cleanup_free_ uint8_t *bytes = NULL;
	struct series s;
	size_t size;
	int r;

	if (!text)
		return 0;
	r = doc_decode_bytes(text, SERIES_BYTES_MAX, &bytes, &size, NULL);
	if (r >= 0)
		r = series_decode(bytes, size, &s);
	if (r >= 0) {
		series_done(&s);
		r = keep_series(a, bytes, size);
	}
	return r == -ENOMEM ? err_set(err, r, "out of memory") : 0;
}

static char *encode_body(const struct state_attempt *a)
{
	_cleanup_doc_ struct doc d = doc_message();
	_cleanup_json_ json_t *j = NULL;
	struct usage usage, base;
	struct job_end end;

	state_end_get(a, &end);
	state_usage_get(a, &usage);
	state_base_get(a, &base);
	doc_text(&d, "state", job_state_name(a->state));
	doc_set(&d, "end", wire_encode_end(&end));
	doc_set(&d, "usage", wire_encode_usage(&usage));
	doc_set(&d, "base", wire_encode_usage(&base));
	encode_series(a, &d);
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		doc_set(&d, fields[i].name, encode_field(&fields[i], a));
	j = doc_take(&d);
	return j ? wire_format(j) : NULL;
}

static int take_decoded(struct state_attempt *a, const struct job_end *end,
			const struct usage *usage, struct err *err)
{
	if (end->kind != END_NONE)
		state_end_set(a, end);
	if (end->kind != END_NONE && !a->end.reason)
		return err_set(err, -ENOMEM, "out of memory");
	return usage->have && state_usage_set(a, usage) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

static int decode_body(const json_t *j, struct state_attempt *a, struct err *err)
{
	char state[32];
	struct job_end end;
	struct usage usage;
	int r = wire_get_text(j, "state", (struct wire_text){ state, sizeof(state), false },
			      err);

	if (r < 0)
		return r;
	if (job_state_parse(state, &a->state) < 0)
		return err_set(err, -EINVAL, "state '%s' is unknown", state);
	r = wire_decode_end(json_object_get(j, "end"), "end", &end, err);
	if (r >= 0)
		r = wire_decode_usage(json_object_get(j, "usage"), "usage", &usage, err);
	if (r >= 0)
		r = take_decoded(a, &end, &usage, err);
	if (r >= 0 && json_object_get(j, "base")) { /* not in the rows of older agents */
		r = wire_decode_usage(json_object_get(j, "base"), "base", &usage, err);
		if (r >= 0 && usage.have && state_base_set(a, &usage) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	for (size_t i = 0; r >= 0 && i < ARRAY_LEN(fields); i++)
		r = decode_field(j, &fields[i], a, err);
	if (r >= 0)
		r = decode_series(j, a, err);
	a->jobfs.job = a->job;
	a->jobfs.attempt = a->attempt;
	return r;
}

void state_attempt_init(struct state_attempt *a)
{
	memset(a, 0, sizeof(*a));
	request_init(&a->request);
	a->end.exit_status = -1;
}

void state_attempt_take(struct state_attempt *to, struct state_attempt *from)
{
	*to = *from;
	from->err_path = from->cgroup = from->note = from->gpus = from->gpu_use = NULL;
	from->usage = from->base = NULL;
	from->series = NULL;
	from->end.reason = NULL;
	request_init(&from->request);
}

void state_attempt_done(struct state_attempt *a)
{
	free(a->err_path);
	free(a->cgroup);
	free(a->note);
	free(a->gpus);
	free(a->gpu_use);
	free(a->series);
	free(a->end.reason);
	free(a->usage);
	free(a->base);
	request_done(&a->request);
}

static int insert_row(struct db *db, const struct state_attempt *a, const char *body,
		      struct err *err)
{
	_cleanup_json_ json_t *j = wire_encode_request(&a->request);
	_cleanup_free_ char *request = j ? wire_format(j) : NULL;

	if (!request)
		return err_set(err, -EINVAL,
			       "the request of job %" PRId64 " cannot be written down (out of "
			       "memory, or text that is not UTF-8)",
			       a->job);
	return db_run(db, err,
		      "INSERT INTO attempts (job, attempt, body, request) "
		      "VALUES (?, ?, ?, ?)",
		      "iitt", a->job, (int64_t)a->attempt, body, request);
}

int state_save(struct db *db, const struct state_attempt *a, struct err *err)
{
	_cleanup_free_ char *body = encode_body(a);
	int r;

	if (!body)
		return err_set(err, -ENOMEM,
			       "the state of job %" PRId64
			       " cannot be written down (out of memory)",
			       a->job);
	r = db_run(db, err, "UPDATE attempts SET body = ? WHERE job = ? AND attempt = ?", "tii",
		   body, a->job, (int64_t)a->attempt);
	if (r < 0 || db_changes(db) > 0)
		return r;
	return insert_row(db, a, body, err);
}

int state_forget(struct db *db, int64_t job, int32_t attempt, struct err *err)
{
	return db_run(db, err, "DELETE FROM attempts WHERE job = ? AND attempt = ?", "ii", job,
		      (int64_t)attempt);
}

/* Writes and deletes a row of job 0, which no job has: does the store work again? */
int state_try(struct db *db, struct err *err)
{
	int r = db_begin(db, err);

	if (r < 0)
		return r;
	r = db_run(db, err,
		   "INSERT INTO attempts (job, attempt, body, request) VALUES (0, 0, '', '')",
		   "");
	if (r >= 0)
		r = state_forget(db, 0, 0, err);
	if (r >= 0)
		r = db_commit(db, err);
	if (r < 0)
		db_rollback(db);
	return r;
}

/* No column is NULL: without its text SQLite had no memory for it. */
static int decode_text(const char *text, json_t **ret, struct err *err)
{
	json_error_t e;
	json_t *j = text ? wire_load(text, JSON_REJECT_DUPLICATES, &e) : NULL;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	if (!j)
		return err_set(err, -EINVAL, "not JSON: column %d: %s", e.column, e.text);
	*ret = j;
	return 0;
}

static int decode_row(struct db_row *st, struct state_attempt *a, struct err *err)
{
	_cleanup_json_ json_t *body = NULL, *request = NULL;
	int r;

	a->job = db_int(st, 0);
	a->attempt = (int32_t)db_int(st, 1);
	r = decode_text(db_text(st, 2), &body, err);
	if (r >= 0)
		r = decode_body(body, a, err);
	if (r >= 0)
		r = decode_text(db_text(st, 3), &request, err);
	if (r >= 0)
		r = wire_decode_request(request, "request", &a->request, err);
	return r < 0 ? err_prefix(err, r, "saved state of job %" PRId64, a->job) : 0;
}

/* A row that cannot be read still reaches the callback, with nothing but its key: the job must end with
 * that reason, not vanish. */
static int load_row(struct db_row *st, state_each_fn each, void *ctx)
{
	_cleanup_free_ struct state_attempt *a = malloc(sizeof(*a));
	struct err why = { "" };
	int r;

	if (!a)
		return -ENOMEM;
	state_attempt_init(a);
	r = decode_row(st, a, &why);
	if (r == -ENOMEM) {
		state_attempt_done(a);
		return r;
	}
	if (r < 0) {
		int64_t job = a->job;
		int32_t attempt = a->attempt;

		state_attempt_done(a);
		state_attempt_init(a);
		a->job = job;
		a->attempt = attempt;
	}
	r = each(ctx, a, r < 0, &why);
	state_attempt_done(a);
	return r;
}

int state_load_command(struct db *db, int64_t job, int32_t attempt, struct request *ret,
		       struct err *err)
{
	_cleanup_json_ json_t *j = NULL;
	struct request whole;
	struct db_row *st;
	int r = db_query(db, err, &st,
			 "SELECT request FROM attempts WHERE job = ? AND attempt = ?", "ii",
			 job, (int64_t)attempt);

	if (r >= 0)
		r = db_step(db, st, err);
	if (r <= 0)
		return r < 0 ? r : err_set(err, -ENOENT, "job %" PRId64 " is not saved", job);
	request_init(&whole);
	r = decode_text(db_text(st, 0), &j, err);
	db_done(st);
	if (r >= 0)
		r = wire_decode_request(j, "request", &whole, err);
	if (r >= 0) {
		ret->script = TAKE_PTR(whole.script);
		ret->argv = TAKE_PTR(whole.argv);
		ret->env = TAKE_PTR(whole.env);
	}
	request_done(&whole);
	return r < 0 ? r : 0;
}

/* One query for each row, by key: the callback may save and forget rows meanwhile. */
int state_load(struct db *db, state_each_fn each, void *ctx, struct err *err)
{
	int64_t job = INT64_MIN, attempt = 0;
	struct db_row *st;
	int r;

	for (;;) {
		r = db_query(db, err, &st,
			     "SELECT job, attempt, body, request FROM attempts "
			     "WHERE (job, attempt) > (?, ?) ORDER BY job, attempt LIMIT 1",
			     "ii", job, attempt);
		if (r >= 0)
			r = db_step(db, st, err);
		if (r <= 0)
			return r;
		job = db_int(st, 0);
		attempt = db_int(st, 1);
		r = load_row(st, each, ctx);
		db_done(st);
		if (r == -ENOMEM)
			return err_set(err, r, "saved state of job %" PRId64 ": out of memory",
				       job);
		if (r)
			return r;
	}
}

int state_get(struct db *db, const char *name, char *buf, size_t size, struct err *err)
{
	struct db_row *st;
	const char *value;
	int r = db_query(db, err, &st, "SELECT value FROM settings WHERE name = ?", "t", name);

	if (r >= 0)
		r = db_step(db, st, err);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "setting %s was never made", name);
	value = db_text(st, 0);
	r = 0;
	if (!value || strlen(value) >= size)
		r = err_set(err, -ENAMETOOLONG, "setting %s does not fit", name);
	else
		memcpy(buf, value, strlen(value) + 1);
	db_done(st);
	return r;
}

int state_set(struct db *db, const char *name, const char *value, struct err *err)
{
	return db_run(db, err,
		      "INSERT INTO settings (name, value) VALUES (?1, ?2) "
		      "ON CONFLICT (name) DO UPDATE SET value = ?2",
		      "tt", name, value);
}

/* Both settings, or neither. */
static int note_boot(struct db *db, const char *boot, int64_t number, struct err *err)
{
	char text[32];
	int r = db_begin(db, err);

	if (r < 0)
		return r;
	snprintf(text, sizeof(text), "%" PRId64, number);
	r = state_set(db, "boot", boot, err);
	if (r >= 0)
		r = state_set(db, "boot-number", text, err);
	if (r < 0) {
		db_rollback(db);
		return r;
	}
	return db_commit(db, err);
}

int state_boot(struct db *db, const char *boot, int64_t *ret_number, struct err *err)
{
	char last[STATE_BOOT_MAX] = "", number[32] = "0";
	int r;

	r = state_get(db, "boot", last, sizeof(last), err);
	if (r >= 0)
		r = state_get(db, "boot-number", number, sizeof(number), err);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret_number = strtoll(number, NULL, 10);
	if (r == 0 && strcmp(last, boot) == 0)
		return 0;
	++*ret_number;
	r = note_boot(db, boot, *ret_number, err);
	return r < 0 ? r : STATE_NEW_BOOT;
}
