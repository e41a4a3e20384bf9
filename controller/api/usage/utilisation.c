/* SPDX-License-Identifier: GPL-2.0-or-later */
/* utilisation.c - GET /v1/utilisation: what a cluster could compute on each day and what of it was charged, the accounts that used most,
 * the users whose cores were idle most, and how long jobs waited. All from sums: no job is read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/authz.h"
#include "controller/api/usage/usage.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/nodes/record.h"
#include "controller/ledger/usage/day_sums.h"
#include "controller/ledger/usage/queue_waits.h"

#define DAYS_DEFAULT 30
#define TOP 10 /* accounts and users */

struct utilisation {
	struct call *c;
	struct store_day_sums_ask ask;
	struct store_day_sums *sums;
	struct capacity_day *capacity; /* of each day */
	int64_t n_days, since_ns, now_ns;
};

static void utilisation_done(struct utilisation *u)
{
	store_day_sums_free(u->sums);
	free(u->capacity);
}

/* ---- days ---- */

static void set_use(struct doc *d, const char *what,
		    const int64_t by_state[static _CAPACITY_STATE_MAX], int64_t charged)
{
	const struct capacity_use use = capacity_split(by_state, charged);
	_cleanup_doc_ struct doc one = doc_object();

	doc_int(&one, "charged_ms", use.charged);
	doc_int(&one, "free_ms", use.free);
	doc_int(&one, "drained_ms", use.drained);
	doc_int(&one, "down_ms", use.down);
	doc_int(&one, "all_ms", use.charged + use.free + use.drained + use.down);
	doc_set(d, what, doc_take(&one));
}

/* "recorded": nodes were recorded on the whole day; else what was free, drained and down is not known. */
static json_t *encode_day(const struct utilisation *u, int64_t i)
{
	const struct store_day_sum *sum = store_day_sums_day(u->sums, i);
	int64_t day = u->ask.from_day + i, first = store_first_ns(u->c->api->c.store, day);
	_cleanup_doc_ struct doc d = doc_object();
	char text[CALENDAR_DAY_MAX];

	doc_text(&d, "day", calendar_format_day(day, text));
	doc_bool(&d, "recorded", u->since_ns > 0 && u->since_ns <= first);
	set_use(&d, "cores", u->capacity[i].core_ms, sum->core_ms);
	set_use(&d, "gpus", u->capacity[i].gpu_ms, sum->gpu_ms);
	return doc_take(&d);
}

static json_t *encode_days(const struct utilisation *u)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (int64_t i = 0; i < u->n_days; i++)
		doc_add(&a, encode_day(u, i));
	return doc_take(&a);
}

/* ---- accounts and users ---- */

static json_t *encode_name(const char *key, const struct store_day_sum *s)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, key, s->name);
	doc_int(&d, "core_ms", s->core_ms);
	doc_int(&d, "gpu_ms", s->gpu_ms);
	if (s->cpu_ms)
		doc_int(&d, "cpu_ms", s->cpu_ms);
	if (s->cpu_ms && s->cpu_ms < s->core_ms)
		doc_int(&d, "idle_core_ms", s->core_ms - s->cpu_ms);
	return doc_take(&d);
}

/* The accounts that used most, of those whose usage the caller may see. */
static json_t *encode_accounts(const struct utilisation *u)
{
	_cleanup_doc_ struct doc a = doc_array();
	const struct store_day_sum *s;
	int n = 0;

	for (size_t i = 0; n < TOP && (s = store_day_sums_account(u->sums, i)); i++)
		if (authz_sees_usage(u->c, s->name)) {
			doc_add(&a, encode_name("account", s));
			n++;
		}
	return doc_take(&a);
}

/* The users with the most idle core time, for operators. */
static json_t *encode_users(const struct utilisation *u)
{
	_cleanup_doc_ struct doc a = doc_array();
	const struct store_day_sum *s;

	for (size_t i = 0;
	     u->c->is_operator && i < TOP && (s = store_day_sums_user(u->sums, i)); i++)
		if (s->cpu_ms && s->cpu_ms < s->core_ms)
			doc_add(&a, encode_name("user", s));
	return doc_take(&a);
}

/* ---- waits ---- */

static json_t *encode_size(const int64_t jobs[static WAITS_BUCKETS], int size)
{
	_cleanup_doc_ struct doc d = doc_object();
	int64_t n = 0;

	for (int i = 0; i < WAITS_BUCKETS; i++)
		n += jobs[i];
	doc_int(&d, "cores_from", waits_first_core(size));
	if (size + 1 < WAITS_SIZES)
		doc_int(&d, "cores_to", waits_first_core(size + 1) - 1);
	doc_int(&d, "jobs", n);
	if (n) {
		doc_int(&d, "median_s", waits_quantile(jobs, 500));
		doc_int(&d, "p90_s", waits_quantile(jobs, 900));
	}
	return doc_take(&d);
}

static int set_waits(const struct utilisation *u, struct doc *d, struct err *err)
{
	const struct store_waits_ask ask = { u->ask.cluster, u->ask.from_day, u->ask.to_day };
	struct store_waits *found = calloc(1, sizeof(*found));
	_cleanup_doc_ struct doc a = doc_array();
	int r = found ? store_waits(u->c->api->c.store, &ask, found, err)
		      : err_set(err, -ENOMEM, "out of memory");

	for (int size = 0; r >= 0 && size < WAITS_SIZES; size++)
		doc_add(&a, encode_size(found->jobs[size], size));
	free(found);
	doc_set(d, "waits", doc_take(&a));
	return r;
}

/* ---- the document ---- */

static int read_ask(struct utilisation *u, struct err *err)
{
	struct store *s = u->c->api->c.store;
	int64_t today = store_day(s, u->now_ns);
	int r = call_query_day(u->c, "end", today + 1, &u->ask.to_day, err);

	if (r >= 0)
		r = call_query_day(u->c, "start", u->ask.to_day - DAYS_DEFAULT,
				   &u->ask.from_day, err);
	u->ask.cluster = call_query_text(u->c, "cluster");
	u->n_days = u->ask.to_day - u->ask.from_day;
	if (r >= 0 && (u->n_days < 1 || u->n_days > STORE_DAY_SUMS_MAX))
		return err_set(err, -EINVAL, "start and end: 1 to %d days, not %lld",
			       STORE_DAY_SUMS_MAX, (long long)u->n_days);
	if (r >= 0 && u->ask.cluster && !config_cluster(u->c->api->c.config, u->ask.cluster))
		return err_set(err, -EINVAL, "there is no cluster '%.64s'", u->ask.cluster);
	return r;
}

static int read_capacity(struct utilisation *u, struct err *err)
{
	struct store *s = u->c->api->c.store;
	struct store_capacity_ask ask = { .cluster = u->ask.cluster,
					  .from_ns = store_first_ns(s, u->ask.from_day),
					  .to_ns = store_first_ns(s, u->ask.to_day) };
	struct capacity_days days = { .first_day = u->ask.from_day, .n = u->n_days };
	int r = store_capacity_since(s, &u->since_ns, err);

	u->capacity = calloc((size_t)u->n_days, sizeof(*u->capacity));
	if (!u->capacity)
		return err_set(err, -ENOMEM, "out of memory");
	days.of = u->capacity;
	if (ask.to_ns > u->now_ns)
		ask.to_ns = u->now_ns;
	return r < 0 ? r : store_capacity(s, &ask, &days, err);
}

static int write_document(const struct utilisation *u, json_t **ret, struct err *err)
{
	struct store *s = u->c->api->c.store;
	_cleanup_doc_ struct doc d = doc_message();
	char text[CALENDAR_DAY_MAX];
	int r;

	doc_set(&d, "days", encode_days(u));
	doc_set(&d, "accounts", encode_accounts(u));
	doc_set(&d, "users", encode_users(u));
	r = set_waits(u, &d, err);
	doc_text(&d, "start", calendar_format_day(u->ask.from_day, text));
	doc_text(&d, "end", calendar_format_day(u->ask.to_day, text));
	doc_text(&d, "time_zone", store_zone(s));
	doc_text_if(&d, "cluster", u->ask.cluster);
	if (u->since_ns)
		doc_text(&d, "nodes_since",
			 calendar_format_day(store_day(s, u->since_ns), text));
	return r < 0 ? r : doc_finish(&d, ret, err);
}

int route_utilisation(struct call *c, struct err *err)
{
	_cleanup_(utilisation_done) struct utilisation u = { .c = c, .now_ns = api_now_ns() };
	int r = read_ask(&u, err);

	if (r >= 0)
		r = store_day_sums(c->api->c.store, &u.ask, &u.sums, err);
	if (r >= 0)
		r = read_capacity(&u, err);
	return r < 0 ? r : write_document(&u, &c->answer, err);
}
