/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks.c - reads the journal for the hooks, and keeps their position in it. See ledger/hooks.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/hooks.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"

/* clang-format off */
#define EVENT_COLUMNS(X) \
	X(EVENT_ID,         "e.id") \
	X(EVENT_AT_NS,      ", e.at_ns") \
	X(EVENT_JOB,        ", e.job") \
	X(EVENT_NODE,       ", e.node") \
	X(EVENT_WHAT,       ", e.what") \
	X(EVENT_TEXT,       ", e.text") \
	X(EVENT_GIVEN,      ", e.given") \
	X(EVENT_OVER,       ", e.over") \
	X(EVENT_N_RUNNING,  ", (SELECT COUNT(*) FROM events x WHERE x.job = e.job AND x.what =" \
		" 'running' AND x.id < e.id AND x.id > e.give_id)") \
	X(EVENT_STARTED_NS, ", a.started_ns") \
	X(EVENT_END_KIND,   ", a.end_kind") \
	X(EVENT_UID,        ", j.uid")
/* clang-format on */
enum { EVENT_COLUMNS(SQL_NAME) };
#define EVENT_SELECT "SELECT " EVENT_COLUMNS(SQL_COLUMN)

/* An attempt begins with "give" and ends with "ended" or "node-lost". So the number of "give" before an
 * event is the attempt's number, and where as many ended the job was in the queue. */
static const char happenings_sql[] =
	EVENT_SELECT " FROM (SELECT id, at_ns, job, node, what, text,"
		     "  (SELECT COUNT(*) FROM events x WHERE x.job = y.job AND x.what = 'give'"
		     "   AND x.id < y.id) AS given,"
		     "  (SELECT COALESCE(MAX(x.id), 0) FROM events x WHERE x.job = y.job"
		     "   AND x.what = 'give' AND x.id < y.id) AS give_id,"
		     "  (SELECT COUNT(*) FROM events x WHERE x.job = y.job"
		     "   AND x.what IN ('ended', 'node-lost') AND x.id < y.id) AS over"
		     "  FROM events y WHERE id > ?1 ORDER BY id LIMIT ?2) e"
		     " LEFT JOIN attempts a ON a.job = e.job AND a.attempt = e.given"
		     " LEFT JOIN jobs j ON j.job = e.job ORDER BY e.id";
_Static_assert(END_LIMIT == 3, "end kinds are on disk as numbers");

int store_happenings(struct store *s, struct store_happenings which, store_happening_fn fn,
		     void *ctx, struct err *err)
{
	struct db_row *st;
	int n = 0, r;

	r = db_query(s->db, err, &st, happenings_sql, "ii", which.after, which.max);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct store_happening h = {
			.id = db_int(st, EVENT_ID),
			.at_ns = db_int(st, EVENT_AT_NS),
			.job = db_int(st, EVENT_JOB),
			.uid = (uint32_t)db_int(st, EVENT_UID),
			.node = store_text(st, EVENT_NODE),
			.what = store_text(st, EVENT_WHAT),
			.text = store_text(st, EVENT_TEXT),
			.is_queued = db_int(st, EVENT_GIVEN) == db_int(st, EVENT_OVER),
			.has_run = db_int(st, EVENT_N_RUNNING) > 0,
			.has_started = db_int(st, EVENT_STARTED_NS) > 0,
			.was_killed = db_int(st, EVENT_END_KIND) == END_LIMIT
		};

		n++;
		r = fn(ctx, &h, err);
		if (r < 0)
			db_done(st);
	}
	return r < 0 ? r : n;
}

int store_load_place(struct store *s, int64_t *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT value FROM meta WHERE key = 'hooks_place'", "");

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no place is kept");
	*ret = strtoll(store_text(st, 0), NULL, 10);
	db_done(st);
	return 0;
}

int store_save_place(struct store *s, int64_t place, struct err *err)
{
	char text[24];

	snprintf(text, sizeof(text), "%lld", (long long)place);
	return db_run(s->db, err,
		      "INSERT INTO meta(key, value) VALUES('hooks_place', ?1)"
		      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		      "t", text);
}

int store_last_place(struct store *s, int64_t *ret, struct err *err)
{
	int r = db_query_int(s->db, err, ret, "SELECT COALESCE(MAX(id), 0) FROM events", "");

	return r < 0 ? r : 0;
}

int store_forget_place(struct store *s, struct err *err)
{
	return db_run(s->db, err, "DELETE FROM meta WHERE key = 'hooks_place'", "");
}
