/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_admin.h - statements to the PostgreSQL of the test, beside what is tested. */
#pragma once
#include <libpq-fe.h>

static void pg_admin(const char *sql)
{
	PGconn *c = PQconnectdb(getenv("REEVE_TEST_POSTGRES"));
	PGresult *r = PQexec(c, sql);

	if (PQresultStatus(r) != PGRES_COMMAND_OK && PQresultStatus(r) != PGRES_TUPLES_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	PQclear(r);
	PQfinish(c);
}
