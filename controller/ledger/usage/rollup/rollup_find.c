/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_find.c - looks associations up, and makes the missing ones. See rollup_find.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/db/db.h"
#include "common/err.h"
#include "controller/ledger/usage/rollup/rollup_find.h"

#define SOME 12 /* associations of one question */
#define NAMES 3

/* Each is looked up by the key of the table: SQLite reads all of it for "(cluster, account, user) IN (VALUES ...)". */
static const char find_sql[] =
	"WITH w(c, a, u) AS (VALUES (?1, ?2, ?3), (?4, ?5, ?6), (?7, ?8, ?9),"
	" (?10, ?11, ?12), (?13, ?14, ?15), (?16, ?17, ?18), (?19, ?20, ?21),"
	" (?22, ?23, ?24), (?25, ?26, ?27), (?28, ?29, ?30), (?31, ?32, ?33),"
	" (?34, ?35, ?36)) SELECT t.id, t.cluster, t.account, t.user FROM w"
	" CROSS JOIN associations t ON t.cluster = w.c AND t.account = w.a AND t.user = w.u";

enum column { ID, CLUSTER, ACCOUNT, USER };

/* Those without an id, each once. */
struct wanted {
	struct rollup_set *set;
	int32_t *of; /* indices in the set */
	size_t n;
};

static void list_wanted(struct wanted *w)
{
	size_t n = rollup_set_size(w->set);

	w->n = 0;
	for (size_t i = 0; i < n; i++) {
		int32_t at = rollup_set_entry(w->set, i)->association;
		struct rollup_set_association *a = rollup_set_association(w->set, at);

		if (a->id)
			continue;
		a->id = -1; /* listed */
		w->of[w->n++] = at;
	}
	for (size_t i = 0; i < w->n; i++)
		rollup_set_association(w->set, w->of[i])->id = 0;
}

/* The last one fills the places that are left. */
static void name_some(const struct wanted *w, size_t first, const char *names[SOME * NAMES])
{
	for (size_t i = 0; i < SOME; i++) {
		size_t at = first + i < w->n ? first + i : w->n - 1;
		const struct rollup_set_association *a =
			rollup_set_association(w->set, w->of[at]);

		names[i * NAMES] = a->cluster;
		names[i * NAMES + 1] = a->account;
		names[i * NAMES + 2] = a->user;
	}
}

static int find_some(struct db *db, const struct wanted *w, size_t first, struct err *err)
{
	const char *names[SOME * NAMES];
	struct db_row *st;
	int r;

	name_some(w, first, names);
	r = db_query_texts(db, find_sql, &(struct db_texts){ names, SOME * NAMES }, &st, err);
	while (r >= 0 && (r = db_step(db, st, err)) > 0) {
		int at = rollup_set_find(w->set, db_text(st, CLUSTER), db_text(st, ACCOUNT),
					 db_text(st, USER));

		if (at < 0) {
			db_done(st);
			return err_set(err, at, "the names of an association cannot be kept");
		}
		rollup_set_association(w->set, at)->id = db_int(st, ID);
	}
	return r;
}

static int find_wanted(struct db *db, struct wanted *w, struct err *err)
{
	int r = 0;

	list_wanted(w);
	for (size_t at = 0; at < w->n && r >= 0; at += SOME)
		r = find_some(db, w, at, err);
	return r;
}

/* Makes those that were not found. */
static int make_missing(struct db *db, struct wanted *w, struct err *err)
{
	struct db_rows rows = {
		.sql = "INSERT INTO associations(cluster, account, user) VALUES(?1, ?2, ?3)",
		.format = "ttt"
	};
	int r = 0;

	for (size_t i = 0; i < w->n && r >= 0; i++) {
		const struct rollup_set_association *a =
			rollup_set_association(w->set, w->of[i]);

		if (!a->id)
			r = db_rows_add(&rows, err, a->cluster, a->account, a->user);
	}
	if (r >= 0)
		r = db_rows_write(db, &rows, err);
	db_rows_done(&rows);
	return r;
}

int rollup_find_associations(struct db *db, struct rollup_set *set, struct err *err)
{
	size_t n = rollup_set_size(set);
	_cleanup_free_ int32_t *of = calloc(n + 1, sizeof(*of));
	struct wanted w = { .set = set, .of = of };
	int r = of ? find_wanted(db, &w, err) : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = make_missing(db, &w, err);
	/* The ids of those that were made. */
	return r < 0 ? r : find_wanted(db, &w, err);
}
