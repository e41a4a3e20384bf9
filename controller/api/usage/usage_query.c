/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_query.c - reads the query of GET /v1/usage and narrows it to what the caller may see; see
 * usage_query.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/accounts/accounts.h"
#include "controller/api/authz.h"
#include "controller/api/usage/usage_query.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/usage_names.h"

#define PERIODS_MAX 12 /* allocation years or quarters */
#define LIMIT_MAX 100000

/* ---- whose ---- */

/* The accounts of which the caller sees all users; of one account, those below it too. */
static int list_accounts(const struct call *c, struct usage_query *q, int32_t top,
			 struct err *err)
{
	const struct accounts *a = c->api->accounts;

	q->names = calloc(a->n_accounts + 1, sizeof(*q->names));
	if (!q->names)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < a->n_accounts; i++)
		if (top >= 0 ? accounts_is_within(a, (int32_t)i, top)
			     : authz_sees_usage(c, a->accounts[i].name))
			q->names[q->scope.n++] = a->accounts[i].name;
	q->scope.accounts = q->names;
	q->ask.period.scope = &q->scope;
	return 0;
}

/* scope=group: an account with all below it; without one, all accounts whose usage the caller may see, and
 * their own in the others. */
static int read_group(struct call *c, struct usage_query *q, struct err *err)
{
	struct store_period *p = &q->ask.period;
	int32_t top = p->account ? accounts_find(c->api->accounts, p->account) : -1;
	int r;

	if (p->account || (p->user && !strcmp(p->user, c->user))) {
		r = authz_narrow_usage(c, p->account, &p->user, err);
		if (r >= 0 && top >= 0)
			r = list_accounts(c, q, top, err);
		if (r >= 0 && top >= 0)
			p->account = NULL;
		return r;
	}
	if (c->is_operator)
		return 0;
	r = list_accounts(c, q, -1, err);
	if (r >= 0 && q->scope.n == 0 && p->user)
		return authz_narrow_usage(c, NULL, &p->user, err); /* refuses */
	q->scope.own_user = c->user;
	return r;
}

static int read_scope(struct call *c, struct usage_query *q, struct err *err)
{
	const char *text = call_query_text(c, "scope");
	struct store_period *p = &q->ask.period;

	if (!text)
		return authz_narrow_usage(c, p->account, &p->user, err);
	if (strcmp(text, "group") != 0)
		return err_set(err, -EINVAL, "scope=%.40s: it is group, or left out", text);
	return read_group(c, q, err);
}

/* ---- of what, by what ---- */

/* by=month: all in one row a month and pool. */
static int read_by(const struct call *c, struct store_period *p, struct err *err)
{
	const char *text = call_query_text(c, "by");
	enum store_by by[2] = { STORE_BY_ACCOUNT, STORE_BY_NONE };
	int64_t monthly = 0;
	int r = call_query_int(c, "monthly", (struct wire_int){ 0, 1, &(int64_t){ 0 } },
			       &monthly, err);

	if (r >= 0 && text && !strcmp(text, "month")) {
		monthly = 1;
		by[0] = STORE_BY_NONE;
	} else if (r >= 0 && text) {
		r = store_by_parse(text, by, err);
	}
	p->by = by[0];
	p->second = by[1];
	p->each = monthly ? STORE_EACH_MONTH : STORE_EACH_PERIOD;
	return r;
}

/* `at` of the query: charges after that moment are left out. Default: now. */
static int read_at(const struct call *c, struct projection_query *ask, struct err *err)
{
	const char *at = call_query_text(c, "at");
	int64_t at_ns;
	int r = at ? store_parse_at(c->api->c.store, at, &at_ns, err) : 0;

	ask->now_ns = api_now_ns();
	if (r >= 0 && at && at_ns < ask->now_ns) {
		ask->now_ns = at_ns;
		ask->is_past = true;
	}
	return r;
}

/* Reads the period; default: the allocation year of that moment. */
static int read_period(const struct call *c, int64_t at_ns, struct store_period *p,
		       struct err *err)
{
	int64_t today = store_day(c->api->c.store, at_ns - 1);
	int r;

	p->from_day = INT32_MIN;
	p->to_day = INT32_MAX;
	if (!call_query_text(c, "start") && !call_query_text(c, "end"))
		projection_find_year(c->api->c.config, today, &p->from_day, &p->to_day);
	r = call_query_day(c, "start", p->from_day, &p->from_day, err);
	return r < 0 ? r : call_query_day(c, "end", p->to_day, &p->to_day, err);
}

int usage_query_read(struct call *c, const struct quota_site *site, struct usage_query *ret,
		     struct err *err)
{
	const struct usage_names names = { site, c->is_operator ? NULL : c->user };
	struct store_period *p = &ret->ask.period;
	int64_t limit = 0;
	int r;

	*ret = (struct usage_query){ 0 };
	p->account = call_query_text(c, "account");
	p->user = call_query_text(c, "user");
	p->cluster = call_query_text(c, "cluster");
	r = usage_names_check_period(&names, p, err);
	if (r >= 0)
		r = read_scope(c, ret, err);
	if (r >= 0)
		r = read_by(c, p, err);
	if (r >= 0)
		r = read_at(c, &ret->ask, err);
	if (r >= 0)
		r = read_period(c, ret->ask.now_ns, p, err);
	if (r >= 0)
		r = call_query_int(c, "limit",
				   (struct wire_int){ 1, LIMIT_MAX, &(int64_t){ 0 } }, &limit,
				   err);
	ret->ask.limit = (size_t)limit;
	return r;
}

void usage_query_done(struct usage_query *q)
{
	free(q->names);
	q->names = NULL;
}

/* ---- the periods ---- */

static void add_period(struct doc *to, const char *label, int64_t from, int64_t until)
{
	char start[CALENDAR_DAY_MAX], end[CALENDAR_DAY_MAX];
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "label", label);
	doc_text(&d, "start", calendar_format_day(from, start));
	doc_text(&d, "end", calendar_format_day(until, end));
	doc_add(to, doc_take(&d));
}

/* "2026" of a calendar year, "2026/27" of another, "2026-04" of a quarter. */
static void format_label(const struct config *c, int64_t from, char *buf, size_t size)
{
	int year = (int)(calendar_month(from) / 12);
	char month[CALENDAR_DAY_MAX];

	if (c->policy.allocation_period == CONFIG_PERIOD_QUARTER)
		snprintf(buf, size, "from %s",
			 calendar_format_month(calendar_month(from), month));
	else if (c->policy.year_start_month == 1 && c->policy.year_start_day == 1)
		snprintf(buf, size, "%d", year);
	else
		snprintf(buf, size, "%d/%02d", year, (year + 1) % 100);
}

static void add_years(struct doc *to, const struct config *c, int64_t today, int64_t first)
{
	int64_t from = today + 1, until;
	char label[40];

	for (int i = 0; i < PERIODS_MAX && from > first; i++) {
		projection_find_year(c, from - 1, &from, &until);
		format_label(c, from, label, sizeof(label));
		add_period(to, label, from, until);
	}
}

/* Rows of both pools, and of several clusters, stand in one column. `cluster` NULL: all clusters. */
static const char *unit_of(const struct config *c, const char *cluster)
{
	const struct config_cluster *one = config_cluster(c, cluster ? cluster : "");

	for (size_t i = 0; !cluster && i < c->n_clusters; i++)
		if (c->clusters[i]->unit != one->unit)
			return "hours or units of each cluster";
	return !one || one->unit == TARIFF_EQUIVALENTS
		       ? "equivalent hours"
		       : tariff_amount_name((enum tariff_unit)one->unit, CHARGE_POOL_CPU);
}

int usage_query_add_periods(const struct quota_site *site, const struct projection_query *ask,
			    json_t *doc, struct err *err)
{
	const int64_t now_ns = ask->now_ns;
	int64_t today = store_day(site->store, now_ns - 1), month = calendar_month(today),
		first = today;
	_cleanup_doc_ struct doc periods = doc_array();
	_cleanup_doc_ struct doc d = doc_edit(doc);
	int r = store_usage_first_day(site->store, &first, err);

	if (r < 0)
		return r;
	add_period(&periods, "this month", calendar_month_first(month),
		   calendar_month_first(month + 1));
	add_period(&periods, "last month", calendar_month_first(month - 1),
		   calendar_month_first(month));
	add_years(&periods, site->config, today, first);
	doc_set(&d, "periods", doc_take(&periods));
	doc_text(&d, "unit", unit_of(site->config, ask->period.cluster));
	doc_bool(&d, "has_targets", site->config->policy.quota == CONFIG_QUOTA_TARGET);
	return doc_check(&d, err);
}
