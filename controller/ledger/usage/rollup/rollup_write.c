/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_write.c - adds usage to a day, its month and the totals; days and months of a set of sums in the order of their keys. See rollup_write.h. */
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_find.h"
#include "controller/ledger/usage/rollup/rollup_write.h"
#include "controller/ledger/usage/totals/totals.h"

static int compare_entries(const void *a, const void *b)
{
	const struct rollup_set_entry *x = a, *y = b;

	if (x->association != y->association)
		return x->association < y->association ? -1 : 1;
	if (x->pool != y->pool)
		return x->pool < y->pool ? -1 : 1;
	return (x->day > y->day) - (x->day < y->day);
}

/* The month that is being added up: written when the next one begins, or at the end. */
struct month_sum {
	struct rollup_month key;
	struct rollup rollup;
};

struct writing {
	struct store *s;
	struct rollup_set *set;
	struct rollup_rows rows;
	struct month_sum month;
};

static int write_month(struct writing *w, struct err *err)
{
	return w->month.key.association ? rollup_rows_month(&w->rows, w->s->db, &w->month.key,
							    &w->month.rollup, err)
					: 0;
}

/* Entries come in the order of compare_entries(). */
static int add_to_month(struct writing *w, const struct rollup_month *key,
			const struct rollup *more, struct err *err)
{
	int r = 0;

	if (memcmp(key, &w->month.key, sizeof(*key)) != 0) {
		r = write_month(w, err);
		w->month = (struct month_sum){ .key = *key };
	}
	rollup_add(&w->month.rollup, more);
	return r;
}

static int add_entry(struct writing *w, const struct rollup_set_entry *e, struct err *err)
{
	const struct rollup_set_association *a = rollup_set_association(w->set, e->association);
	const struct rollup_key day = { a->cluster, a->account, a->user, e->pool, e->day };
	const struct rollup_month key = { a->id, e->pool, calendar_month(e->day) };
	int r = rollup_rows_day(&w->rows, w->s->db, &day, &e->rollup, err);

	if (r >= 0)
		r = totals_add(w->s, &day, &e->rollup, err);
	return r < 0 ? r : add_to_month(w, &key, &e->rollup, err);
}

int rollup_write_set(struct store *s, struct rollup_set *set, struct err *err)
{
	struct writing w = { .s = s, .set = set, .rows = rollup_rows() };
	size_t n = rollup_set_size(set);
	int r = rollup_find_associations(s->db, set, err);

	if (n)
		qsort(rollup_set_entry(set, 0), n, sizeof(struct rollup_set_entry),
		      compare_entries);
	for (size_t at = 0; at < n && r >= 0; at++)
		r = add_entry(&w, rollup_set_entry(set, at), err);
	if (r >= 0)
		r = write_month(&w, err);
	if (r >= 0)
		r = rollup_rows_write(&w.rows, s->db, err);
	rollup_rows_done(&w.rows);
	return r;
}

int rollup_write(struct store *s, const struct rollup_key *k, const struct rollup *r,
		 struct err *err)
{
	struct rollup_month m = { .pool = k->pool, .month = calendar_month(k->day) };
	int n = rollup_association(s->db, k, &m.association, err);

	if (n >= 0)
		n = rollup_write_day(s->db, k, r, err);
	if (n >= 0)
		n = rollup_write_month(s->db, &m, r, err);
	return n < 0 ? n : totals_add(s, k, r, err);
}
