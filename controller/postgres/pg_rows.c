/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_rows.c - prepares statements, runs them and reads their rows: all rows at once, or through a
 * cursor, or while they arrive, or sent ahead in a pipeline. See pg_impl.h.
 *
 * Parameters travel in binary, except texts; answers come as text (the last argument 0 of
 * PQexecPrepared()), because the type of a column is not known here.
 */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/dialect.h"
#include "controller/postgres/pg_impl.h"

#define FETCH_ROWS 4096 /* rows of a scan that are in this process at a time */

struct pg_statement {
	struct db_row row;
	const char *sql; /* a string literal: its address identifies the statement */
	char name[16];	 /* of the prepared statement, and of its cursor */
	int generation;	 /* of the connection it is prepared on; 0: none */
	struct db_value values[DB_VALUES_MAX];
	size_t n_values;
	PGresult *result;
	int at; /* the current row of the result; -1: before the first one, or not run yet */
	bool is_scan, has_cursor, is_stream;
	struct pg_stream stream;
	unsigned char *blob; /* that pg_get_blob() returned last; libpq's */
};

static struct pg_statement *statement_of(const struct db_row *row)
{
	return (struct pg_statement *)row;
}

const char *pg_name(const struct db_row *row)
{
	return statement_of(row)->name;
}

/* Errors are dropped: a cursor that stays open after one ends with the session at the latest. */
static void close_cursor(struct pg_statement *s)
{
	struct pg *p = pg_of(s->row.db);
	PGTransactionStatusType status;
	char sql[64];

	s->has_cursor = false;
	if (pg_settle(p, NULL) < 0)
		return;
	/* In a failed transaction CLOSE is refused, and the rollback closes the cursor. */
	status = pq.PQtransactionStatus(p->conn);
	snprintf(sql, sizeof(sql), "CLOSE %s", s->name);
	if (status == PQTRANS_IDLE || status == PQTRANS_INTRANS)
		pg_exec(p, sql, NULL);
}

void pg_done(struct db_row *row)
{
	struct pg_statement *s = statement_of(row);

	pq.PQclear(s->result);
	s->result = NULL;
	if (s->is_stream)
		pg_stream_done(pg_of(row->db), &s->stream);
	if (s->has_cursor)
		close_cursor(s);
	pq.PQfreemem(s->blob);
	s->blob = NULL;
	s->at = -1;
	s->n_values = 0;
}

void pg_forget(struct pg *p)
{
	for (size_t i = 0; i < p->n_statements; i++) {
		pg_done(&p->statements[i]->row);
		free(p->statements[i]);
	}
	free(p->statements);
	p->statements = NULL;
	p->n_statements = p->size = 0;
}

static int add_statement(struct pg *p, const char *sql, struct pg_statement **ret,
			 struct err *err)
{
	struct pg_statement *s;

	if (p->n_statements == p->size) {
		size_t size = p->size ? p->size * 2 : 32;
		struct pg_statement **larger =
			realloc(p->statements, size * sizeof(struct pg_statement *));

		if (!larger)
			return err_set(err, -ENOMEM, "out of memory");
		p->statements = larger;
		p->size = size;
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->row.db = &p->db;
	s->sql = sql;
	s->at = -1;
	snprintf(s->name, sizeof(s->name), "s%zu", p->n_statements);
	p->statements[p->n_statements++] = s;
	*ret = s;
	return 0;
}

/* The statement of this text, done with its last answer. */
static int find_statement(struct pg *p, const char *sql, struct pg_statement **ret,
			  struct err *err)
{
	for (size_t i = 0; i < p->n_statements; i++) {
		if (p->statements[i]->sql != sql)
			continue;
		*ret = p->statements[i];
		pg_done(&(*ret)->row);
		return 0;
	}
	return add_statement(p, sql, ret, err);
}

int pg_translate(const char *sql, char **ret, struct err *err)
{
	int r = dialect_query(sql, ret);

	return r < 0 ? err_set(err, r, "this statement cannot be translated for PostgreSQL: %s",
			       sql)
		     : 0;
}

static Oid type_of(enum db_kind kind)
{
	return kind == DB_TEXT ? PG_TYPE_TEXT : kind == DB_BLOB ? PG_TYPE_BYTEA : PG_TYPE_INT8;
}

/* The types are those of the first values: a statement is always called with the same format. */
static int prepare_statement(struct pg *p, struct pg_statement *s, struct err *err)
{
	_cleanup_free_ char *sql = NULL;
	Oid types[DB_VALUES_MAX];
	PGresult *result;
	int r;

	if (s->generation == p->generation)
		return 0;
	r = pg_settle(p, err);
	if (r < 0)
		return r;
	r = pg_translate(s->sql, &sql, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->n_values; i++)
		types[i] = type_of(s->values[i].kind);
	result = pq.PQprepare(p->conn, s->name, sql, (int)s->n_values, types);
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, sql, err);
	pq.PQclear(result);
	s->generation = p->generation;
	return 0;
}

int pg_query(struct db *d, const char *sql, const struct db_values *values, struct db_row **ret,
	     struct err *err)
{
	struct pg *p = pg_of(d);
	struct pg_statement *s = NULL;
	int r = pg_revive(p, err);

	if (r < 0)
		return r;
	r = find_statement(p, sql, &s, err);
	if (r < 0)
		return r;
	if (values->n)
		memcpy(s->values, values->v, values->n * sizeof(*values->v));
	s->n_values = values->n;
	r = prepare_statement(p, s, err);
	if (r < 0)
		return r;
	s->is_scan = s->is_stream = false;
	*ret = &s->row;
	return 0;
}

void pg_scan(struct db_row *row)
{
	statement_of(row)->is_scan = true;
}

void pg_stream(struct db_row *row)
{
	statement_of(row)->is_stream = true;
}

/* Values as libpq takes them: `data` points into `numbers` or at the caller's texts and blobs. */
struct parameters {
	const char *data[DB_VALUES_MAX];
	int sizes[DB_VALUES_MAX], are_binary[DB_VALUES_MAX];
	uint64_t numbers[DB_VALUES_MAX];
	Oid types[DB_VALUES_MAX];
};

static int make_parameters(const struct pg_statement *s, struct parameters *ret,
			   struct err *err)
{
	for (size_t i = 0; i < s->n_values; i++) {
		const struct db_value *v = &s->values[i];

		if (v->size > INT32_MAX / 2)
			return err_set(err, -EINVAL, "a value of %zu bytes", v->size);
		ret->numbers[i] = htobe64((uint64_t)v->number);
		ret->data[i] = v->kind == DB_INT ? (const char *)&ret->numbers[i] : v->data;
		ret->sizes[i] = v->kind == DB_INT ? (int)sizeof(ret->numbers[i]) : (int)v->size;
		ret->are_binary[i] = v->kind != DB_TEXT;
		ret->types[i] = type_of(v->kind);
	}
	return 0;
}

/* The statement owns the result from here on; a failed one is cleared. */
static int take_result(struct pg *p, struct pg_statement *s, PGresult *result, struct err *err)
{
	ExecStatusType status = pq.PQresultStatus(result);

	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK)
		return pg_fail(p, result, s->sql, err);
	pq.PQclear(s->result);
	s->result = result;
	return 0;
}

int pg_send(struct db_row *row, struct pg_asked *asked, struct err *err)
{
	struct pg_statement *s = statement_of(row);
	struct pg *p = pg_of(row->db);
	struct parameters v;
	int r = make_parameters(s, &v, err);

	if (r >= 0)
		r = pg_enter_pipeline(p, err);
	if (r < 0)
		return r;
	if (!pq.PQsendQueryPrepared(p->conn, s->name, (int)s->n_values, v.data, v.sizes,
				    v.are_binary, 0))
		return pg_fail(p, NULL, s->sql, err);
	pg_note_sent(p, asked);
	pg_done(row);
	return 0;
}

/* 1: the statement was sent ahead, and has its answer; 0: it was not. */
static int take_answer(struct pg *p, struct pg_statement *s, struct err *err)
{
	const struct db_values values = { s->values, s->n_values };
	struct pg_asked *a = pg_find_asked(p, s->sql, &values);
	PGresult *result;
	int r = 0;

	if (a && !pg_has_arrived(a))
		r = pg_await(p, a, err);
	if (!a || r < 0) /* then all of them are forgotten */
		return r;
	result = pg_take_asked(p, a);
	r = result ? take_result(p, s, result, err) : 0;
	return r < 0 ? r : result != NULL;
}

static int run_statement(struct pg *p, struct pg_statement *s, struct err *err)
{
	struct parameters v;
	int r = take_answer(p, s, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = pg_settle(p, err);
	if (r >= 0)
		r = make_parameters(s, &v, err);
	if (r >= 0)
		r = take_result(p, s,
				pq.PQexecPrepared(p->conn, s->name, (int)s->n_values, v.data,
						  v.sizes, v.are_binary, 0),
				err);
	if (r >= 0)
		p->changes = strtoll(pq.PQcmdTuples(s->result), NULL, 10);
	return r;
}

static int fetch_rows(struct pg *p, struct pg_statement *s, struct err *err)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "FETCH %d FROM %s", FETCH_ROWS, s->name);
	s->at = -1;
	return take_result(p, s, pq.PQexec(p->conn, sql), err);
}

/* A cursor lives as long as its transaction. Outside of one it is made WITH HOLD: the server stores
 * the whole answer and keeps it until CLOSE. */
static int open_cursor(struct pg *p, struct pg_statement *s, struct err *err)
{
	_cleanup_free_ char *sql = NULL, *declare = NULL;
	bool is_alone = pq.PQtransactionStatus(p->conn) == PQTRANS_IDLE;
	struct parameters v;
	int r = pg_settle(p, err);

	if (r >= 0)
		r = make_parameters(s, &v, err);
	if (r >= 0)
		r = pg_translate(s->sql, &sql, err);
	if (r >= 0 && asprintf(&declare, "DECLARE %s NO SCROLL CURSOR %s FOR %s", s->name,
			       is_alone ? "WITH HOLD" : "", sql) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	if (r >= 0)
		r = take_result(p, s,
				pq.PQexecParams(p->conn, declare, (int)s->n_values, v.types,
						v.data, v.sizes, v.are_binary, 0),
				err);
	if (r < 0)
		return r;
	s->has_cursor = true;
	return fetch_rows(p, s, err);
}

/* 1: s->at is a row; 0: there are no more. The first call runs the statement. */
static int next_row(struct pg *p, struct pg_statement *s, struct err *err)
{
	int r = 0;

	if (s->at < 0)
		r = s->is_scan ? open_cursor(p, s, err) : run_statement(p, s, err);
	if (r >= 0 && ++s->at < pq.PQntuples(s->result))
		return 1;
	/* Fewer rows than were asked for: they were the last ones. */
	if (r < 0 || !s->is_scan || pq.PQntuples(s->result) < FETCH_ROWS)
		return r;
	r = fetch_rows(p, s, err);
	return r < 0 ? r : ++s->at < pq.PQntuples(s->result);
}

/* The same, while the rows arrive. */
static int next_streamed(struct pg *p, struct pg_statement *s, struct err *err)
{
	const struct db_values values = { s->values, s->n_values };
	_cleanup_free_ char *sql = NULL;
	int r;

	if (s->stream.is_open)
		return pg_stream_next(p, &s->stream, err);
	r = pg_translate(s->sql, &sql, err);
	if (r >= 0)
		r = pg_stream_begin(p, &s->stream, sql, &values, err);
	return r < 0 ? r : pg_stream_next(p, &s->stream, err);
}

int pg_step(struct db_row *row, struct err *err)
{
	struct pg_statement *s = statement_of(row);
	struct pg *p = pg_of(row->db);
	int r = s->is_stream ? next_streamed(p, s, err) : next_row(p, s, err);

	if (r <= 0)
		pg_done(row);
	return r;
}

/* strtoll() took a tenth of the first cycle: nearly all numbers have some digits and no sign. */
static int64_t parse_int(const char *text)
{
	int64_t n = 0;
	int digits = 0;

	for (; text[digits] >= '0' && text[digits] <= '9' && digits < 18; digits++)
		n = n * 10 + (text[digits] - '0');
	return text[digits] ? strtoll(text, NULL, 10) : n;
}

int64_t pg_get_int(const struct db_row *row, int column)
{
	const char *text = pg_get_text(row, column);

	/* A truth value, which is 0 or 1 in SQLite, comes as "t" or "f". */
	if (text && (*text == 't' || *text == 'f'))
		return *text == 't';
	return text ? parse_int(text) : 0;
}

const char *pg_get_text(const struct db_row *row, int column)
{
	const struct pg_statement *s = statement_of(row);

	if (s->is_stream)
		return s->stream.columns[column];
	return pq.PQgetisnull(s->result, s->at, column)
		       ? NULL
		       : pq.PQgetvalue(s->result, s->at, column);
}

const void *pg_get_blob(const struct db_row *row, int column, size_t *ret_size)
{
	struct pg_statement *s = statement_of(row);
	const char *text = pg_get_text(row, column);

	pq.PQfreemem(s->blob);
	s->blob = text ? pq.PQunescapeBytea((const unsigned char *)text, ret_size) : NULL;
	if (!s->blob)
		*ret_size = 0;
	return s->blob;
}

bool pg_is_null(const struct db_row *row, int column)
{
	return !pg_get_text(row, column);
}
