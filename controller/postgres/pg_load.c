/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_load.c - bulk loading and reading by COPY on a connection of its own. See pg_load.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"
#include "controller/postgres/pg_load.h"

#define COLUMNS_MAX 16 /* of a row that pg_load_rows() passes on */

struct pg_load {
	struct pg pg; /* without statements; for errors and pg_exec() */
	char *line;   /* of the COPY that is being read; libpq's */
};

/* The text format of COPY is compared byte by byte, so the settings that change it are fixed. */
static const char settings_sql[] =
	"SET synchronous_commit = off; SET client_encoding = 'UTF8';"
	"SET client_min_messages = warning; SET standard_conforming_strings = on;"
	"SET bytea_output = hex; SET lock_timeout = '5s';" PG_NOTICE_LOST_CLIENT;

static int read_place(struct pg_load *l, struct err *err)
{
	_cleanup_free_ char *schema = NULL;
	int r = pg_load_text(l, "SELECT current_schema()", &schema, err);

	if (r > 0)
		snprintf(l->pg.place, sizeof(l->pg.place), "%s on %s, schema %s",
			 pq.PQdb(l->pg.conn), pq.PQhost(l->pg.conn), schema);
	if (r == 0)
		r = err_set(err, -ENOENT,
			    "the schema that the ledger is to be in does not exist: create it "
			    "first (CREATE SCHEMA)");
	return r < 0 ? r : 0;
}

int pg_load_open(const char *place, struct pg_load **ret, struct err *err)
{
	_cleanup_(pg_load_closep) struct pg_load *l = NULL;
	int r = pq_load(err);

	if (r < 0)
		return r;
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	strcpy(l->pg.place, "PostgreSQL");
	l->pg.conn = pq.PQconnectdb(place);
	if (!l->pg.conn)
		return err_set(err, -ENOMEM, "out of memory");
	if (pq.PQstatus(l->pg.conn) != CONNECTION_OK)
		return err_set(err, -ECONNREFUSED, "open the ledger: %.*s",
			       (int)strcspn(pq.PQerrorMessage(l->pg.conn), "\n"),
			       pq.PQerrorMessage(l->pg.conn));
	r = pg_exec(&l->pg, settings_sql, err);
	if (r >= 0)
		r = read_place(l, err);
	if (r >= 0)
		r = pg_take_lock(&l->pg, err);
	if (r >= 0)
		*ret = TAKE_PTR(l);
	return r;
}

struct pg_load *pg_load_close(struct pg_load *l)
{
	if (!l)
		return NULL;
	pq.PQfreemem(l->line);
	pq.PQfinish(l->pg.conn);
	free(l);
	return NULL;
}

const char *pg_load_place(const struct pg_load *l)
{
	return l->pg.place;
}

int pg_load_exec(struct pg_load *l, const char *sql, struct err *err)
{
	return pg_exec(&l->pg, sql, err);
}

static int pass_row(PGresult *result, int at, pg_load_row_fn fn, void *ctx, struct err *err)
{
	const char *columns[COLUMNS_MAX];
	int n = pq.PQnfields(result);

	if (n > COLUMNS_MAX)
		return err_set(err, -EINVAL, "an answer of %d columns", n);
	for (int i = 0; i < n; i++)
		columns[i] =
			pq.PQgetisnull(result, at, i) ? NULL : pq.PQgetvalue(result, at, i);
	return fn(ctx, columns, err);
}

int pg_load_rows(struct pg_load *l, const char *sql, pg_load_row_fn fn, void *ctx,
		 struct err *err)
{
	PGresult *result = pq.PQexec(l->pg.conn, sql);
	int r = 0;

	if (pq.PQresultStatus(result) != PGRES_TUPLES_OK)
		return pg_fail(&l->pg, result, sql, err);
	for (int i = 0; i < pq.PQntuples(result) && r >= 0; i++)
		r = pass_row(result, i, fn, ctx, err);
	pq.PQclear(result);
	return r;
}

static int copy_first(void *ctx, const char *const *columns, struct err *err)
{
	char **ret = ctx;

	if (*ret || !columns[0])
		return 0;
	*ret = strdup(columns[0]);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int pg_load_text(struct pg_load *l, const char *sql, char **ret, struct err *err)
{
	char *text = NULL;
	int r = pg_load_rows(l, sql, copy_first, &text, err);

	if (r < 0)
		return r;
	*ret = text;
	return text != NULL;
}

/* ---- COPY ---- */

static int begin_copy(struct pg_load *l, const char *sql, ExecStatusType expected,
		      struct err *err)
{
	PGresult *result = pq.PQexec(l->pg.conn, sql);

	if (pq.PQresultStatus(result) != expected)
		return pg_fail(&l->pg, result, sql, err);
	pq.PQclear(result);
	return 0;
}

/* Reads the result of the whole COPY, and the NULL behind it. */
static int end_copy(struct pg_load *l, struct err *err)
{
	PGresult *result = pq.PQgetResult(l->pg.conn);

	if (pq.PQresultStatus(result) != PGRES_COMMAND_OK) {
		int r = pg_fail(&l->pg, result, "copying rows", err);

		pq.PQclear(pq.PQgetResult(l->pg.conn));
		return r;
	}
	pq.PQclear(result);
	pq.PQclear(pq.PQgetResult(l->pg.conn));
	return 0;
}

int pg_load_begin_copy(struct pg_load *l, const char *sql, struct err *err)
{
	return begin_copy(l, sql, PGRES_COPY_IN, err);
}

int pg_load_put(struct pg_load *l, const char *lines, size_t size, struct err *err)
{
	return pq.PQputCopyData(l->pg.conn, lines, (int)size) == 1
		       ? 0
		       : pg_fail(&l->pg, NULL, "copying rows", err);
}

int pg_load_end_copy(struct pg_load *l, struct err *err)
{
	if (pq.PQputCopyEnd(l->pg.conn, NULL) != 1)
		return pg_fail(&l->pg, NULL, "copying rows", err);
	return end_copy(l, err);
}

int pg_load_begin_read(struct pg_load *l, const char *sql, struct err *err)
{
	return begin_copy(l, sql, PGRES_COPY_OUT, err);
}

int pg_load_next(struct pg_load *l, const char **ret_line, size_t *ret_size, struct err *err)
{
	int n;

	pq.PQfreemem(l->line);
	l->line = NULL;
	n = pq.PQgetCopyData(l->pg.conn, &l->line, 0);
	if (n > 0) {
		*ret_line = l->line;
		*ret_size = (size_t)n;
		return 1;
	}
	/* -1: the last line has been read; -2: an error. */
	return n == -1 ? end_copy(l, err) : pg_fail(&l->pg, NULL, "reading rows", err);
}
