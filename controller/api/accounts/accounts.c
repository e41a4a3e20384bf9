/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts.c - GET and POST /v1/accounts, GET /v1/accounts/log: shows and changes the accounts,
 * and lists the changes. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/log.h"
#include "controller/api/accounts/accounts.h"
#include "controller/accounts/rows.h"
#include "controller/api/accounts/active_accounts.h"
#include "controller/api/authz.h"
#include "controller/ledger/accounts/accounts_change.h"

#define LOG_PAGE_MAX 10000

/* ---- what a caller may read ---- */

/* What the caller may see of an account. ABOVE: only that it exists, since an account of the
 * caller is below it. */
enum sight { SIGHT_NONE, SIGHT_ABOVE, SIGHT_MEMBER, SIGHT_ALL };

/* By account; NULL: out of memory. The caller frees it. */
static enum sight *sights_of(const struct call *c)
{
	const struct accounts *a = c->api->accounts;
	enum sight *sights = calloc(a->n_accounts + 1, sizeof(*sights));

	for (size_t i = 0; sights && i < a->n_accounts; i++) {
		enum authz_role role = authz_role_of(c, a->accounts[i].name);
		int32_t above = a->accounts[i].parent;

		if (role == AUTHZ_STRANGER)
			continue;
		if (sights[i] < (role == AUTHZ_MEMBER ? SIGHT_MEMBER : SIGHT_ALL))
			sights[i] = role == AUTHZ_MEMBER ? SIGHT_MEMBER : SIGHT_ALL;
		/* The users of what a template made are stated in the account above. */
		if (a->accounts[i].is_expanded && sights[above] < SIGHT_MEMBER)
			sights[above] = SIGHT_MEMBER;
		for (; above >= 0; above = a->accounts[above].parent)
			if (sights[above] == SIGHT_NONE)
				sights[above] = SIGHT_ABOVE;
	}
	return sights;
}

static enum sight sight_of(const struct call *c, const enum sight *sights, const char *name)
{
	char account[REQUEST_NAME_MAX];
	int32_t i;

	snprintf(account, sizeof(account), "%.*s", (int)strcspn(name, "/"), name);
	i = accounts_find(c->api->accounts, account);
	return i < 0 ? SIGHT_NONE : sights[i];
}

static bool is_account_seen(const struct call *c, enum sight sight,
			    const struct accounts_row *row)
{
	static const char *const of_the_tree[] = { "", "Parent", "Shares" };

	if (sight == SIGHT_MEMBER)
		return strcmp(row->key, "Users") != 0 || !strcmp(row->item, c->user);
	for (size_t i = 0; sight == SIGHT_ABOVE && i < ARRAY_LEN(of_the_tree); i++)
		if (!strcmp(row->key, of_the_tree[i]))
			return true;
	return sight == SIGHT_ALL;
}

/* May the caller see a statement of accounts.conf? Limits of queues, defaults and templates
 * concern all. */
static bool is_seen(const struct call *c, const enum sight *sights,
		    const struct accounts_row *row)
{
	const char *rest = strchr(row->name, '/');

	if (!strcmp(row->section, "QueueLimits") || !strcmp(row->section, "Default") ||
	    !strcmp(row->section, "Template"))
		return true;
	if (!strcmp(row->section, "User"))
		return !strcmp(row->name, c->user);
	if (!strcmp(row->section, "Account"))
		return is_account_seen(c, sight_of(c, sights, row->name), row);
	if (!strcmp(row->section, "Association") && rest && !strcmp(rest + 1, c->user))
		return true;
	return sight_of(c, sights, row->name) >=
	       (!strcmp(row->section, "Allocation") ? SIGHT_MEMBER : SIGHT_ALL);
}

static int write_seen(const struct call *c, char **ret, struct err *err)
{
	struct accounts_rows all = { 0 }, seen = { 0 };
	_cleanup_free_ enum sight *sights = sights_of(c);
	int r = sights ? accounts_rows_of(c->api->accounts, &all, err) : -ENOMEM;

	for (size_t i = 0; i < all.n && r == 0; i++)
		if (c->is_operator || is_seen(c, sights, &all.rows[i]))
			r = accounts_rows_add(&seen, &all.rows[i]);
	if (r == -ENOMEM)
		err_set(err, -ENOMEM, "out of memory");
	if (r == 0)
		r = accounts_rows_write(&seen, ret, err);
	accounts_rows_done(&all);
	accounts_rows_done(&seen);
	return r;
}

int route_accounts(struct call *c, struct err *err)
{
	_cleanup_free_ char *text = NULL;
	int r = write_seen(c, &text, err);

	if (r < 0)
		return r;
	c->answer = json_pack("{s:s,s:I,s:s,s:b,s:s}", "schema", WIRE_SCHEMA, "revision",
			      (json_int_t)c->api->accounts_revision, "source",
			      c->api->accounts_revision ? "ledger" : "controller.conf",
			      "complete", c->is_operator, "text", text);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* ---- names that controller.conf does not have ---- */

/* An unknown name and where it is stated, for the message. */
struct named {
	const char *what, *of, *name; /* "cluster", "account physics", "narvl" */
};

static void warn_unknown(struct doc *warnings, const struct named *n)
{
	char text[4 * REQUEST_NAME_MAX];

	snprintf(text, sizeof(text), "%s: controller.conf has no %s '%s'", n->of, n->what,
		 n->name);
	doc_add(warnings, json_string(text));
}

static void warn_clusters(const struct config *config, const struct accounts_account *a,
			  struct doc *warnings)
{
	char of[REQUEST_NAME_MAX + 16], name[REQUEST_NAME_MAX];

	snprintf(of, sizeof(of), "account %s", a->name);
	for (const char *p = a->clusters; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (!config_cluster(config, name))
			warn_unknown(warnings, &(struct named){ "cluster", of, name });
	}
}

static void warn_qos(const struct config *config, const struct accounts_account *a,
		     struct doc *warnings)
{
	char name[REQUEST_NAME_MAX], of[REQUEST_NAME_MAX + 16];

	snprintf(of, sizeof(of), "account %s", a->name);
	for (const char *p = a->qos; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL) {
		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (!config_qos(config, name))
			warn_unknown(warnings, &(struct named){ "QOS", of, name });
	}
	if (*a->default_qos && !config_qos(config, a->default_qos))
		warn_unknown(warnings, &(struct named){ "QOS", of, a->default_qos });
}

static bool has_queue(const struct config *config, const char *queue)
{
	for (size_t i = 0; i < config->n_clusters; i++)
		if (config_has_queue(config->clusters[i], queue))
			return true;
	return false;
}

/* Warns, does not refuse: a mistyped name would stop jobs or limit nothing, but the cluster or
 * QOS may be added to controller.conf later. */
static void warn_of_names(const struct config *config, const struct accounts *a,
			  struct doc *warnings)
{
	char of[2 * REQUEST_NAME_MAX + 16];

	for (size_t i = 0; i < a->n_accounts; i++) {
		warn_clusters(config, &a->accounts[i], warnings);
		warn_qos(config, &a->accounts[i], warnings);
	}
	for (size_t i = 0; i < a->n_allocations; i++) {
		const struct accounts_allocation *p = &a->allocations[i];

		if (!*p->cluster || config_cluster(config, p->cluster))
			continue;
		snprintf(of, sizeof(of), "allocation %s/%s", a->accounts[p->account].name,
			 p->label);
		warn_unknown(warnings, &(struct named){ "cluster", of, p->cluster });
	}
	for (size_t i = 0; i < a->n_queues; i++)
		if (!has_queue(config, a->queues[i].name))
			warn_unknown(warnings,
				     &(struct named){ "queue", "limits", a->queues[i].name });
}

/* ---- changes ---- */

static int refuse_others(struct call *c, struct err *err)
{
	if (c->is_operator)
		return 0;
	err_set(err, 0, "only operators change the accounts and see their log");
	return call_refuse(
		c, 403, NULL,
		"ask an operator; 'reeve admin accounts show' lists the accounts that you are in");
}

static int refuse_stale(struct call *c, int64_t revision, struct err *err)
{
	err_set(err, 0,
		"the accounts have revision %" PRId64 " by now, this change is for %" PRId64,
		c->api->accounts_revision, revision);
	return call_refuse(c, 409, "stale", "see 'reeve admin accounts log', and apply again");
}

static int change_accounts(struct call *c, const struct accounts_order *o, struct err *err)
{
	_cleanup_doc_ struct doc warnings = { 0 };
	int r = accounts_change_apply(c->api->c.store, o, &c->answer, err);
	size_t n;

	/* -EBUSY: another process changed the accounts in the ledger. They are read again, and
	 * this change is refused as stale. */
	if (r == -EBUSY && (r = active_accounts_reload(c->api, err)) >= 0)
		return refuse_stale(c, o->revision, err);
	if (r >= 0) {
		warnings = doc_edit(json_object_get(c->answer, "warnings"));
		warn_of_names(c->api->c.config, o->new, &warnings);
	}
	if (r < 0 || !json_is_true(json_object_get(c->answer, "applied")))
		return r;
	n = json_array_size(json_object_get(c->answer, "changes"));
	log_line(LOG_NOTICE, "accounts: %zu change%s by %s", n, n == 1 ? "" : "s", c->user);
	r = active_accounts_reload(c->api, err);
	if (r >= 0)
		api_request_cycle(c->api);
	return r;
}

int route_change_accounts(struct call *c, struct err *err)
{
	_cleanup_(accounts_freep) struct accounts *new = NULL;
	json_t *text = json_object_get(c->body, "text"),
	       *revision = json_object_get(c->body, "revision");
	struct accounts_order o = { .now = c->api->accounts,
				    .author = c->user,
				    .now_ns = api_now_ns() };
	int r = refuse_others(c, err);

	if (r < 0)
		return r;
	if (!json_is_string(text) || !json_is_integer(revision))
		return err_set(err, -EINVAL,
			       "a change has a text, and the revision that it starts from");
	o.revision = json_integer_value(revision);
	o.is_dry_run = json_is_true(json_object_get(c->body, "dry_run"));
	if (o.revision != c->api->accounts_revision)
		return refuse_stale(c, o.revision, err);
	r = accounts_parse(json_string_value(text), json_string_length(text), "the accounts",
			   &new, err);
	o.new = new;
	return r < 0 ? r : change_accounts(c, &o, err);
}

int route_accounts_log(struct call *c, struct err *err)
{
	static const int64_t usual = 100, none = 0;
	struct store_accounts_page p;
	json_t *entries;
	int r = refuse_others(c, err);

	if (r >= 0)
		r = call_query_int(c, "limit", (struct wire_int){ 1, LOG_PAGE_MAX, &usual },
				   &p.limit, err);
	if (r >= 0)
		r = call_query_int(c, "before", (struct wire_int){ 0, INT64_MAX, &none },
				   &p.before, err);
	if (r >= 0)
		r = accounts_change_log(c->api->c.store, &p, &entries, err);
	if (r < 0)
		return r;
	c->answer = json_pack("{s:s,s:o}", "schema", WIRE_SCHEMA, "changes", entries);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}
