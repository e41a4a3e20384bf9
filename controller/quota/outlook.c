/* outlook.c - see outlook.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/outlook.h"

#define RECENT_DAYS 30
#define HOUR_NS INT64_C(3600000000000)
#define YEAR_MS (8760 * INT64_C(3600000))
#define PPM 1000000

/* A row of store_usage() that is kept. */
struct kept {
	struct store_usage usage;
	char key[REQUEST_NAME_MAX];
	char pool[16];
	int64_t counts_ms, recent_ms;
	int32_t account; /* index, or -1 */
};

struct gather {
	const struct quota_site *site;
	const struct outlook_ask *ask;
	struct kept *rows;
	size_t n, size, next; /* next: of the rows, for add_recent() */
	bool *has_below;      /* by account */
	int64_t passed_ns, whole_ns, recent_ns;
	int64_t recent_from; /* day */
};

static int64_t counts(const struct store_usage *u)
{
	int64_t sum;

	return __builtin_add_overflow(u->charge_requested_ms, u->adjusted_ms, &sum) ? INT64_MAX
										    : sum;
}

static int keep_row(void *ctx, const struct store_usage *u, struct err *err)
{
	struct gather *g = ctx;
	struct kept *k;

	if (g->n == g->size) {
		size_t size = g->size ? g->size * 2 : 64;
		struct kept *more = realloc(g->rows, size * sizeof(*more));

		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		g->rows = more;
		g->size = size;
	}
	k = &g->rows[g->n++];
	*k = (struct kept){ .usage = *u, .counts_ms = counts(u), .account = -1 };
	snprintf(k->key, sizeof(k->key), "%s", u->key);
	snprintf(k->pool, sizeof(k->pool), "%s", u->pool);
	if (g->site->accounts && g->ask->period.by == STORE_BY_ACCOUNT)
		k->account = accounts_find(g->site->accounts, k->key);
	return 0;
}

/* Both queries give their rows in the same order; one of late has its row in the period too. */
static int add_recent(void *ctx, const struct store_usage *u, struct err *err)
{
	struct gather *g = ctx;

	(void)err;
	while (g->next < g->n && (strcmp(g->rows[g->next].key, u->key) != 0 ||
				  strcmp(g->rows[g->next].pool, u->pool) != 0))
		g->next++;
	if (g->next < g->n)
		g->rows[g->next].recent_ms = counts(u);
	return 0;
}

/* What was charged on days that begin after now has not happened. */
static int read_rows(struct gather *g, struct err *err)
{
	int64_t until = store_day(g->site->store, g->ask->now_ns - 1) + 1;
	struct store_period late = g->ask->period;
	int r;

	if (until < late.to_day && g->passed_ns > 0)
		late.to_day = until;
	r = store_usage(g->site->store, &late, keep_row, g, err);
	late.from_day = g->recent_from;
	if (r < 0 || g->passed_ns <= 0 || late.each != STORE_EACH_PERIOD)
		return r;
	return store_usage(g->site->store, &late, add_recent, g, err);
}

/* ---- the period ---- */

static void find_time(struct gather *g, struct outlook_period *ret)
{
	const struct store_period *p = &g->ask->period;
	struct store *s = g->site->store;
	int64_t now = g->ask->now_ns, start, end, today;

	*ret = (struct outlook_period){ .from_day = p->from_day, .to_day = p->to_day };
	if (p->from_day == INT32_MIN || p->to_day == INT32_MAX || p->to_day <= p->from_day)
		return; /* without bounds there is no part of it */
	start = store_first_ns(s, p->from_day);
	end = store_first_ns(s, p->to_day);
	g->whole_ns = end - start;
	if (now >= end)
		ret->gone_ppm = PPM;
	if (now <= start || now >= end)
		return;
	today = store_day(s, now - 1); /* midnight is the end of a whole day */
	g->passed_ns = now - start;
	g->recent_from =
		today - RECENT_DAYS + 1 > p->from_day ? today - RECENT_DAYS + 1 : p->from_day;
	g->recent_ns = now - store_first_ns(s, g->recent_from);
	ret->gone_ppm = (int64_t)((__int128)g->passed_ns * PPM / g->whole_ns);
	ret->is_open = true;
}

/* ---- allocations ---- */

struct overlap {
	int64_t from, to; /* days */
};

static struct overlap overlap_of(const struct accounts_allocation *a,
				 const struct store_period *p)
{
	return (struct overlap){ a->from_day > p->from_day ? a->from_day : p->from_day,
				 a->to_day < p->to_day ? a->to_day : p->to_day };
}

/* Of one allocation within the period; 0 when it is outside. */
static int allotted(const struct gather *g, const struct accounts_allocation *a, int64_t *ret)
{
	struct store *s = g->site->store;
	struct overlap o = overlap_of(a, &g->ask->period);
	int64_t months;

	*ret = 0;
	if (o.to <= o.from)
		return 0;
	switch (a->kind) {
	case ACCOUNTS_TARGET:
		return charge_requested(
			a->amount, store_first_ns(s, o.to) - store_first_ns(s, o.from), ret);
	case ACCOUNTS_MONTHLY: /* months that begin within */
		months = calendar_month(o.to - 1) - calendar_month(o.from) + 1;
		if (calendar_month_first(calendar_month(o.from)) < o.from)
			months--;
		return charge_requested(a->amount, months * HOUR_NS, ret);
	case ACCOUNTS_GRANT:
		if (a->from_day < g->ask->period.from_day)
			return 0;
		return charge_requested(a->amount, HOUR_NS, ret);
	default:
		return 0;
	}
}

static int add_allocations(const struct gather *g, const struct kept *k,
			   struct outlook_row *row, struct err *err)
{
	const struct accounts *a = g->site->accounts;
	const char *name = a->accounts[k->account].name;

	for (size_t i = 0; i < a->n_allocations; i++) {
		const struct accounts_allocation *n = &a->allocations[i];
		int64_t ms;

		if (n->account != k->account || strcmp(charge_pool_name(n->pool), k->pool) != 0)
			continue;
		if (allotted(g, n, &ms) < 0 ||
		    __builtin_add_overflow(row->allocation_ms, ms, &row->allocation_ms))
			return err_set(err, -ERANGE,
				       "the allocations of account %s are too large", name);
		row->has_allocation |= ms > 0;
	}
	return 0;
}

static int find_below(struct gather *g, struct err *err)
{
	const struct accounts *a = g->site->accounts;

	if (!a || a->n_accounts == 0)
		return 0;
	g->has_below = calloc(a->n_accounts, sizeof(*g->has_below));
	if (!g->has_below)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_accounts; i++)
		if (a->accounts[i].parent >= 0)
			g->has_below[a->accounts[i].parent] = true;
	return 0;
}

/* Its own and that of all accounts below. */
static void sum_below(const struct gather *g, const struct kept *k, int64_t *ret_used,
		      int64_t *ret_recent)
{
	*ret_used = k->counts_ms;
	*ret_recent = k->recent_ms;
	if (!g->has_below[k->account])
		return;
	for (size_t i = 0; i < g->n; i++) {
		const struct kept *o = &g->rows[i];

		if (o == k || o->account < 0 || strcmp(o->pool, k->pool) != 0 ||
		    !accounts_is_within(g->site->accounts, o->account, k->account))
			continue;
		*ret_used += o->counts_ms;
		*ret_recent += o->recent_ms;
	}
}

static int tell(const struct gather *g, struct kept *k, const struct outlook_each *each,
		struct err *err)
{
	struct outlook_row row = { .usage = &k->usage,
				   .counts_ms = k->counts_ms,
				   .with_below_ms = k->counts_ms };
	struct target_pace pace = { .use = { 0, k->recent_ms, g->recent_ns },
				    .whole_ns = g->whole_ns,
				    .passed_ns = g->passed_ns };
	int r = 0;

	k->usage.key = k->key;
	k->usage.pool = k->pool;
	if (k->account >= 0 && g->ask->period.each == STORE_EACH_PERIOD)
		r = add_allocations(g, k, &row, err);
	if (r < 0)
		return r;
	if (row.has_allocation) {
		sum_below(g, k, &row.with_below_ms, &pace.use.recent_ms);
		row.used_ppm = row.with_below_ms <= 0 ? 0
						      : (int64_t)((__int128)row.with_below_ms *
								  PPM / row.allocation_ms);
	}
	pace.use.used_ms = row.with_below_ms;
	/* Refunds of late may outweigh what was used of late: then it was nothing. */
	if (pace.use.recent_ms < 0)
		pace.use.recent_ms = 0;
	row.has_projection = g->ask->period.each == STORE_EACH_PERIOD &&
			     target_project(&pace, &row.by_year_ms, &row.by_recent_ms) == 0;
	return each->fn(each->ctx, &row, err);
}

int outlook_usage(const struct quota_site *site, const struct outlook_ask *ask,
		  const struct outlook_each *each, struct outlook_period *ret, struct err *err)
{
	struct gather g = { .site = site, .ask = ask };
	int r;

	find_time(&g, ret);
	r = find_below(&g, err);
	if (r >= 0)
		r = read_rows(&g, err);
	for (size_t i = 0; i < g.n && r >= 0; i++)
		r = tell(&g, &g.rows[i], each, err);
	free(g.rows);
	free(g.has_below);
	return r;
}

void outlook_year(const struct config *c, int64_t day, int64_t *ret_from, int64_t *ret_to)
{
	const struct config_policy *p = &c->policy;
	/* Months are numbered on, so the year's start is one month of each twelve. */
	int64_t month = calendar_month(day), into;
	int64_t first = p->year_start_month - 1, from;

	into = (month - first) % 12;
	from = month - into;
	if (calendar_month_first(from) + p->year_start_day - 1 > day)
		from -= 12;
	*ret_from = calendar_month_first(from) + p->year_start_day - 1;
	*ret_to = calendar_month_first(from + 12) + p->year_start_day - 1;
}

/* ---- the document ---- */

const char *outlook_years(int64_t ms, char buf[static OUTLOOK_YEARS_MAX])
{
	__int128 micro = (__int128)(ms < 0 ? -(__int128)ms : ms) * PPM;
	int64_t n = (int64_t)((micro + YEAR_MS / 2) / YEAR_MS);

	snprintf(buf, OUTLOOK_YEARS_MAX, "%s%" PRId64 ".%06" PRId64, ms < 0 && n ? "-" : "",
		 n / PPM, n % PPM);
	return buf;
}

static void set_years(json_t *j, const char *key, int64_t ms)
{
	char buf[OUTLOOK_YEARS_MAX];

	json_object_set_new(j, key, json_string(outlook_years(ms, buf)));
}

static void set_int(json_t *j, const char *key, int64_t n)
{
	json_object_set_new(j, key, json_integer(n));
}

static void set_figures(json_t *j, const struct store_usage *u)
{
	set_int(j, "jobs_started", u->jobs_started);
	set_int(j, "jobs_ended", u->jobs_ended);
	set_int(j, "running_ms", u->running_ms);
	set_int(j, "suspended_ms", u->suspended_ms);
	set_int(j, "cpu_ms", u->cpu_ms);
	set_int(j, "core_ms", u->core_ms);
	set_int(j, "gpu_ms", u->gpu_ms);
	set_int(j, "charge_requested_ms", u->charge_requested_ms);
	set_int(j, "charge_used_ms", u->charge_used_ms);
	set_int(j, "adjusted_ms", u->adjusted_ms);
	set_years(j, "core_years", u->core_ms);
	set_years(j, "gpu_years", u->gpu_ms);
}

static void set_outlook(json_t *j, const struct outlook_row *row)
{
	set_int(j, "counts_ms", row->counts_ms);
	set_years(j, "counts_years", row->counts_ms);
	if (row->has_allocation) {
		set_int(j, "allocation_ms", row->allocation_ms);
		set_years(j, "allocation_years", row->allocation_ms);
		set_int(j, "with_below_ms", row->with_below_ms);
		set_int(j, "used_ppm", row->used_ppm);
	}
	if (row->has_projection) {
		set_int(j, "projected_by_year_ms", row->by_year_ms);
		set_int(j, "projected_by_recent_ms", row->by_recent_ms);
		set_years(j, "projected_by_year_years", row->by_year_ms);
		set_years(j, "projected_by_recent_years", row->by_recent_ms);
	}
}

struct document {
	const struct store_period *p;
	json_t *rows;
};

static int encode_row(void *ctx, const struct outlook_row *row, struct err *err)
{
	static const char *const by[] = { [STORE_BY_ACCOUNT] = "account",
					  [STORE_BY_USER] = "user",
					  [STORE_BY_CLUSTER] = "cluster" };
	const struct document *d = ctx;
	const struct store_usage *u = row->usage;
	json_t *j = json_pack("{s:s,s:s}", by[d->p->by], u->key, "pool", u->pool);
	char month[CALENDAR_DAY_MAX];

	if (!j || json_array_append_new(d->rows, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (d->p->each == STORE_EACH_MONTH)
		json_object_set_new(j, "month",
				    json_string(calendar_format_month(u->month, month)));
	set_figures(j, u);
	set_outlook(j, row);
	return 0;
}

static void set_day(json_t *j, const char *key, int64_t day)
{
	char text[CALENDAR_DAY_MAX];

	if (day != INT32_MIN && day != INT32_MAX)
		json_object_set_new(j, key, json_string(calendar_format_day(day, text)));
}

int outlook_head(const struct quota_site *site, const struct outlook_ask *ask,
		 const struct outlook_each *each, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	struct outlook_period period;
	int r = doc ? outlook_usage(site, ask, each, &period, err)
		    : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	json_object_set_new(doc, "time_zone", json_string(store_zone(site->store)));
	set_day(doc, "start", period.from_day);
	set_day(doc, "end", period.to_day);
	if (period.is_open)
		set_int(doc, "gone_ppm", period.gone_ppm);
	*ret = TAKE_PTR(doc);
	return 0;
}

int outlook_document(const struct quota_site *site, const struct outlook_ask *ask, json_t **ret,
		     struct err *err)
{
	_cleanup_json_ json_t *rows = json_array();
	struct document d = { &ask->period, rows };
	const struct outlook_each each = { encode_row, &d };
	json_t *doc = NULL;
	int r = rows ? outlook_head(site, ask, &each, &doc, err)
		     : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	json_object_set(doc, "rows", rows);
	*ret = doc;
	return 0;
}
