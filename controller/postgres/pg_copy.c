/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_copy.c - adds rows to one table by COPY in its binary form: a stream of rows, for which the server parses and plans no
 * statement; rows that may be there are sent as arrays. See pg_impl.h. */
#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

#define SENT_TOGETHER (64 * 1024) /* bytes */
#define MANY_ROWS 64		  /* a stream of so many is worth the wait for its answers */
#define FEW_ROWS                                                                               \
	3 /* an array for each column costs what a statement for each of so many rows does */

/* "INSERT INTO t(a, b) VALUES($1, $2)", with the parameters in order, as "COPY t(a, b) FROM STDIN". *ret is malloc()ed. */
static int make_copy_sql(const char *sql, size_t n_columns, char **ret, struct err *err)
{
	static const char insert[] = "INSERT INTO ";
	char values[DB_VALUES_MAX * 8];
	const char *at;
	int n = sprintf(values, " VALUES(");

	for (size_t i = 0; i < n_columns; i++)
		n += sprintf(values + n, "%s$%zu", i ? ", " : "", i + 1);
	sprintf(values + n, ")");
	at = strstr(sql, " VALUES(");
	if (strncmp(sql, insert, strlen(insert)) != 0 || !at || strcmp(at, values) != 0)
		return err_set(err, -EINVAL, "rows cannot be copied by: %s", sql);
	if (asprintf(ret, "COPY %.*s FROM STDIN (FORMAT binary)",
		     (int)(at - sql - (ptrdiff_t)strlen(insert)), sql + strlen(insert)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* Bytes on their way to the server. */
struct copy {
	struct pg *p;
	size_t n;
	char bytes[SENT_TOGETHER];
};

static int send_bytes(struct copy *c, const char *bytes, size_t n, struct err *err)
{
	if (pq.PQputCopyData(c->p->conn, bytes, (int)n) == 1)
		return 0;
	return pg_fail(c->p, NULL, "copying rows", err);
}

static int flush_copy(struct copy *c, struct err *err)
{
	size_t n = c->n;

	c->n = 0;
	return n ? send_bytes(c, c->bytes, n, err) : 0;
}

static int put_bytes(struct copy *c, const void *bytes, size_t n, struct err *err)
{
	int r = c->n + n > sizeof(c->bytes) ? flush_copy(c, err) : 0;

	if (r < 0 || n > sizeof(c->bytes))
		return r < 0 ? r : send_bytes(c, bytes, n, err);
	memcpy(c->bytes + c->n, bytes, n);
	c->n += n;
	return 0;
}

static int put_int16(struct copy *c, int16_t number, struct err *err)
{
	uint16_t n = htobe16((uint16_t)number);

	return put_bytes(c, &n, sizeof(n), err);
}

/* A length of -1 is NULL. */
static int put_length(struct copy *c, int32_t length, struct err *err)
{
	uint32_t n = htobe32((uint32_t)length);

	return put_bytes(c, &n, sizeof(n), err);
}

static int put_value(struct copy *c, const struct db_value *v, struct err *err)
{
	uint64_t number = htobe64((uint64_t)v->number);
	bool is_null = v->kind == DB_NULL || (v->kind == DB_TEXT && !v->data);
	size_t size = v->kind == DB_INT ? sizeof(number) : v->size;
	int r;

	if (v->kind == DB_BLOB || size > INT32_MAX / 2)
		return err_set(err, -EINVAL, "a value that cannot be copied");
	r = put_length(c, is_null ? -1 : (int32_t)size, err);
	if (r < 0 || is_null)
		return r;
	return put_bytes(c, v->kind == DB_INT ? (const void *)&number : v->data, size, err);
}

/* The head is a signature, no flags and no extension; a row is the number of its columns and for each a length and the value;
 * -1 in the place of a row ends it. */
static int put_rows(struct copy *c, const struct db_table *t, struct err *err)
{
	static const char head[19] = "PGCOPY\n\377\r\n";
	int r = put_bytes(c, head, sizeof(head), err);

	for (size_t i = 0; i < t->n_rows && r >= 0; i++) {
		r = put_int16(c, (int16_t)t->n_columns, err);
		for (size_t k = 0; k < t->n_columns && r >= 0; k++)
			r = put_value(c, &t->v[i * t->n_columns + k], err);
	}
	if (r >= 0)
		r = put_int16(c, -1, err);
	return r < 0 ? r : flush_copy(c, err);
}

/* `r`: of the rows; below 0 the server drops what it was sent. */
static int end_copy(struct pg *p, const char *sql, int r, struct err *err)
{
	PGresult *result;
	bool has_ended = pq.PQputCopyEnd(p->conn, r < 0 ? "the rows were given up" : NULL) == 1;

	if (!has_ended)
		return r < 0 ? r : pg_fail(p, NULL, sql, err);
	result = pq.PQgetResult(p->conn);
	if (r >= 0 && pq.PQresultStatus(result) != PGRES_COMMAND_OK)
		r = pg_fail(p, result, sql, err);
	else
		pq.PQclear(result);
	pq.PQclear(pq.PQgetResult(p->conn));
	return r;
}

static int copy_rows(struct pg *p, const char *sql, const struct db_table *rows,
		     struct err *err)
{
	_cleanup_free_ struct copy *c = malloc(sizeof(*c));
	PGresult *result;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->p = p;
	c->n = 0;
	result = pq.PQexec(p->conn, sql);
	if (pq.PQresultStatus(result) != PGRES_COPY_IN)
		return pg_fail(p, result, sql, err);
	pq.PQclear(result);
	return end_copy(p, sql, put_rows(c, rows, err), err);
}

/* ---- rows that may be there ---- */

/* A statement for each, sent ahead. */
static int send_each(struct db *d, const char *sql, const struct db_table *rows,
		     struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < rows->n_rows && r >= 0; i++) {
		const struct db_values one = { rows->v + i * rows->n_columns, rows->n_columns };
		struct db_row *row;

		r = pg_query(d, sql, &one, &row, err);
		if (r >= 0)
			r = pg_send(row, NULL, err);
	}
	return r;
}

int pg_add_rows(struct db *d, const char *sql, const struct db_table *rows, struct err *err)
{
	_cleanup_free_ char *here = NULL, *copy = NULL;
	bool may_be_there = strstr(sql, ") ON CONFLICT(") || strncmp(sql, "UPDATE ", 7) == 0;
	bool are_few = rows->are_new && rows->n_rows < MANY_ROWS;
	struct pg *p = pg_of(d);
	int r;

	if (may_be_there || are_few)
		return (rows->n_rows < FEW_ROWS ? send_each : pg_array_send)(d, sql, rows, err);
	r = pg_settle(p, err);
	if (r >= 0)
		r = pg_revive(p, err);
	if (r >= 0)
		r = pg_translate(sql, &here, err);
	if (r >= 0)
		r = make_copy_sql(here, rows->n_columns, &copy, err);
	return r < 0 ? r : copy_rows(p, copy, rows, err);
}
