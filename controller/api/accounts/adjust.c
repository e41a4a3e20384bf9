/* SPDX-License-Identifier: GPL-2.0-or-later */
/* adjust.c - POST and GET /v1/adjustments: operators refund, recharge, and list what they did.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/fields.h"
#include "controller/api/accounts/accounts.h"
#include "controller/api/usage/share_update.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/adjust.h"

#define CHARGE_MAX INT64_MAX /* the store has its own, smaller one */

struct words {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	char pool[8], day[CALENDAR_DAY_MAX], reason[STORE_REASON_MAX + 1];
};

static const struct wire_field word_fields[] = {
	WIRE_CHARS(struct words, cluster, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, account, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, user, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, pool, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, day, WIRE_OPTIONAL),
	WIRE_CHARS(struct words, reason, 0),
	WIRE_END,
};

static json_t *encode_adjustment(const struct store_adjustment *a)
{
	_cleanup_doc_ struct doc d = doc_object();
	char day[CALENDAR_DAY_MAX];

	doc_int(&d, "id", a->id);
	doc_int(&d, "at_ns", a->at_ns);
	doc_text(&d, "day", calendar_format_day(a->day, day));
	doc_text(&d, "author", a->author);
	doc_text(&d, "cluster", a->cluster);
	doc_text(&d, "account", a->account);
	doc_text(&d, "user", a->user);
	doc_text(&d, "pool", charge_pool_name(a->pool));
	doc_text(&d, "reason", a->reason);
	doc_int(&d, "charge_ms", a->charge_ms);
	if (a->job)
		doc_int(&d, "job", a->job);
	return doc_take(&d);
}

static int add_to_list(void *ctx, const struct store_adjustment *a, struct err *err)
{
	if (json_array_append_new(ctx, encode_adjustment(a)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int check_operator(struct call *c, struct err *err)
{
	return call_check_operator(c, "only operators adjust what was charged",
				   "ask an operator", err);
}

static int read_pool(const char *word, enum charge_pool *ret, struct err *err)
{
	for (int p = 0; p < _CHARGE_POOL_MAX; p++)
		if (!*word || !strcmp(word, charge_pool_name((enum charge_pool)p))) {
			*ret = (enum charge_pool)p;
			return 0;
		}
	return err_set(err, -EINVAL, "pool: '%s' is neither cpu nor gpu", word);
}

static const char *or_null(const char *text)
{
	return *text ? text : NULL;
}

static int read_entry(const struct call *c, struct words *w, struct store_adjustment *ret,
		      struct err *err)
{
	const int64_t none = 0;
	int r = wire_decode_fields(word_fields, c->body, w, err);

	if (r < 0)
		return r;
	*ret = (struct store_adjustment){ .at_ns = api_now_ns(),
					  .day = STORE_DAY_OF_ENTRY,
					  .author = c->user,
					  .reason = w->reason,
					  .cluster = or_null(w->cluster),
					  .account = or_null(w->account),
					  .user = or_null(w->user) };
	r = wire_get_int(c->body, "charge_ms",
			 (struct wire_int){ -CHARGE_MAX, CHARGE_MAX, NULL }, &ret->charge_ms,
			 err);
	if (r < 0)
		return r;
	r = wire_get_int(c->body, "job", (struct wire_int){ 0, INT64_MAX, &none }, &ret->job,
			 err);
	if (r < 0)
		return r;
	r = read_pool(w->pool, &ret->pool, err);
	if (r < 0)
		return r;
	if (*w->day && calendar_parse_day(w->day, &ret->day) < 0)
		return err_set(err, -EINVAL, "day: '%s' is not a day like 2026-11-21", w->day);
	return 0;
}

struct written {
	struct api *api;
	json_t *list;
};

/* Called by the ledger for each entry it has written; the share tree gets it as well. */
static int add_written(void *ctx, const struct store_adjustment *a, struct err *err)
{
	const struct written *w = ctx;

	share_update_adjustment(w->api, a);
	return add_to_list(w->list, a, err);
}

int route_adjust(struct call *c, struct err *err)
{
	struct store_adjustment a;
	struct written w = { .api = c->api };
	struct words words = { .cluster = "" };
	int r = check_operator(c, err);

	if (r < 0)
		return r;
	r = read_entry(c, &words, &a, err);
	if (r < 0)
		return r;
	r = call_open_list(c, "adjustments", &w.list, err);
	if (r < 0)
		return r;
	r = store_adjust(c->api->c.store, &a, add_written, &w, err);
	if (r == -ERANGE)
		return call_refuse(c, 409, "not-charged", "see GET /v1/adjustments?job=");
	if (r >= 0)
		c->status = 201;
	return r;
}

int route_entries(struct call *c, struct err *err)
{
	struct store_adjustments which = { .cluster = call_query_text(c, "cluster"),
					   .account = call_query_text(c, "account"),
					   .user = call_query_text(c, "user") };
	json_t *list;
	int r = check_operator(c, err);

	if (r >= 0)
		r = call_query_int(c, "job", (struct wire_int){ 1, INT64_MAX, &which.job },
				   &which.job, err);
	if (r >= 0)
		r = call_open_list(c, "adjustments", &list, err);
	return r < 0 ? r : store_adjustments(c->api->c.store, &which, add_to_list, list, err);
}
