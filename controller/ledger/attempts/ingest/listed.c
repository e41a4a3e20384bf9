/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listed.c - reads the open attempts and parts of a node; see listed.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/ingest/listed.h"
#include "controller/ledger/sql.h"

/* The columns of both halves of listed_sql. */
enum listed_column {
	LISTED_JOB,
	LISTED_ATTEMPT,
	LISTED_MISSING_NS,
	LISTED_PART,
	LISTED_STATE,
	LISTED_SHOWN,
};
static const char listed_sql[] =
	"SELECT job, attempt, missing_ns, 0, state, shown FROM attempts"
	" WHERE node = ?1 AND closed = " SQL_STORE_OPEN
	" UNION ALL SELECT job, attempt, missing_ns, part, state, shown FROM parts"
	" WHERE node = ?1 AND closed = " SQL_STORE_OPEN " AND part > 0";

static int compare_rows(const void *a, const void *b)
{
	const struct store_listed *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

static int add_row(struct db_row *st, struct store_listed **rows, size_t n, struct err *err)
{
	/* room: 16, and doubled at each power of two from there on */
	bool is_full = n == 0 || (n >= 16 && (n & (n - 1)) == 0);
	struct store_listed *more = *rows;

	if (is_full)
		more = reallocarray(*rows, n ? 2 * n : 16, sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	*rows = more;
	more[n] = (struct store_listed){ .job = db_int(st, LISTED_JOB),
					 .missing_ns = db_int(st, LISTED_MISSING_NS),
					 .attempt = (int32_t)db_int(st, LISTED_ATTEMPT),
					 .part = (int32_t)db_int(st, LISTED_PART),
					 .state = (enum job_state)(int)db_int(st, LISTED_STATE),
					 .is_shown = db_int(st, LISTED_SHOWN) != 0 };
	return 0;
}

int store_listed_ask(struct store *s, const char *node, struct err *err)
{
	return db_ask(s->db, err, listed_sql, "t", node);
}

int store_listed_load(struct store *s, const char *node, struct store_listed **ret,
		      size_t *ret_n, struct err *err)
{
	_cleanup_free_ struct store_listed *rows = NULL;
	struct db_row *st;
	size_t n = 0;
	int r = db_query(s->db, err, &st, listed_sql, "t", node);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = add_row(st, &rows, n, err);
		if (r < 0)
			db_done(st);
		n++;
	}
	if (r < 0)
		return r;
	if (n)
		qsort(rows, n, sizeof(*rows), compare_rows);
	*ret = TAKE_PTR(rows);
	*ret_n = n;
	return 0;
}

bool store_listed_is_known(const struct store_listed *rows, size_t n, const struct sync_job *j)
{
	const struct store_listed key = { .job = j->job, .attempt = j->attempt }, *row;

	row = n ? bsearch(&key, rows, n, sizeof(key), compare_rows) : NULL;
	return row && row->is_shown && !row->missing_ns && row->state == j->state;
}
