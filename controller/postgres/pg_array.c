/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_array.c - rows as an array for each column, so that one statement inserts or changes them all. See pg_impl.h. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

#define HEAD_SIZE 20
#define LENGTH_SIZE 4

/* By the kind of a column's values; pg_type.oid of an element and of its array. */
static const struct {
	Oid element, array;
	const char *name;
} types[] = {
	[DB_NULL] = { PG_TYPE_INT8, 1016, "bigint" },
	[DB_INT] = { PG_TYPE_INT8, 1016, "bigint" },
	[DB_TEXT] = { PG_TYPE_TEXT, 1009, "text" },
	[DB_BLOB] = { PG_TYPE_BYTEA, 1001, "bytea" },
};

static char *put_uint32(char *to, uint32_t n)
{
	n = htobe32(n);
	return (char *)memcpy(to, &n, sizeof(n)) + sizeof(n);
}

/* A text or a blob without data is NULL. */
static char *put_value(char *to, const struct db_value *v)
{
	uint64_t number = htobe64((uint64_t)v->number);
	bool is_null = v->kind == DB_NULL || (v->kind != DB_INT && !v->data);
	size_t size = v->kind == DB_INT ? sizeof(number) : v->size;

	if (is_null)
		return put_uint32(to, (uint32_t)-1);
	to = put_uint32(to, (uint32_t)size);
	if (size)
		memcpy(to, v->kind == DB_INT ? (const void *)&number : v->data, size);
	return to + size;
}

static size_t room_of_column(const struct db_table *t, size_t column)
{
	size_t n = HEAD_SIZE;

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct db_value *v = &t->v[i * t->n_columns + column];

		n += LENGTH_SIZE + (v->kind == DB_INT ? sizeof(uint64_t) : v->size);
	}
	return n;
}

/* Writes a column in PostgreSQL's binary form of an array (array_send()): a head of five numbers, then for each element its
 * size, -1 for NULL, and its bytes. Returns where it ends. */
static char *put_column(char *to, const struct db_table *t, size_t column, Oid type)
{
	to = put_uint32(to, 1); /* dimensions */
	to = put_uint32(to, 1); /* some elements may be NULL */
	to = put_uint32(to, type);
	to = put_uint32(to, (uint32_t)t->n_rows);
	to = put_uint32(to, 1); /* the index of the first element */
	for (size_t i = 0; i < t->n_rows; i++)
		to = put_value(to, &t->v[i * t->n_columns + column]);
	return to;
}

/* The kind of a column is that of its first value that is not NULL. */
static enum db_kind kind_of(const struct db_table *t, size_t column)
{
	const struct db_value *v = &t->v[column], *end = v + t->n_rows * t->n_columns;

	while (v + t->n_columns < end && v->kind == DB_NULL)
		v += t->n_columns;
	return v->kind;
}

/* ---- the statement ---- */

#define VALUES_MAX (DB_VALUES_MAX * 8)
#define ARRAYS_MAX (DB_VALUES_MAX * 16)

/* "$1::bigint[], $2::text[]" */
static void format_arrays(const struct db_table *t, char ret[static ARRAYS_MAX])
{
	int n = 0;

	for (size_t i = 0; i < t->n_columns; i++)
		n += sprintf(ret + n, "%s$%zu::%s[]", i ? ", " : "", i + 1,
			     types[kind_of(t, i)].name);
}

static int make_insert(const char *sql, const struct db_table *t, char **ret, struct err *err)
{
	char values[VALUES_MAX], arrays[ARRAYS_MAX];
	int n = sprintf(values, " VALUES(");
	const char *at;

	for (size_t i = 0; i < t->n_columns; i++)
		n += sprintf(values + n, "%s$%zu", i ? ", " : "", i + 1);
	strcpy(values + n, ")");
	at = strstr(sql, values);
	if (!at)
		return 0;
	format_arrays(t, arrays);
	if (asprintf(ret, "%.*s SELECT * FROM unnest(%s)%s", (int)(at - sql), sql, arrays,
		     at + strlen(values)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Parameters become columns of v. */
static void print_columns(FILE *f, const char *from, const char *to)
{
	for (; from < to; from++)
		if (*from == '$')
			fputs("v.c", f);
		else
			fputc(*from, f);
}

static int make_update(const char *sql, const struct db_table *t, char **ret, struct err *err)
{
	const char *where = strstr(sql, " WHERE ");
	_cleanup_free_ char *text = NULL;
	char arrays[ARRAYS_MAX];
	size_t size = 0;
	FILE *f;

	if (!where || strstr(where + 1, " WHERE ") || strchr(sql, '\''))
		return 0;
	f = open_memstream(&text, &size);
	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	format_arrays(t, arrays);
	print_columns(f, sql, where);
	fprintf(f, " FROM unnest(%s) AS v(", arrays);
	for (size_t i = 0; i < t->n_columns; i++)
		fprintf(f, "%sc%zu", i ? ", " : "", i + 1);
	fputc(')', f);
	print_columns(f, where, where + strlen(where));
	if (fclose(f) != 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(text);
	return 0;
}

int pg_array_sql(const char *sql, const struct db_table *t, char **ret, struct err *err)
{
	*ret = NULL;
	if (strncmp(sql, "INSERT INTO ", 12) == 0)
		return make_insert(sql, t, ret, err);
	return strncmp(sql, "UPDATE ", 7) == 0 ? make_update(sql, t, ret, err) : 0;
}

/* ---- its values ---- */

struct columns {
	char *bytes; /* malloc()ed */
	const char *data[DB_VALUES_MAX];
	int sizes[DB_VALUES_MAX], are_binary[DB_VALUES_MAX];
	Oid types[DB_VALUES_MAX];
};

static int make_columns(const struct db_table *t, struct columns *ret, struct err *err)
{
	size_t room = 0;
	char *to;

	for (size_t i = 0; i < t->n_columns; i++)
		room += room_of_column(t, i);
	ret->bytes = room > INT32_MAX / 2 ? NULL : malloc(room);
	if (!ret->bytes)
		return err_set(err, -ENOMEM, "no memory for %zu rows", t->n_rows);
	to = ret->bytes;
	for (size_t i = 0; i < t->n_columns; i++) {
		enum db_kind kind = kind_of(t, i);

		ret->data[i] = to;
		to = put_column(to, t, i, types[kind].element);
		ret->sizes[i] = (int)(to - ret->data[i]);
		ret->are_binary[i] = 1;
		ret->types[i] = types[kind].array;
	}
	return 0;
}

int pg_array_run(struct pg *p, const char *sql, const struct db_table *t, size_t *ret_n,
		 struct err *err)
{
	struct columns c;
	PGresult *result;
	int r = make_columns(t, &c, err);

	if (r < 0)
		return r;
	result = pq.PQexecParams(p->conn, sql, (int)t->n_columns, c.types, c.data, c.sizes,
				 c.are_binary, 0);
	free(c.bytes);
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, sql, err);
	*ret_n = (size_t)strtoll(pq.PQcmdTuples(result), NULL, 10);
	pq.PQclear(result);
	return 0;
}

/* ---- prepared, and sent ahead ---- */

struct pg_arrays {
	struct pg_arrays *next;
	const char *sql; /* the ledger's: its address identifies the statement */
	char name[24];
	int generation; /* of the connection it is prepared on */
};

static int find_arrays(struct pg *p, const char *sql, struct pg_arrays **ret, struct err *err)
{
	struct pg_arrays **at = &p->arrays;
	int n = 0;

	for (; *at && (*at)->sql != sql; at = &(*at)->next)
		n++;
	if (!*at) {
		*at = calloc(1, sizeof(**at));
		if (!*at)
			return err_set(err, -ENOMEM, "out of memory");
		(*at)->sql = sql;
		snprintf((*at)->name, sizeof((*at)->name), "a%d", n);
	}
	*ret = *at;
	return 0;
}

void pg_array_forget(struct pg *p)
{
	while (p->arrays) {
		struct pg_arrays *next = p->arrays->next;

		free(p->arrays);
		p->arrays = next;
	}
}

static int prepare_arrays(struct pg *p, struct pg_arrays *a, const struct db_table *t,
			  const Oid *of, struct err *err)
{
	_cleanup_free_ char *here = NULL, *arrays = NULL;
	PGresult *result;
	int r = pg_settle(p, err);

	if (r >= 0)
		r = pg_translate(a->sql, &here, err);
	if (r >= 0)
		r = pg_array_sql(here, t, &arrays, err);
	if (r >= 0 && !arrays)
		r = err_set(err, -EINVAL, "rows cannot be written together by: %s", a->sql);
	if (r < 0)
		return r;
	result = pq.PQprepare(p->conn, a->name, arrays, (int)t->n_columns, of);
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, arrays, err);
	pq.PQclear(result);
	a->generation = p->generation;
	return 0;
}

static int send_arrays(struct pg *p, struct pg_arrays *a, const struct db_table *t,
		       const struct columns *c, struct err *err)
{
	int r = a->generation == p->generation ? 0 : prepare_arrays(p, a, t, c->types, err);

	if (r >= 0)
		r = pg_enter_pipeline(p, err);
	if (r >= 0 && !pq.PQsendQueryPrepared(p->conn, a->name, (int)t->n_columns, c->data,
					      c->sizes, c->are_binary, 0))
		r = pg_fail(p, NULL, a->sql, err);
	if (r >= 0)
		pg_note_sent(p, NULL);
	return r;
}

int pg_array_send(struct db *d, const char *sql, const struct db_table *t, struct err *err)
{
	struct pg *p = pg_of(d);
	struct pg_arrays *a = NULL;
	struct columns c;
	int r = pg_revive(p, err);

	if (r >= 0)
		r = find_arrays(p, sql, &a, err);
	if (r >= 0)
		r = make_columns(t, &c, err);
	if (r < 0)
		return r;
	r = send_arrays(p, a, t, &c, err);
	free(c.bytes);
	return r;
}
