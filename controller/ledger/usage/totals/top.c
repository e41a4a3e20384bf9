/* top.c - reads from the table totals the accounts or users that count most. See top.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/ledger/usage/totals/usage_impl.h"

/* ---- which rows of totals: those of one span ---- */

struct place {
	enum store_by kind;
	enum totals_span span;
	int64_t begins; /* month */
	const char *cluster;
};

static bool is_month(const struct store_period *p, int64_t month)
{
	return p->from_day == calendar_month_first(month) &&
	       p->to_day == calendar_month_first(month + 1);
}

static bool is_period(const struct store *s, const struct store_period *p, int64_t month)
{
	return totals_period_first(s, month) == month &&
	       p->from_day == calendar_month_first(month) &&
	       p->to_day == calendar_month_first(month + s->totals.months);
}

static bool find_place(const struct store *s, const struct store_period *p, struct place *ret)
{
	int64_t month = calendar_month(p->from_day);

	*ret = (struct place){ usage_kind(p), TOTALS_MONTH, month, p->cluster };
	if (ret->kind != STORE_BY_ACCOUNT && ret->kind != STORE_BY_USER)
		return false;
	if (p->each != STORE_EACH_PERIOD)
		return false;
	if (is_month(p, month))
		return true;
	ret->span = TOTALS_PERIOD;
	return is_period(s, p, month);
}

/* The period as it is, or as far as the ledger has anything. 1: found. */
static int look_up(struct store *s, const struct store_period *asked, struct place *ret,
		   struct err *err)
{
	struct store_period p = *asked;
	int r;

	if (find_place(s, &p, ret))
		return 1;
	r = usage_widen(s, &p, err);
	return r < 0 ? r : find_place(s, &p, ret);
}

/* ---- the rows ---- */

#define OF_PLACE                                                                               \
	" FROM totals WHERE kind = ?1 AND span = ?2 AND begins = ?3"                           \
	" AND cluster = COALESCE(?4, '')"
static const char top_sql[] =
	"SELECT name, pool," ROLLUP_FIGURES OF_PLACE
	" ORDER BY charge_requested_ms + adjusted_ms DESC, name, pool LIMIT ?5";
static const char count_sql[] = "SELECT pool, COUNT(*)" OF_PLACE " GROUP BY pool";
enum top_column { TOP_NAME, TOP_POOL, TOP_FIGURES };
enum count_column { COUNT_POOL, COUNT_ROWS };

struct top_row {
	char name[REQUEST_NAME_MAX];
	int64_t pool, figure[_ROLLUP_MAX];
};

static int count_rows(struct store *s, const struct place *at, struct store_top *top,
		      struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, count_sql, "iiit", (int64_t)at->kind,
			 (int64_t)at->span, at->begins, at->cluster);

	memset(top->n_rows, 0, sizeof(top->n_rows));
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int64_t pool = db_int(st, COUNT_POOL);

		if (pool >= 0 && pool < _CHARGE_POOL_MAX)
			top->n_rows[pool] = db_int(st, COUNT_ROWS);
	}
	return r;
}

static int read_rows(struct store *s, const struct place *at, struct top_row *rows,
		     size_t *n_rows, struct err *err)
{
	size_t limit = *n_rows;
	struct db_row *st;
	int r = db_query(s->db, err, &st, top_sql, "iiiti", (int64_t)at->kind,
			 (int64_t)at->span, at->begins, at->cluster, (int64_t)limit);

	*n_rows = 0;
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct top_row *row = &rows[(*n_rows)++];

		snprintf(row->name, sizeof(row->name), "%s", store_text(st, TOP_NAME));
		row->pool = db_int(st, TOP_POOL);
		for (int f = 0; f < _ROLLUP_MAX; f++)
			row->figure[f] = db_int(st, TOP_FIGURES + f);
	}
	return r;
}

static int compare_rows(const void *a, const void *b)
{
	const struct top_row *x = a, *y = b;
	int names = strcmp(x->name, y->name);

	return names ? names : (x->pool > y->pool) - (x->pool < y->pool);
}

static int pass_rows(struct top_row *rows, size_t n, const struct store_usage_each *each,
		     struct err *err)
{
	int r = 0;

	qsort(rows, n, sizeof(*rows), compare_rows);
	for (size_t i = 0; i < n && r >= 0; i++) {
		struct store_usage u = { .key = rows[i].name,
					 .second = "",
					 .pool = charge_pool_name(
						 (enum charge_pool)(int)rows[i].pool) };

		usage_set_figures(&u, rows[i].figure);
		r = each->fn(each->ctx, &u, err);
	}
	return r;
}

int store_usage_top(struct store *s, const struct store_period *p, struct store_top *top,
		    const struct store_usage_each *each, struct err *err)
{
	size_t n = top->limit < STORE_TOP_MAX ? top->limit : STORE_TOP_MAX;
	_cleanup_free_ struct top_row *rows = calloc(n + 1, sizeof(*rows));
	struct place at;
	int r = rows ? look_up(s, p, &at, err) : err_set(err, -ENOMEM, "out of memory");

	if (r <= 0)
		return r;
	r = count_rows(s, &at, top, err);
	if (r >= 0)
		r = read_rows(s, &at, rows, &n, err);
	if (r >= 0)
		r = pass_rows(rows, n, each, err);
	return r < 0 ? r : 1;
}

/* ---- days of some names ---- */

#define NAMES 32
#define NAME_PARAMETERS                                                                        \
	"?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, " \
	"?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34, ?35"
#define NAMES_8(n, i) n[i], n[i + 1], n[i + 2], n[i + 3], n[i + 4], n[i + 5], n[i + 6], n[i + 7]
#define COUNTS "CAST(SUM(r.charge_requested_ms + r.adjusted_ms) AS BIGINT)"
#define ON_DAYS " r.day >= ?1 AND r.day < ?2"
#define OF_POOL(pool)                                                                          \
	"(SELECT " COUNTS " FROM rollups r WHERE r.cluster = a.cluster"                        \
	" AND r.account = a.account AND r.user = a.user AND r.pool = " pool " AND" ON_DAYS ")"

static const char accounts_sql[] =
	"SELECT r.account, CASE WHEN r.pool = " SQL_CHARGE_POOL_CPU " THEN " COUNTS " END,"
	" CASE WHEN r.pool = " SQL_CHARGE_POOL_GPU " THEN " COUNTS " END FROM rollups r"
	" WHERE r.account IN (" NAME_PARAMETERS ") AND" ON_DAYS
	" AND (?3 IS NULL OR r.cluster = ?3) GROUP BY r.account, r.pool";
/* By association: a join was planned as one with all rollups of the days. */
static const char users_sql[] = "SELECT a.user, " OF_POOL(SQL_CHARGE_POOL_CPU) ", " OF_POOL(
	SQL_CHARGE_POOL_GPU) " FROM associations a WHERE a.user IN (" NAME_PARAMETERS ")"
			     " AND (?3 IS NULL OR a.cluster = ?3)";
enum named_column { NAMED_NAME, NAMED_POOLS };
_Static_assert(_CHARGE_POOL_MAX == 2, "a column a pool");

/* The last name stands for those that are missing. */
static int query_some(struct store *s, const struct store_period *p,
		      const struct store_names *some, struct db_row **ret, struct err *err)
{
	const char *n[NAMES];

	for (size_t i = 0; i < NAMES; i++)
		n[i] = some->names[i < some->n ? i : some->n - 1];
	return db_query(s->db, err, ret, p->by == STORE_BY_USER ? users_sql : accounts_sql,
			"iit"
			"tttttttt"
			"tttttttt"
			"tttttttt"
			"tttttttt",
			p->from_day, p->to_day, p->cluster, NAMES_8(n, 0), NAMES_8(n, 8),
			NAMES_8(n, 16), NAMES_8(n, 24));
}

static int pass_pools(struct db_row *st, const struct store_usage_each *each, struct err *err)
{
	int r = 0;

	for (int pool = 0; pool < _CHARGE_POOL_MAX && r >= 0; pool++) {
		const struct store_usage u = {
			.key = store_text(st, NAMED_NAME),
			.second = "",
			.pool = charge_pool_name((enum charge_pool)pool),
			.charge_requested_ms = db_int(st, NAMED_POOLS + pool),
		};

		if (!db_is_null(st, NAMED_POOLS + pool))
			r = each->fn(each->ctx, &u, err);
	}
	return r;
}

static int pass_some(struct store *s, struct db_row *st, const struct store_usage_each *each,
		     struct err *err)
{
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		r = pass_pools(st, each, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_usage_named(struct store *s, const struct store_period *p,
		      const struct store_names *names, const struct store_usage_each *each,
		      struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < names->n && r >= 0; i += NAMES) {
		const struct store_names some = { names->names + i, names->n - i };
		struct db_row *st;

		r = query_some(s, p, &some, &st, err);
		if (r >= 0)
			r = pass_some(s, st, each, err);
	}
	return r;
}
