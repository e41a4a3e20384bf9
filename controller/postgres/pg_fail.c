/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_fail.c - errors of the server and of libpq. See pg_impl.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

/* By the first entry that the SQLSTATE begins with: an entry of two characters is a class. */
static int errno_of(const char *sqlstate)
{
	static const struct {
		const char *start;
		int error;
	} table[] = {
		{ "23505", -EEXIST }, { "23", -EINVAL },    { "22", -EINVAL },
		{ "53100", -ENOSPC }, { "53200", -ENOMEM }, { "40", -EBUSY },
		{ "55P03", -EBUSY },  { "28", -EACCES },    { "42501", -EACCES },
		{ "3D", -ENOENT },    { "3F", -ENOENT },    { "XX001", -EBADMSG },
	};

	for (size_t i = 0; sqlstate && i < ARRAY_LEN(table); i++)
		if (strncmp(sqlstate, table[i].start, strlen(table[i].start)) == 0)
			return table[i].error;
	return -EIO;
}

int pg_first_line(const char *text)
{
	return (int)strcspn(text, "\n");
}

int pg_fail(struct pg *p, PGresult *result, const char *what, struct err *err)
{
	const char *said = pq.PQresultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
	const char *state = pq.PQresultErrorField(result, PG_DIAG_SQLSTATE);
	int r = errno_of(state);

	if (!said)
		said = pq.PQerrorMessage(p->conn);
	r = err_set(err, r, "%s, database %s: %.*s%s%s", what, p->place, pg_first_line(said),
		    said, state ? ", SQLSTATE " : "", state ? state : "");
	pq.PQclear(result);
	return r;
}
