/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.c - keeps the latest series of each node of an attempt; see attempts/series.h. */
#include <errno.h>
#include "common/err.h"
#include "common/model/series/series.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/series.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"

/* Every byte from a node is hostile: only what can be decoded is stored. */
static int check_bytes(const struct report *rep)
{
	struct series s;
	int r = series_decode(rep->series, rep->series_size, &s);

	if (r >= 0)
		series_done(&s);
	return r;
}

#define PUT_FORMAT "iiiib"
static const char put_sql[] =
	"INSERT INTO series(job, attempt, part, at_ns, data) VALUES(?1, ?2, ?3, ?4, ?5)"
	" ON CONFLICT(job, attempt, part) DO UPDATE SET at_ns = excluded.at_ns,"
	" data = excluded.data";

struct db_rows store_series_rows(void)
{
	return (struct db_rows){ .sql = put_sql, .format = PUT_FORMAT };
}

int store_series_put(struct store *s, const struct store_report_case *c, struct err *err)
{
	const struct report *rep = c->report;
	int r = rep->series ? check_bytes(rep) : 0;

	if (r == -ENOMEM)
		return err_set(err, r, "out of memory");
	if (r < 0)
		return 1;
	if (!rep->series)
		return 0;
	if (c->rows && c->part < 0)
		return db_rows_add(&c->rows->series, err, rep->job, (int64_t)rep->attempt,
				   (int64_t)0, c->now_ns, rep->series, rep->series_size);
	return db_run_later(s->db, err, put_sql, PUT_FORMAT, rep->job, (int64_t)rep->attempt,
			    (int64_t)(c->part > 0 ? c->part : 0), c->now_ns, rep->series,
			    rep->series_size);
}

enum series_column { SERIES_PART, SERIES_NODE, SERIES_AT_NS, SERIES_DATA };

int store_series_each(struct store *s, struct store_whose of, store_series_fn fn, void *ctx,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT s.part, p.node, s.at_ns, s.data FROM series s"
			 " LEFT JOIN parts p ON p.job = s.job AND p.attempt = s.attempt"
			 " AND p.part = s.part WHERE s.job = ?1 AND s.attempt = ?2"
			 " ORDER BY s.part",
			 "ii", of.job, (int64_t)of.attempt);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct store_series row = { .part = (int32_t)db_int(st, SERIES_PART),
					    .node = store_text(st, SERIES_NODE),
					    .at_ns = db_int(st, SERIES_AT_NS) };

		row.data = db_blob(st, SERIES_DATA, &row.size);
		r = fn(ctx, &row, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}
