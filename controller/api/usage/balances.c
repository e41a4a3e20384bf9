/* SPDX-License-Identifier: GPL-2.0-or-later */
/* balances.c - GET /v1/balances: what each account has left, with its users, for operators; the document of
 * `reeve admin balances` comes from it. One answer reads accounts for a bounded time and says where the next one
 * goes on. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/accounts/accounts.h"
#include "controller/api/authz.h"
#include "controller/api/call.h"
#include "controller/api/submit/submit.h"
#include "controller/api/usage/usage.h"
#include "controller/quota/quota.h"

#define READ_NS (20 * INT64_C(1000000)) /* accounts are read for no longer in one answer */

struct reading {
	struct call *c;
	int32_t account;
	enum charge_pool pool;
	json_t *rows;
};

/* A target refuses nothing: what is left of it may become negative. */
static int64_t find_available(const struct quota_view *v)
{
	switch (v->rule) {
	case CONFIG_QUOTA_WINDOW:
	case CONFIG_QUOTA_WINDOW_3X:
		return v->window.available;
	case CONFIG_QUOTA_GRANT:
		return v->grant.available;
	default:
		return v->target.total_ms - v->used_ms;
	}
}

/* The members of the account, and its own coordinators that are not among them. */
static json_t *encode_users(const struct accounts *a, int32_t account)
{
	const struct accounts_account *acc = &a->accounts[account];
	const char *rest = acc->coordinators ? acc->coordinators : "";
	_cleanup_doc_ struct doc users = doc_array();
	char name[REQUEST_NAME_MAX];

	for (size_t i = 0; i < acc->n_members; i++)
		doc_add(&users, json_string(acc->members[i].user));
	while ((rest = config_next_name(rest, name)))
		if (!accounts_member(a, account, name))
			doc_add(&users, json_string(name));
	return doc_take(&users);
}

static int add_view(void *ctx, const struct quota_view *v, struct err *err)
{
	const struct reading *r = ctx;
	const struct api *api = r->c->api;
	_cleanup_doc_ struct doc d = doc_object();

	if (!v->has_allocation || v->pool != r->pool)
		return 0;
	doc_text(&d, "account", v->account);
	doc_text(&d, "cluster", v->allocation_cluster);
	doc_text(&d, "unit", quota_unit(api->c.config, v));
	doc_int(&d, "available_ms", find_available(v));
	doc_set(&d, "users", encode_users(api->accounts, r->account));
	if (json_array_append_new(r->rows, doc_take(&d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int set_next(struct call *c, const char *account, struct err *err)
{
	if (json_object_set_new(c->answer, "next", json_string(account)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

/* At least one account in each answer, so that the reader advances however slow the ledger is. */
static int read_some(struct reading *reading, const char *cluster, struct err *err)
{
	struct call *c = reading->c;
	const struct quota_site site = submit_quota_site(c);
	const int64_t until_ns = api_monotonic_ns() + READ_NS;
	const struct quota_each each = { add_view, reading };
	const struct accounts *a = site.accounts;
	struct quota_query ask = { .cluster = cluster,
				   .now_ns = api_now_ns(),
				   .at_day = QUOTA_NOW };
	size_t i = accounts_find_next(a, call_query_text(c, "after"));
	int r = 0;

	for (; a && i < a->n_accounts && r >= 0; i++) {
		reading->account = (int32_t)i;
		ask.account = a->accounts[i].name;
		r = quota_get_views(&site, &ask, &each, err);
		if (r >= 0 && i + 1 < a->n_accounts && api_monotonic_ns() >= until_ns)
			return set_next(c, ask.account, err);
	}
	return r;
}

int route_balances(struct call *c, struct err *err)
{
	const char *cluster = call_query_text(c, "cluster"), *pool = call_query_text(c, "pool");
	struct reading reading = { .c = c, .rows = json_array() };

	c->answer = wire_new();
	if (!c->answer || json_object_set_new(c->answer, "balances", reading.rows) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (!c->is_operator) {
		err_set(err, 0, "only operators read the balances of all accounts");
		return call_refuse(c, 403, NULL, "reeve quota shows those of your accounts");
	}
	if (cluster && !config_cluster(c->api->c.config, cluster))
		return err_set(err, -ENOENT, "no cluster '%.64s'", cluster);
	if (pool && strcmp(pool, "cpu") && strcmp(pool, "gpu"))
		return err_set(err, -EINVAL, "pool: '%.32s' is neither cpu nor gpu", pool);
	reading.pool = pool && !strcmp(pool, "gpu") ? CHARGE_POOL_GPU : CHARGE_POOL_CPU;
	return read_some(&reading, cluster ? cluster : "", err);
}
