/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_batch.c - ends a batch of imported jobs: writes its sums, and how far the file was read, with
 * the jobs in one transaction. See import/import.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/import/import_impl.h"
#include "controller/ledger/usage/rollup/rollup_write.h"

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
		r = rollup_write_set(i->s, i->sums, err);
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
