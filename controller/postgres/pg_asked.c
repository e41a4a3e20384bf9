/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pg_asked.c - sends queries ahead. See db_ask() and pg_impl.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/postgres/pg_impl.h"

int pg_ask(struct db *d, const char *sql, const struct db_values *values, struct err *err)
{
	struct pg *p = pg_of(d);
	struct pg_asked *a;
	struct db_row *row;
	int r;

	if (!p->has_lock) /* not in a transaction */
		return 0;
	a = pg_new_asked(sql, values);
	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	r = pg_query(d, sql, values, &row, err);
	if (r >= 0)
		r = pg_send(row, a, err);
	if (r < 0)
		pg_free_asked(a);
	else
		pg_add_asked(p, a);
	return r;
}
