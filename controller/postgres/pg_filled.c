/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_filled.c - where a connection leads to, and whether a ledger there is whole. See pg_impl.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

void pg_place(PGconn *conn, char *ret, size_t size)
{
	PGresult *result = pq.PQexec(conn, "SELECT current_schema()");
	bool has_schema =
		pq.PQresultStatus(result) == PGRES_TUPLES_OK && !pq.PQgetisnull(result, 0, 0);

	snprintf(ret, size, "%s on %s%s%s", pq.PQdb(conn), pq.PQhost(conn),
		 has_schema ? ", schema " : "", has_schema ? pq.PQgetvalue(result, 0, 0) : "");
	pq.PQclear(result);
}

static int fail_look(PGconn *conn, PGresult *result, struct err *err)
{
	const char *said = pq.PQerrorMessage(conn);

	pq.PQclear(result);
	return err_set(err, -EIO, "looking for a migration: %.*s", (int)strcspn(said, "\n"),
		       said);
}

static int refuse_unfinished(PGconn *conn, const char *source, struct err *err)
{
	char place[256];

	pg_place(conn, place, sizeof(place));
	return err_set(err, -EBUSY,
		       "database %s: the migration of %.200s into it has not finished: run "
		       "reeve admin migrate again",
		       place, source);
}

int pg_check_filled(PGconn *conn, struct err *err)
{
	PGresult *result = pq.PQexec(conn, "SELECT to_regclass('reeve_migration') IS NULL");
	bool has_marker;
	int r = 0;

	if (pq.PQresultStatus(result) != PGRES_TUPLES_OK)
		return fail_look(conn, result, err);
	has_marker = pq.PQgetvalue(result, 0, 0)[0] == 'f';
	pq.PQclear(result);
	if (!has_marker)
		return 0;
	result = pq.PQexec(conn, "SELECT source FROM reeve_migration WHERE NOT is_done");
	if (pq.PQresultStatus(result) != PGRES_TUPLES_OK)
		return fail_look(conn, result, err);
	if (pq.PQntuples(result))
		r = refuse_unfinished(conn, pq.PQgetvalue(result, 0, 0), err);
	pq.PQclear(result);
	return r;
}
