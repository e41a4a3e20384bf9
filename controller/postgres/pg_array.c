/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_array.c - rows as an array for each column, so that one statement inserts them all. See pg_impl.h. */
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

#define TYPE_TEXT 25
#define TYPE_INT8_ARRAY 1016
#define TYPE_TEXT_ARRAY 1009
#define HEAD_SIZE 20
#define LENGTH_SIZE 4

static char *put_uint32(char *to, uint32_t n)
{
	n = htobe32(n);
	return (char *)memcpy(to, &n, sizeof(n)) + sizeof(n);
}

/* A number or a text; a text without data is NULL. */
static char *put_value(char *to, const struct db_value *v)
{
	uint64_t number = htobe64((uint64_t)v->number);
	bool is_null = v->kind == DB_NULL || (v->kind == DB_TEXT && !v->data);
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
static bool is_text(const struct db_table *t, size_t column)
{
	const struct db_value *v = &t->v[column], *end = v + t->n_rows * t->n_columns;

	while (v + t->n_columns < end && v->kind == DB_NULL)
		v += t->n_columns;
	return v->kind == DB_TEXT;
}

int pg_array_sql(const char *sql, const struct db_table *t, char **ret, struct err *err)
{
	static const char insert[] = "INSERT INTO ";
	char values[DB_VALUES_MAX * 8], arrays[DB_VALUES_MAX * 16];
	int n_values = sprintf(values, " VALUES("), n_arrays = 0;
	const char *at;

	*ret = NULL;
	for (size_t i = 0; i < t->n_columns; i++) {
		n_values += sprintf(values + n_values, "%s$%zu", i ? ", " : "", i + 1);
		n_arrays += sprintf(arrays + n_arrays, "%s$%zu::%s[]", i ? ", " : "", i + 1,
				    is_text(t, i) ? "text" : "bigint");
	}
	strcpy(values + n_values, ")");
	at = strstr(sql, values);
	if (strncmp(sql, insert, strlen(insert)) != 0 || !at)
		return 0;
	if (asprintf(ret, "%.*s SELECT * FROM unnest(%s)%s", (int)(at - sql), sql, arrays,
		     at + strlen(values)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int pg_array_run(struct pg *p, const char *sql, const struct db_table *t, size_t *ret_n,
		 struct err *err)
{
	int sizes[DB_VALUES_MAX], are_binary[DB_VALUES_MAX];
	const char *data[DB_VALUES_MAX];
	_cleanup_free_ char *bytes = NULL;
	Oid types[DB_VALUES_MAX];
	PGresult *result;
	size_t room = 0;
	char *to;

	for (size_t i = 0; i < t->n_columns; i++)
		room += room_of_column(t, i);
	bytes = room > INT32_MAX / 2 ? NULL : malloc(room);
	if (!bytes)
		return err_set(err, -ENOMEM, "no memory for %zu rows", t->n_rows);
	to = bytes;
	for (size_t i = 0; i < t->n_columns; i++) {
		data[i] = to;
		to = put_column(to, t, i, is_text(t, i) ? TYPE_TEXT : PG_TYPE_INT8);
		sizes[i] = (int)(to - data[i]);
		are_binary[i] = 1;
		types[i] = is_text(t, i) ? TYPE_TEXT_ARRAY : TYPE_INT8_ARRAY;
	}
	result = pq.PQexecParams(p->conn, sql, (int)t->n_columns, types, data, sizes,
				 are_binary, 0);
	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		return pg_fail(p, result, sql, err);
	*ret_n = (size_t)strtoll(pq.PQcmdTuples(result), NULL, 10);
	pq.PQclear(result);
	return 0;
}
