/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - GET /v1/quota: what is left of the allocations of accounts. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/submit/submit.h"
#include "controller/api/usage/usage.h"
#include "controller/accounts/accounts.h"
#include "controller/api/call.h"
#include "controller/api/authz.h"
#include "controller/quota/quota.h"

struct views {
	struct call *c;
	json_t *quotas;
};

/* Removes the figures of other users, for callers without authz_sees_usage(). */
static void hide_others(json_t *users, const char *user)
{
	for (size_t i = json_array_size(users); i-- > 0;) {
		const json_t *u = json_object_get(json_array_get(users, i), "user");

		if (strcmp(json_string_value(u), user) != 0)
			json_array_remove(users, i);
	}
}

static int add_view(void *ctx, const struct quota_view *v, struct err *err)
{
	struct views *l = ctx;
	json_t *j = quota_encode(l->c->api->c.config, v);
	const char *whose = v->has_allocation ? v->owner : v->account;

	if (!j || json_array_append_new(l->quotas, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (authz_sees_usage(l->c, whose))
		return 0;
	hide_others(json_object_get(j, "users"), l->c->user);
	return json_object_set_new(j, "narrowed_to", json_string(l->c->user)) < 0
		       ? err_set(err, -ENOMEM, "out of memory")
		       : 0;
}

/* The views of the requested account, or of all that the caller is in or coordinates. */
static int find_views(struct views *l, struct quota_query *ask, const char *account,
		      struct err *err)
{
	const struct quota_site site = submit_quota_site(l->c);
	const struct quota_each each = { add_view, l };
	const struct accounts *a = site.accounts;
	int r = 0;

	if (account && authz_role_of(l->c, account) == AUTHZ_STRANGER)
		return err_set(err, -ENOENT,
			       "no account '%.64s', or you are not a member of it", account);
	ask->account = account;
	if (account)
		return quota_get_views(&site, ask, &each, err);
	for (size_t i = 0; i < a->n_accounts && r >= 0; i++) {
		if (!accounts_member(a, (int32_t)i, l->c->user) &&
		    !accounts_is_coordinator(a, (int32_t)i, l->c->user))
			continue;
		ask->account = a->accounts[i].name;
		r = quota_get_views(&site, ask, &each, err);
	}
	return r;
}

static int read_ask(struct call *c, struct quota_query *ask, struct err *err)
{
	const char *at = call_query_text(c, "at"), *cluster = call_query_text(c, "cluster");
	int64_t at_ns;
	int r;

	*ask = (struct quota_query){ .cluster = cluster ? cluster : "",
				     .now_ns = api_now_ns(),
				     .at_day = QUOTA_NOW,
				     .parts = QUOTA_ACTIVE | QUOTA_USERS | QUOTA_MONTHS };
	if (cluster && !config_cluster(c->api->c.config, cluster))
		return err_set(err, -ENOENT, "no cluster '%.64s'", cluster);
	if (!at)
		return 0;
	r = store_parse_at(c->api->c.store, at, &at_ns, err);
	if (r >= 0)
		ask->at_day = (int32_t)store_day(c->api->c.store, at_ns - 1);
	return r;
}

int route_quota(struct call *c, struct err *err)
{
	struct views l = { .c = c, .quotas = json_array() };
	struct quota_query ask;
	int r;

	c->answer = wire_new();
	if (!c->answer || json_object_set_new(c->answer, "quotas", l.quotas) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	r = read_ask(c, &ask, err);
	return r < 0 ? r : find_views(&l, &ask, call_query_text(c, "account"), err);
}
