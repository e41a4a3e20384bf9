/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspended.c - finds jobs that their owners suspended. See attempts/suspended.h. */
#include "controller/ledger/attempts/suspended.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

int store_suspended(struct store *s, int64_t before_ns, int64_t *ret, int max, struct err *err)
{
	struct db_row *st;
	int n = 0;
	int r = db_query(
		s->db, err, &st,
		"SELECT job FROM jobs WHERE owner_suspended_ns > 0 AND state < " SQL_JOB_ENDED
		" AND owner_suspended_ns <= ?1 AND want = " SQL_DESIRED_SUSPEND
		" ORDER BY owner_suspended_ns LIMIT ?2",
		"ii", before_ns, (int64_t)max);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		ret[n++] = db_int(st, 0);
	return r < 0 ? r : n;
}
