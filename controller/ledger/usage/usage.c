/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - sums up the usage of accounts, users and clusters over a period, by month too. See store.h.
 *
 * Whole months are read from the table months, and what is left of the period at both ends from the
 * days in rollups: days alone would be thirty times as many rows. Rows are read in the order in which
 * they are stored and added up here: GROUP BY would sort every row first. A view of all associations by
 * one dimension is read from the table totals, whole allocation periods and months (usage/totals/totals.h).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/usage/rollup/rollup_set.h"
#include "controller/ledger/usage/totals/totals.h"
#include "controller/ledger/usage/totals/usage_impl.h"
#include "controller/ledger/sql.h"

static const char *const by_names[] = { [STORE_BY_NONE] = "",
					[STORE_BY_ACCOUNT] = "account",
					[STORE_BY_USER] = "user",
					[STORE_BY_CLUSTER] = "cluster" };
_Static_assert(ARRAY_LEN(by_names) == _STORE_BY_MAX, "a name a dimension");

const char *store_by_name(enum store_by by)
{
	return by_names[by];
}

static enum store_by find_by(const char *text, size_t size)
{
	for (int i = STORE_BY_NONE + 1; i < _STORE_BY_MAX; i++)
		if (strlen(by_names[i]) == size && !strncmp(text, by_names[i], size))
			return (enum store_by)i;
	return STORE_BY_NONE;
}

int store_by_parse(const char *text, enum store_by ret[static 2], struct err *err)
{
	size_t n = strcspn(text, ",");

	ret[0] = find_by(text, n);
	ret[1] = text[n] ? find_by(text + n + 1, strlen(text + n + 1)) : STORE_BY_NONE;
	if (ret[0] == STORE_BY_NONE || ret[0] == ret[1] || (text[n] && ret[1] == STORE_BY_NONE))
		return err_set(err, -EINVAL,
			       "by %.40s: write account, user or cluster, or two of these: "
			       "user,cluster",
			       text);
	return 0;
}

/* The columns of every SELECT here; ROW_WHEN is a day or a month. */
enum row_column { ROW_ACCOUNT, ROW_USER, ROW_CLUSTER, ROW_POOL, ROW_WHEN, ROW_FIGURES };

#define MONTHS                                                                                 \
	"SELECT a.account, a.user, a.cluster, m.pool, m.month," ROLLUP_FIGURES                 \
	" FROM associations a CROSS JOIN months m ON m.association = a.id"                     \
	" WHERE m.month >= ?3 AND m.month < ?4 AND (?5 IS NULL OR a.cluster = ?5)"
#define DAYS                                                                                   \
	"SELECT account, user, cluster, pool, day," ROLLUP_FIGURES                             \
	" FROM rollups WHERE day >= ?3 AND day < ?4 AND (?5 IS NULL OR cluster = ?5)"

/* One text for each index that answers at once: with "?1 IS NULL OR account = ?1" the planner could
 * not use an index on accounts. */
enum filter { ANY, OF_ACCOUNT, OF_USER, _FILTER_MAX };
static const char *const months_sql[] = {
	[ANY] = MONTHS,
	[OF_ACCOUNT] = MONTHS " AND a.account = ?1 AND (?2 IS NULL OR a.user = ?2)",
	[OF_USER] = MONTHS " AND a.user = ?2",
};
static const char *const days_sql[] = {
	[ANY] = DAYS,
	[OF_ACCOUNT] = DAYS " AND account = ?1 AND (?2 IS NULL OR user = ?2)",
	[OF_USER] =
		"SELECT r.account, r.user, r.cluster, r.pool, r.day," ROLLUP_FIGURES
		" FROM associations a CROSS JOIN rollups r ON r.cluster = a.cluster"
		" AND r.account = a.account AND r.user = a.user AND r.pool IN (" SQL_CHARGE_POOL_CPU
		", " SQL_CHARGE_POOL_GPU ")"
		" WHERE a.user = ?2 AND r.day >= ?3 AND r.day < ?4"
		" AND (?5 IS NULL OR r.cluster = ?5)",
};
/* The pools are named so that the primary key (cluster, account, user, pool, day) finds the days. */
_Static_assert(_CHARGE_POOL_MAX == 2, "days_sql names every pool");
_Static_assert(ARRAY_LEN(months_sql) == _FILTER_MAX && ARRAY_LEN(days_sql) == _FILTER_MAX,
	       "a text a filter");

/* ?1: the kind, ?2: the span, ?5: one cluster of accounts and users, ?6: one of clusters. All columns of the key before its range
 * are bound: SQLite may skip over those that are not, and reads the whole table then. */
static const char totals_sql[] =
	"SELECT name, name, name, pool, begins," ROLLUP_FIGURES
	" FROM totals WHERE kind = ?1 AND span = ?2 AND cluster = COALESCE(?5, '')"
	" AND begins >= ?3 AND begins < ?4 AND (?6 IS NULL OR name = ?6)";

struct fold {
	struct store *s;
	const struct store_period *p;
	/* An association here has the key as its cluster, the second key as its account, and no user;
	 * the day of a sum is its month, or 0. */
	struct rollup_set *sums;
	int key; /* the index of the association of the row before; -1: none */
	bool is_days;
	enum store_by kind;	    /* of totals; NONE: they have not got what is asked for */
	const char *account, *user; /* of the query under way; NULL: any */
	bool skips_scope;	    /* rows of the accounts of p->scope were read already */
};

static int compare_names(const void *name, const void *entry)
{
	return strcmp(name, *(const char *const *)entry);
}

static bool is_in_scope(const struct store_scope *scope, const char *account)
{
	return bsearch(account, scope->accounts, scope->n, sizeof(*scope->accounts),
		       compare_names) != NULL;
}

/* The index of the association, < 0 on failure. Most rows have the key of the row before. */
static int find_key(struct fold *f, const char *name, const char *second)
{
	const struct rollup_set_association *a =
		f->key < 0 ? NULL : rollup_set_association(f->sums, f->key);

	if (!a || strcmp(a->cluster, name) != 0 || strcmp(a->account, second) != 0)
		f->key = rollup_set_find(f->sums, name, second, "");
	return f->key;
}

static int fold_row(struct fold *f, struct db_row *st, struct err *err)
{
	static const int columns[] = {
		[STORE_BY_ACCOUNT] = ROW_ACCOUNT,
		[STORE_BY_USER] = ROW_USER,
		[STORE_BY_CLUSTER] = ROW_CLUSTER,
	};
	int64_t month = 0;
	struct rollup *at;
	int key;

	if (f->skips_scope && is_in_scope(f->p->scope, store_text(st, ROW_ACCOUNT)))
		return 0;
	key = find_key(f, f->p->by ? store_text(st, columns[f->p->by]) : "",
		       f->p->second ? store_text(st, columns[f->p->second]) : "");
	if (f->p->each == STORE_EACH_MONTH)
		month = db_int(st, ROW_WHEN);
	if (f->p->each == STORE_EACH_MONTH && f->is_days)
		month = calendar_month(month);
	at = key < 0 ? NULL : rollup_set_at(f->sums, key, (int)db_int(st, ROW_POOL), month);
	if (!at)
		return err_set(err, -ENOMEM, "out of memory");
	for (int i = 0; i < _ROLLUP_MAX; i++)
		at->figure[i] += db_int(st, ROW_FIGURES + i);
	return 0;
}

struct range {
	enum totals_span span;
	int64_t from, to; /* days or months, half open; of periods their first months */
};

static int query_totals(struct fold *f, const struct range *range, struct db_row **ret,
			struct err *err)
{
	bool is_cluster = f->kind == STORE_BY_CLUSTER;

	return db_query(f->s->db, err, ret, totals_sql, "iiiitt", (int64_t)f->kind,
			(int64_t)range->span, range->from, range->to,
			is_cluster ? NULL : f->p->cluster, is_cluster ? f->p->cluster : NULL);
}

/* Of one account, of one user, or of all. */
static int query_associations(struct fold *f, const struct range *range, struct db_row **ret,
			      struct err *err)
{
	enum filter filter = f->account ? OF_ACCOUNT : f->user ? OF_USER : ANY;

	return db_query(f->s->db, err, ret, (f->is_days ? days_sql : months_sql)[filter],
			"ttiit", f->account, f->user, range->from, range->to, f->p->cluster);
}

static bool is_in_totals(const struct fold *f, enum totals_span span)
{
	return f->kind == STORE_BY_CLUSTER || (f->kind != STORE_BY_NONE && span != TOTALS_DAY);
}

static int fold_query(struct fold *f, const struct range *range, struct err *err)
{
	struct db_row *st;
	int r;

	f->key = -1;
	r = (is_in_totals(f, range->span) ? query_totals : query_associations)(f, range, &st,
									       err);
	while (r >= 0 && (r = db_step(f->s->db, st, err)) > 0) {
		r = fold_row(f, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* An index finds the rows of each account: a scope costs what is in it, not what the ledger has. */
static int fold_scope(struct fold *f, const struct range *range, struct err *err)
{
	const struct store_scope *scope = f->p->scope;
	int r = 0;

	for (size_t i = 0; i < scope->n && r >= 0; i++) {
		f->account = scope->accounts[i];
		r = fold_query(f, range, err);
	}
	if (r < 0 || !scope->own_user ||
	    (f->p->user && strcmp(f->p->user, scope->own_user) != 0))
		return r;
	f->account = NULL;
	f->user = scope->own_user;
	f->skips_scope = true;
	r = fold_query(f, range, err);
	f->skips_scope = false;
	return r;
}

static int fold_range(struct fold *f, enum totals_span span, int64_t from, int64_t to,
		      struct err *err)
{
	const struct range range = { span, from, to };

	if (from >= to)
		return 0;
	f->is_days = span == TOTALS_DAY;
	f->account = f->p->account;
	f->user = f->p->user;
	return f->p->scope ? fold_scope(f, &range, err) : fold_query(f, &range, err);
}

/* Whole allocation periods, where there are sums of them, and the months before and behind. */
static int fold_months(struct fold *f, int64_t from, int64_t to, struct err *err)
{
	int64_t first = totals_period_first(f->s, from + f->s->totals.months - 1),
		end = totals_period_first(f->s, to);
	int r;

	if (f->kind == STORE_BY_NONE || f->p->each == STORE_EACH_MONTH || first >= end)
		return fold_range(f, TOTALS_MONTH, from, to, err);
	r = fold_range(f, TOTALS_MONTH, from, first, err);
	if (r >= 0)
		r = fold_range(f, TOTALS_PERIOD, first, end, err);
	return r < 0 ? r : fold_range(f, TOTALS_MONTH, end, to, err);
}

static int fold_all(struct fold *f, struct err *err)
{
	const struct store_period *p = f->p;
	int64_t first = calendar_month(p->from_day - 1) + 1, end = calendar_month(p->to_day);
	int64_t first_day = calendar_month_first(first), end_day = calendar_month_first(end);
	int r;

	if (first >= end)
		return fold_range(f, TOTALS_DAY, p->from_day, p->to_day, err);
	r = fold_range(f, TOTALS_DAY, p->from_day, first_day, err);
	if (r >= 0)
		r = fold_months(f, first, end, err);
	return r < 0 ? r : fold_range(f, TOTALS_DAY, end_day, p->to_day, err);
}

enum store_by usage_kind(const struct store_period *p)
{
	if (p->account || p->user || p->scope)
		return STORE_BY_NONE;
	if (p->second == STORE_BY_NONE)
		return p->by == STORE_BY_NONE ? STORE_BY_CLUSTER : p->by;
	return STORE_BY_NONE;
}

/* ---- passing the sums on ---- */

/* By month, key, second key and pool. */
static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct rollup_set_entry *x = a, *y = b;
	const struct rollup_set_association *ax, *ay;
	struct rollup_set *s = ctx;
	int names = 0;

	if (x->day != y->day)
		return x->day < y->day ? -1 : 1;
	if (x->association != y->association) {
		ax = rollup_set_association(s, x->association);
		ay = rollup_set_association(s, y->association);
		names = strcmp(ax->cluster, ay->cluster);
		names = names ? names : strcmp(ax->account, ay->account);
	}
	return names ? names : (x->pool > y->pool) - (x->pool < y->pool);
}

void usage_set_figures(struct store_usage *u, const int64_t v[static _ROLLUP_MAX])
{
	u->jobs_started = v[ROLLUP_JOBS_STARTED];
	u->jobs_ended = v[ROLLUP_JOBS_ENDED];
	u->running_ms = v[ROLLUP_RUNNING_MS];
	u->suspended_ms = v[ROLLUP_SUSPENDED_MS];
	u->cpu_ms = v[ROLLUP_CPU_MS];
	u->charge_requested_ms = v[ROLLUP_CHARGE_REQUESTED_MS];
	u->charge_used_ms = v[ROLLUP_CHARGE_USED_MS];
	u->core_ms = v[ROLLUP_CORE_MS];
	u->gpu_ms = v[ROLLUP_GPU_MS];
	u->adjusted_ms = v[ROLLUP_ADJUSTED_MS];
}

static int pass_sums(const struct fold *f, store_usage_fn fn, void *ctx, struct err *err)
{
	size_t n = rollup_set_size(f->sums);
	int r = 0;

	if (n)
		qsort_r(rollup_set_entry(f->sums, 0), n, sizeof(struct rollup_set_entry),
			compare_rows, f->sums);
	for (size_t i = 0; i < n && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(f->sums, i);
		struct store_usage u = {
			.key = rollup_set_association(f->sums, e->association)->cluster,
			.second = rollup_set_association(f->sums, e->association)->account,
			.pool = charge_pool_name((enum charge_pool)e->pool),
			.month = e->day,
		};

		usage_set_figures(&u, e->rollup.figure);
		r = fn(ctx, &u, err);
	}
	return r < 0 ? r : 0;
}

/* A period that ends behind the ledger's last day ends with the allocation period of that day from then on: nothing is between
 * the two, and the period under way is read as a whole. */
static int widen_period(struct store *s, struct store_period *p, struct err *err)
{
	int64_t last = 0;
	int r = db_query_int(s->db, err, &last, "SELECT MAX(day) FROM rollups", "");

	if (r > 0 && p->from_day <= last && last < p->to_day)
		p->to_day = calendar_month_first(totals_period_first(s, calendar_month(last)) +
						 s->totals.months);
	return r < 0 ? r : 0;
}

int store_usage(struct store *s, const struct store_period *asked, store_usage_fn fn, void *ctx,
		struct err *err)
{
	_cleanup_(rollup_set_freep) struct rollup_set *sums = rollup_set_new();
	struct store_period p = *asked;
	struct fold f = { .s = s, .p = &p, .sums = sums, .key = -1, .kind = usage_kind(&p) };
	int r = sums ? widen_period(s, &p, err) : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = fold_all(&f, err);
	return r < 0 ? r : pass_sums(&f, fn, ctx, err);
}

int store_usage_first_day(struct store *s, int64_t *ret_day, struct err *err)
{
	return db_query_int(s->db, err, ret_day, "SELECT day FROM rollups ORDER BY day LIMIT 1",
			    "");
}

/* ---- names ---- */

static const char *const has_sql[] = {
	[STORE_BY_ACCOUNT] = "SELECT 1 FROM associations WHERE account = ?1 LIMIT 1",
	[STORE_BY_USER] = "SELECT 1 FROM associations WHERE user = ?1 LIMIT 1",
	[STORE_BY_CLUSTER] = "SELECT 1 FROM associations WHERE cluster = ?1 LIMIT 1",
};
static const char *const names_sql[] = {
	[STORE_BY_ACCOUNT] = "SELECT DISTINCT account FROM associations ORDER BY 1",
	[STORE_BY_USER] = "SELECT DISTINCT user FROM associations ORDER BY 1",
	[STORE_BY_CLUSTER] = "SELECT DISTINCT cluster FROM associations ORDER BY 1",
};

int store_usage_has(struct store *s, enum store_by by, const char *name, struct err *err)
{
	return db_has_row(s->db, err, has_sql[by], "t", name);
}

int store_usage_names(struct store *s, enum store_by by, store_name_fn fn, void *ctx,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, names_sql[by], "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = fn(ctx, store_text(st, 0), err);
		if (r < 0)
			db_done(st);
	}
	return r;
}
