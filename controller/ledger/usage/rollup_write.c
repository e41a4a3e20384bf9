/* rollup_write.c - adds usage to a day, its month and the totals; days and months of a set of sums in the order of their keys. See rollup_write.h. */
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup_write.h"
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

static int write_month(struct db *db, const struct month_sum *m, struct err *err)
{
	return m->key.association ? rollup_write_month(db, &m->key, &m->rollup, err) : 0;
}

/* Entries come in the order of compare_entries(). */
static int add_to_month(struct db *db, struct month_sum *m, const struct rollup_month *key,
			const struct rollup *more, struct err *err)
{
	int r = 0;

	if (memcmp(key, &m->key, sizeof(*key)) != 0) {
		r = write_month(db, m, err);
		*m = (struct month_sum){ .key = *key };
	}
	rollup_add(&m->rollup, more);
	return r;
}

/* All ids before the first sum: a question between the sums would wait for the answers of those that were sent. */
static int find_associations(struct db *db, struct rollup_set *set, size_t n, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		struct rollup_set_association *a =
			rollup_set_association(set, rollup_set_entry(set, i)->association);
		const struct rollup_key key = { a->cluster, a->account, a->user, 0, 0 };

		if (!a->id)
			r = rollup_association(db, &key, &a->id, err);
	}
	return r;
}

int rollup_write_set(struct store *s, struct rollup_set *set, struct err *err)
{
	struct db *db = s->db;
	size_t n = rollup_set_size(set);
	struct month_sum month = { .key = { 0 } };
	int r = find_associations(db, set, n, err);

	if (n)
		qsort(rollup_set_entry(set, 0), n, sizeof(struct rollup_set_entry),
		      compare_entries);
	for (size_t at = 0; at < n && r >= 0; at++) {
		const struct rollup_set_entry *e = rollup_set_entry(set, at);
		const struct rollup_set_association *a =
			rollup_set_association(set, e->association);
		const struct rollup_key day = { a->cluster, a->account, a->user, e->pool,
						e->day };
		const struct rollup_month key = { a->id, e->pool, calendar_month(e->day) };

		r = rollup_write_day(db, &day, &e->rollup, err);
		if (r >= 0)
			r = totals_add(s, &day, &e->rollup, err);
		if (r >= 0)
			r = add_to_month(db, &month, &key, &e->rollup, err);
	}
	return r < 0 ? r : write_month(db, &month, err);
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
