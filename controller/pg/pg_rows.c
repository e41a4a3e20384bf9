/* pg_rows.c - prepared statements, values and rows; see pg_impl.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/pg/dialect.h"
#include "controller/pg/pg_impl.h"

#define VALUES_MAX 40
#define TYPE_BYTES 17
#define TYPE_INT8 20
#define TYPE_TEXT 25

struct pg_statement {
	struct db_row row;
	const char *sql;
	char name[16];
	int generation; /* of the connection it is prepared on; 0: none */
	struct db_value values[VALUES_MAX];
	size_t n_values;
	PGresult *result;
	int at;		     /* row of the result; -1: not run yet */
	unsigned char *blob; /* of the row it stands at */
};

static struct pg_statement *statement_of(const struct db_row *row)
{
	return (struct pg_statement *)row;
}

void pg_done(struct db_row *row)
{
	struct pg_statement *s = statement_of(row);

	pq.PQclear(s->result);
	s->result = NULL;
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

static int add(struct pg *p, const char *sql, struct pg_statement **ret, struct err *err)
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

static int find(struct pg *p, const char *sql, struct pg_statement **ret, struct err *err)
{
	for (size_t i = 0; i < p->n_statements; i++) {
		if (p->statements[i]->sql != sql)
			continue;
		*ret = p->statements[i];
		pg_done(&(*ret)->row);
		return 0;
	}
	return add(p, sql, ret, err);
}

static Oid type_of(enum db_kind kind)
{
	return kind == DB_TEXT ? TYPE_TEXT : kind == DB_BLOB ? TYPE_BYTES : TYPE_INT8;
}

static int prepare(struct pg *p, struct pg_statement *s, struct err *err)
{
	_cleanup_free_ char *sql = NULL;
	Oid types[VALUES_MAX];
	PGresult *result;

	if (s->generation == p->generation)
		return 0;
	if (dialect_query(s->sql, &sql) < 0)
		return err_set(err, -EINVAL, "cannot be said to PostgreSQL: %s", s->sql);
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
	r = find(p, sql, &s, err);
	if (r < 0)
		return r;
	if (values->n > VALUES_MAX)
		return err_set(err, -EINVAL, "more than %d values", VALUES_MAX);
	if (values->n)
		memcpy(s->values, values->v, values->n * sizeof(*values->v));
	s->n_values = values->n;
	r = prepare(p, s, err);
	if (r < 0)
		return r;
	*ret = &s->row;
	return 0;
}

static int run(struct pg *p, struct pg_statement *s, struct err *err)
{
	const char *data[VALUES_MAX];
	int sizes[VALUES_MAX], are_binary[VALUES_MAX];
	uint64_t numbers[VALUES_MAX];
	ExecStatusType status;

	for (size_t i = 0; i < s->n_values; i++) {
		const struct db_value *v = &s->values[i];

		if (v->size > INT32_MAX / 2)
			return err_set(err, -EINVAL, "a value of %zu bytes", v->size);
		numbers[i] = htobe64((uint64_t)v->number);
		data[i] = v->kind == DB_INT ? (const char *)&numbers[i] : v->data;
		sizes[i] = v->kind == DB_INT ? (int)sizeof(numbers[i]) : (int)v->size;
		are_binary[i] = v->kind != DB_TEXT;
	}
	s->result = pq.PQexecPrepared(p->conn, s->name, (int)s->n_values, data, sizes,
				      are_binary, 0);
	status = pq.PQresultStatus(s->result);
	if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK) {
		PGresult *failed = s->result;

		s->result = NULL;
		return pg_fail(p, failed, s->sql, err);
	}
	p->changes = strtoll(pq.PQcmdTuples(s->result), NULL, 10);
	return 0;
}

int pg_step(struct db_row *row, struct err *err)
{
	struct pg_statement *s = statement_of(row);
	int r = s->at < 0 ? run(pg_of(row->db), s, err) : 0;

	if (r >= 0 && ++s->at < pq.PQntuples(s->result))
		return 1;
	pg_done(row);
	return r;
}

int64_t pg_get_int(const struct db_row *row, int column)
{
	const char *text = pg_get_text(row, column);

	if (text && (*text == 't' || *text == 'f'))
		return *text == 't';
	return text ? strtoll(text, NULL, 10) : 0;
}

const char *pg_get_text(const struct db_row *row, int column)
{
	const struct pg_statement *s = statement_of(row);

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
	const struct pg_statement *s = statement_of(row);

	return pq.PQgetisnull(s->result, s->at, column);
}
