/* SPDX-License-Identifier: GPL-2.0-or-later */
/* totals.c - keeps the table totals: collects what a transaction adds to each row, and writes it before the commit. See totals.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/usage/rollup/rollup_set.h"
#include "controller/ledger/usage/totals/totals.h"

/* As config/ has it where nothing is configured. */
#define MONTHS_DEFAULT 12
#define FIRST_DEFAULT 3

#define NAMES_KEPT 4096 /* the set remembers names between transactions: not more than these */

int64_t totals_period_first(const struct store *s, int64_t month)
{
	int64_t behind = (month - s->totals.first) % s->totals.months;

	return month - (behind < 0 ? behind + s->totals.months : behind);
}

/* ---- which rows ---- */

static const struct {
	enum store_by kind;
	enum totals_span span;
	bool of_all; /* clusters */
} rows[] = {
	{ STORE_BY_CLUSTER, TOTALS_DAY, true },	    { STORE_BY_CLUSTER, TOTALS_MONTH, true },
	{ STORE_BY_CLUSTER, TOTALS_PERIOD, true },  { STORE_BY_ACCOUNT, TOTALS_MONTH, false },
	{ STORE_BY_ACCOUNT, TOTALS_PERIOD, false }, { STORE_BY_ACCOUNT, TOTALS_MONTH, true },
	{ STORE_BY_ACCOUNT, TOTALS_PERIOD, true },  { STORE_BY_USER, TOTALS_MONTH, false },
	{ STORE_BY_USER, TOTALS_PERIOD, false },    { STORE_BY_USER, TOTALS_MONTH, true },
	{ STORE_BY_USER, TOTALS_PERIOD, true },
};

int totals_spread(const struct store *s, const struct rollup_key *k, const struct rollup *r,
		  const struct totals_each *each, struct err *err)
{
	const int64_t month = calendar_month(k->day);
	const int64_t begins[] = { [TOTALS_DAY] = k->day,
				   [TOTALS_MONTH] = month,
				   [TOTALS_PERIOD] = totals_period_first(s, month) };
	const char *const names[] = { [STORE_BY_ACCOUNT] = k->account,
				      [STORE_BY_USER] = k->user,
				      [STORE_BY_CLUSTER] = k->cluster };
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(rows) && n >= 0; i++) {
		const struct rollup_total t = { .kind = rows[i].kind,
						.span = rows[i].span,
						.begins = begins[rows[i].span],
						.pool = k->pool,
						.cluster = rows[i].of_all ? "" : k->cluster,
						.name = names[rows[i].kind] };

		n = each->fn(each->ctx, &t, r, err);
	}
	return n;
}

/* ---- collecting: the kind stands in the place of the user, span and beginning in that of the day ---- */

#define SPANS 4

int totals_find(struct rollup_set *set, const struct rollup_total *t, struct rollup **ret,
		struct err *err)
{
	const char kind[] = { (char)('0' + t->kind), '\0' };
	int at = rollup_set_find(set, t->cluster, t->name, kind);

	*ret = at < 0 ? NULL
		      : rollup_set_at(set, at, (int)t->pool, t->begins * SPANS + t->span);
	return *ret ? 0
		    : err_set(err, at < 0 ? at : -ENOMEM, "cannot sum up the usage of '%s'",
			      t->name);
}

struct rollup_total totals_of_entry(struct rollup_set *set, const struct rollup_set_entry *e)
{
	const struct rollup_set_association *a = rollup_set_association(set, e->association);
	int64_t span = (e->day % SPANS + SPANS) % SPANS;

	return (struct rollup_total){ .kind = a->user[0] - '0',
				      .span = span,
				      .begins = (e->day - span) / SPANS,
				      .pool = e->pool,
				      .cluster = a->cluster,
				      .name = a->account };
}

static int collect_row(void *ctx, const struct rollup_total *t, const struct rollup *r,
		       struct err *err)
{
	struct rollup *sum;
	int n = totals_find(((struct store *)ctx)->totals.pending, t, &sum, err);

	if (n >= 0)
		rollup_add(sum, r);
	return n;
}

static int add_row(struct store *s, struct rollup_rows *sums, const struct rollup_set_entry *e,
		   struct err *err)
{
	const struct rollup_total t = totals_of_entry(s->totals.pending, e);

	return rollup_rows_total(sums, s->db, &t, &e->rollup, err);
}

int totals_write(struct store *s, struct err *err)
{
	size_t n = s->totals.pending ? rollup_set_size(s->totals.pending) : 0;
	struct rollup_rows sums = rollup_rows();
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = add_row(s, &sums, rollup_set_entry(s->totals.pending, i), err);
	if (r >= 0)
		r = rollup_rows_write(&sums, s->db, err);
	rollup_rows_done(&sums);
	return r;
}

void totals_forget(struct store *s)
{
	struct rollup_set *pending = s->totals.pending;

	if (!pending)
		return;
	rollup_set_clear(pending);
	if (rollup_set_names(pending) > NAMES_KEPT)
		s->totals.pending = rollup_set_free(pending);
}

int totals_add(struct store *s, const struct rollup_key *k, const struct rollup *r,
	       struct err *err)
{
	const struct totals_each each = { collect_row, s };

	if (!db_is_begun(s->db))
		return err_set(err, -EINVAL, "usage is written in a transaction alone");
	if (!s->totals.pending)
		s->totals.pending = rollup_set_new();
	if (!s->totals.pending)
		return err_set(err, -ENOMEM, "out of memory");
	return totals_spread(s, k, r, &each, err);
}

/* ---- the whole table ---- */

#define SUMS                                                                                   \
	" SUM(jobs_started), SUM(jobs_ended), SUM(running_ms), SUM(suspended_ms),"             \
	" SUM(cpu_ms), SUM(charge_requested_ms), SUM(charge_used_ms), SUM(core_ms),"           \
	" SUM(gpu_ms), SUM(adjusted_ms)"
#define FILL                                                                                   \
	"INSERT INTO totals(version, kind, span, cluster, begins, name, pool," ROLLUP_FIGURES  \
	") SELECT CAST(?1 AS BIGINT), "
#define OF_MONTHS SUMS " FROM months m JOIN associations a ON a.id = m.association"

/* ?1: the version of the rows. Periods from months: ?2: how many months they have, ?3: the first one of a year. */
static const char periods_sql[] =
	FILL "kind, " SQL_TOTALS_PERIOD
	     ", cluster, begins - (begins + 12 - ?3) % ?2, name, pool," SUMS
	     " FROM totals WHERE span = " SQL_TOTALS_MONTH " GROUP BY 2, 4, 5, 6, 7";

static const char *const months_sql[] = {
	FILL SQL_STORE_BY_CLUSTER ", " SQL_TOTALS_DAY ", '', day, cluster, pool," SUMS
				  " FROM rollups GROUP BY cluster, day, pool",
	FILL SQL_STORE_BY_CLUSTER ", " SQL_TOTALS_MONTH
				  ", '', m.month, a.cluster, m.pool," OF_MONTHS
				  " GROUP BY a.cluster, m.month, m.pool",
	FILL SQL_STORE_BY_ACCOUNT ", " SQL_TOTALS_MONTH
				  ", a.cluster, m.month, a.account, m.pool," OF_MONTHS
				  " GROUP BY a.cluster, m.month, a.account, m.pool",
	FILL SQL_STORE_BY_USER ", " SQL_TOTALS_MONTH
			       ", a.cluster, m.month, a.user, m.pool," OF_MONTHS
			       " GROUP BY a.cluster, m.month, a.user, m.pool",
	FILL "kind, " SQL_TOTALS_MONTH ", '', begins, name, pool," SUMS
	     " FROM totals WHERE kind IN (" SQL_STORE_BY_ACCOUNT ", " SQL_STORE_BY_USER ")"
	     " GROUP BY kind, begins, name, pool",
};

/* No row had this version before: what was read of the rows that are replaced is no longer good. */
static int find_version(struct store *s, int64_t *ret, struct err *err)
{
	return db_query_int(s->db, err, ret, "SELECT COALESCE(MAX(version), 0) + 1 FROM totals",
			    "");
}

static int fill_periods(struct store *s, int64_t version, struct err *err)
{
	return db_run(s->db, err, periods_sql, "iii", version, s->totals.months,
		      s->totals.first);
}

/* ---- progress ---- */

#define FEW_MONTHS 10000 /* sums of months that are added up within a moment */
#define LINE_MAX_SIZE 160

static store_progress_fn tell_progress;

void store_on_progress(store_progress_fn fn)
{
	tell_progress = fn;
}

struct filling {
	int64_t months, from_ns;
};

__attribute__((format(printf, 2, 3))) static void tell_line(const struct filling *f,
							    const char *fmt, ...)
{
	char line[LINE_MAX_SIZE];
	va_list args;

	if (!tell_progress || f->months < FEW_MONTHS)
		return;
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	tell_progress(line);
}

static double seconds_since(const struct filling *f)
{
	return (double)(clock_ns(CLOCK_MONOTONIC) - f->from_ns) / S_NS;
}

static int begin_filling(struct store *s, struct filling *ret, struct err *err)
{
	int r = db_query_int(s->db, err, &ret->months, "SELECT COUNT(*) FROM months", "");

	ret->from_ns = clock_ns(CLOCK_MONOTONIC);
	if (r >= 0)
		tell_line(ret, "adding up %" PRId64 " sums of months, once for this ledger",
			  ret->months);
	return r;
}

static int end_filling(struct store *s, const struct filling *f, struct err *err)
{
	int64_t n = 0;
	int r = db_query_int(s->db, err, &n, "SELECT COUNT(*) FROM totals", "");

	if (r >= 0)
		tell_line(f, "%" PRId64 " sums of accounts, users and clusters made in %.1f s",
			  n, seconds_since(f));
	return r < 0 ? r : 0;
}

static int fill_months(struct store *s, const struct filling *f, int64_t version,
		       struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(months_sql) && r >= 0; i++) {
		r = db_run(s->db, err, months_sql[i], "i", version);
		if (r >= 0)
			tell_line(f, "adding up sums of months: %zu of %zu steps in %.1f s",
				  i + 1, ARRAY_LEN(months_sql) + 1, seconds_since(f));
	}
	return r;
}

int totals_fill(struct store *s, struct err *err)
{
	struct filling f;
	int64_t version;
	int r = find_version(s, &version, err);

	totals_forget(s); /* the tables that are read have it */
	if (r >= 0)
		r = begin_filling(s, &f, err);
	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM totals", "");
	if (r >= 0)
		r = fill_months(s, &f, version, err);
	if (r >= 0)
		r = fill_periods(s, version, err);
	return r < 0 ? r : end_filling(s, &f, err);
}

/* ---- the period ---- */

#define PERIOD_TEXT_MAX 48

static int write_period(struct store *s, struct err *err)
{
	char text[PERIOD_TEXT_MAX];

	snprintf(text, sizeof(text), "%" PRId64 " %" PRId64, s->totals.months, s->totals.first);
	return db_run(s->db, err,
		      "INSERT INTO meta(key, value) VALUES('period', ?1)"
		      " ON CONFLICT(key) DO UPDATE SET value = excluded.value",
		      "t", text);
}

static bool is_period(int64_t months, int64_t first)
{
	return (months == 12 || months == 3) && first >= 0 && first < 12;
}

/* 1: found. */
static int read_period(struct store *s, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, "SELECT value FROM meta WHERE key = 'period'",
			       "");
	int n;

	if (r <= 0)
		return r;
	n = sscanf(db_text(st, 0), "%" SCNd64 " %" SCNd64, &s->totals.months, &s->totals.first);
	db_done(st);
	return n == 2 && is_period(s->totals.months, s->totals.first)
		       ? 1
		       : err_set(err, -EBADMSG, "the ledger does not name its period");
}

int totals_reload(struct store *s, struct err *err)
{
	int r = read_period(s, err);

	return r < 0 ? r : 0;
}

/* A ledger of an older version, or a new one. */
static int make_totals(struct store *s, struct err *err)
{
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	s->totals.months = MONTHS_DEFAULT;
	s->totals.first = FIRST_DEFAULT;
	r = totals_fill(s, err);
	if (r >= 0)
		r = write_period(s, err);
	return db_end(s->db, r, err);
}

int totals_open(struct store *s, struct err *err)
{
	int r = read_period(s, err);

	return r == 0 ? make_totals(s, err) : r;
}

static int change_period(struct store *s, struct err *err)
{
	int64_t version;
	int r = find_version(s, &version, err);

	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM totals WHERE span = " SQL_TOTALS_PERIOD,
			   "");
	if (r >= 0)
		r = fill_periods(s, version, err);
	return r < 0 ? r : write_period(s, err);
}

int store_set_period(struct store *s, int64_t months, int64_t first, struct err *err)
{
	const struct store_totals was = s->totals;
	int r;

	if (!is_period(months, first))
		return err_set(err, -EINVAL, "a period has 12 or 3 months");
	if (was.months == months && was.first % months == first % months)
		return 0;
	r = db_begin(s->db, err);
	if (r < 0)
		return r;
	s->totals.months = months;
	s->totals.first = first;
	r = db_end(s->db, change_period(s, err), err);
	if (r < 0) {
		s->totals.months = was.months;
		s->totals.first = was.first;
	}
	return r < 0 ? r : 0;
}
