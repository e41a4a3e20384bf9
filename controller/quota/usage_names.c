/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_names.c - checks names and suggests the nearest known one; see usage_names.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/nearest.h"
#include "controller/quota/usage_names.h"

static bool is_user(const struct accounts *a, const char *name)
{
	if (accounts_user(a, name))
		return true;
	for (size_t i = 0; i < a->n_accounts; i++)
		if (accounts_member(a, (int32_t)i, name))
			return true;
	return false;
}

static bool is_declared(const struct quota_site *s, enum store_by by, const char *name)
{
	switch (by) {
	case STORE_BY_ACCOUNT:
		return s->accounts && accounts_find(s->accounts, name) >= 0;
	case STORE_BY_USER:
		return s->accounts && is_user(s->accounts, name);
	case STORE_BY_CLUSTER:
		return s->config && config_cluster(s->config, name);
	default:
		return false;
	}
}

/* The nearest name so far. The rows that names come from are gone after each call, so the text
 * is copied. */
struct search {
	const char *typed;
	char best[REQUEST_NAME_MAX];
};

static void offer_candidate(struct search *s, const char *name)
{
	struct nearest n;
	const char *best;

	nearest_init(&n, s->typed);
	if (*s->best)
		nearest_offer(&n, s->best);
	nearest_offer(&n, name);
	best = nearest_word(&n);
	if (best && best != s->best)
		snprintf(s->best, sizeof(s->best), "%s", best);
}

static int offer_name(void *ctx, const char *name, struct err *err)
{
	(void)err;
	offer_candidate(ctx, name);
	return 0;
}

static void offer_users(struct search *s, const struct accounts *a)
{
	for (size_t i = 0; i < a->n_accounts; i++)
		for (size_t k = 0; k < a->accounts[i].n_members; k++)
			offer_candidate(s, a->accounts[i].members[k].user);
}

static void offer_declared(struct search *s, const struct usage_names *n, enum store_by by)
{
	const struct accounts *a = n->site->accounts;
	const struct config *c = n->site->config;

	for (size_t i = 0; by == STORE_BY_ACCOUNT && a && i < a->n_accounts; i++)
		if (!n->caller || accounts_member(a, (int32_t)i, n->caller))
			offer_candidate(s, a->accounts[i].name);
	if (by == STORE_BY_USER && a && !n->caller)
		offer_users(s, a);
	for (size_t i = 0; by == STORE_BY_CLUSTER && c && i < c->n_clusters; i++)
		offer_candidate(s, c->clusters[i]->name);
}

/* A caller with a restricted view gets no names from the ledger: a suggestion would reveal
 * them. */
static int report_unknown(const struct usage_names *n, enum store_by by, const char *name,
			  struct err *err)
{
	struct search s = { .typed = name };
	int r = n->caller ? 0 : store_usage_names(n->site->store, by, offer_name, &s, err);

	if (r < 0)
		return r;
	offer_declared(&s, n, by);
	if (*s.best)
		return err_set(err, -ENOENT, "no %s '%.64s'; did you mean '%s'?",
			       store_by_name(by), name, s.best);
	return err_set(err, -ENOENT,
		       "no %s '%.64s' is declared, and nothing was ever charged to it",
		       store_by_name(by), name);
}

int usage_names_check(const struct usage_names *n, enum store_by by, const char *name,
		      struct err *err)
{
	int r;

	if (!name || is_declared(n->site, by, name))
		return 0;
	if (n->caller && by == STORE_BY_USER && !strcmp(n->caller, name))
		return 0; /* the caller exists, even if nothing was ever charged */
	r = store_usage_has(n->site->store, by, name, err);
	return r ? (r < 0 ? r : 0) : report_unknown(n, by, name, err);
}

int usage_names_check_period(const struct usage_names *n, const struct store_period *p,
			     struct err *err)
{
	int r = usage_names_check(n, STORE_BY_ACCOUNT, p->account, err);

	if (r >= 0)
		r = usage_names_check(n, STORE_BY_USER, p->user, err);
	return r < 0 ? r : usage_names_check(n, STORE_BY_CLUSTER, p->cluster, err);
}
