/* import_batch.c - ends a batch of imported jobs: writes its sums, and how far the file was read, with
 * the jobs in one transaction. See import/import.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/import/import_impl.h"

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

static int write_month(struct store_import *i, const struct month_sum *m, struct err *err)
{
	return m->key.association ? rollup_write_month(i->s->db, &m->key, &m->rollup, err) : 0;
}

/* Entries come in the order of compare_entries(). */
static int add_to_month(struct store_import *i, struct month_sum *m,
			const struct rollup_set_entry *e, struct err *err)
{
	const struct rollup_month key = {
		.association = rollup_set_association(i->sums, e->association)->id,
		.pool = e->pool,
		.month = calendar_month(e->day),
	};
	int r = 0;

	if (memcmp(&key, &m->key, sizeof(key)) != 0) {
		r = write_month(i, m, err);
		*m = (struct month_sum){ .key = key };
	}
	rollup_add(&m->rollup, &e->rollup);
	return r;
}

static int write_days(struct store_import *i, struct err *err)
{
	size_t n = rollup_set_size(i->sums);
	struct month_sum month = { .key = { 0 } };

	if (n)
		qsort(rollup_set_entry(i->sums, 0), n, sizeof(struct rollup_set_entry),
		      compare_entries);
	for (size_t at = 0; at < n; at++) {
		const struct rollup_set_entry *e = rollup_set_entry(i->sums, at);
		const struct rollup_set_association *a =
			rollup_set_association(i->sums, e->association);
		const struct rollup_key key = { a->cluster, a->account, a->user, e->pool,
						e->day };
		int r = rollup_write_day(i->s->db, &key, &e->rollup, err);

		if (r >= 0)
			r = add_to_month(i, &month, e, err);
		if (r < 0)
			return r;
	}
	return write_month(i, &month, err);
}

static int write_count(struct store_import *i, const struct store_import_count *c,
		       struct err *err)
{
	int r = db_run(i->s->db, err,
		       "UPDATE imports SET lines = ?2, rows = ?3, jobs = ?4, core_seconds = ?5,"
		       " conflicts = ?6, complete = ?7 WHERE id = ?1",
		       "iiiiiii", i->id, c->lines, c->rows, c->jobs, c->core_seconds,
		       c->conflicts, (int64_t)c->is_complete);

	for (enum history_why w = 0; w < _HISTORY_WHY_MAX && r >= 0; w++)
		if (c->rejected[w])
			r = db_run(i->s->db, err,
				   "INSERT INTO import_rejects(import, why, n, first_line)"
				   " VALUES(?1, ?2, ?3, ?4)"
				   " ON CONFLICT(import, why) DO UPDATE SET n = excluded.n,"
				   " first_line = excluded.first_line",
				   "itii", i->id, history_why_name(w), c->rejected[w],
				   c->first_line[w]);
	return r;
}

/* meta has the end of the last imported job, so that store_last_charge() does not read all jobs. */
static int write_until(struct store_import *i, struct err *err)
{
	struct db *db = i->s->db;
	struct db_row *st;
	int64_t was = 0;
	char text[24];
	int r = db_query_first(db, err, &st,
			       "SELECT value FROM meta WHERE key = 'imported_until_s'", "");

	if (r > 0)
		was = strtoll(store_text(st, 0), NULL, 10);
	if (r > 0)
		db_done(st);
	if (r < 0 || i->until_s <= was)
		return r;
	snprintf(text, sizeof(text), "%lld", (long long)i->until_s);
	return db_run(db, err,
		      "INSERT INTO meta(key, value) VALUES('imported_until_s', ?1)"
		      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		      "t", text);
}

int store_import_commit(struct store_import *i, const struct store_import_count *count,
			struct err *err)
{
	int r = store_import_begin(i, err);

	if (r >= 0)
		r = store_import_settle(i, err);
	if (r >= 0)
		r = write_days(i, err);
	if (r >= 0)
		r = write_until(i, err);
	if (r >= 0)
		r = write_count(i, count, err);
	if (r < 0)
		return r;
	i->origin = 0; /* the next batch looks again whether the cluster has jobs of Slurm */
	i->is_begun = false; /* a commit that failed is rolled back */
	r = db_commit(i->s->db, err);
	if (r >= 0)
		rollup_set_clear(i->sums);
	return r;
}
