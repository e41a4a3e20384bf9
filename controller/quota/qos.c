/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qos.c - fills in the default QOS and refuses what a user or account may not use; see qos.h.
 */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/quota/qos.h"

void quota_fill_qos(const struct quota_site *site, struct request *q)
{
	const struct accounts *a = site->accounts;
	const char *of_account = a ? accounts_default_qos(a, accounts_find(a, q->account)) : "";

	if (!*q->qos)
		snprintf(q->qos, sizeof(q->qos), "%s",
			 config_qos_or_default(site->config, of_account));
}

/* AllowAccounts= names the account itself or one above it. An unknown account (-1) is not
 * allowed. */
static bool allows_account(const struct config_qos *qos, const struct accounts *a,
			   int32_t account)
{
	if (!qos->allow_accounts)
		return true;
	for (; account >= 0; account = a->accounts[account].parent)
		if (config_qos_allows_account(qos, a->accounts[account].name))
			return true;
	return false;
}

/* The user and account of a request; account -1: not known. */
struct caller {
	const struct quota_site *site;
	const char *user;
	int32_t account;
};

static bool may_use(const struct caller *w, const struct config_qos *qos)
{
	return config_qos_allows_user(qos, w->user) &&
	       allows_account(qos, w->site->accounts, w->account) &&
	       (w->account < 0 ||
		accounts_allows_qos(w->site->accounts, w->account, qos->name));
}

/* The QOS that the caller may use, as "a, b"; "none". */
static const char *list_usable(const struct caller *w, char *buf, size_t size)
{
	const struct config *c = w->site->config;
	size_t n = 0;

	snprintf(buf, size, "none");
	for (size_t i = 0; i < c->n_qos; i++)
		if (n < size && may_use(w, c->qos[i]))
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "",
					      c->qos[i]->name);
	return buf;
}

static bool refuse_use(const struct caller *w, const struct request *q,
		       const struct config_qos *qos, struct quota_qos_refusal *ret)
{
	char list[160];

	ret->code = "forbidden-qos";
	if (!config_qos_allows_user(qos, w->user))
		snprintf(ret->text, sizeof(ret->text), "user '%s' may not use QOS '%s'",
			 w->user, qos->name);
	else
		snprintf(ret->text, sizeof(ret->text), "account '%s' may not use QOS '%s'",
			 q->account, qos->name);
	snprintf(ret->remedy, sizeof(ret->remedy),
		 "in this account you may use: %s; say one with --qos, or ask the operators",
		 list_usable(w, list, sizeof(list)));
	return false;
}

static bool refuse_walltime(const struct request *q, const struct config_qos *qos,
			    struct quota_qos_refusal *ret)
{
	char asked[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX];

	ret->code = "too-large";
	snprintf(ret->text, sizeof(ret->text),
		 "walltime=%s is more than QOS '%s' allows one job: %s",
		 amount_format_seconds(q->res.walltime_s, asked), qos->name,
		 amount_format_seconds(qos->max_walltime_s, most));
	snprintf(ret->remedy, sizeof(ret->remedy),
		 "ask for at most walltime=%s, or for another --qos", most);
	return false;
}

bool quota_allows_qos(const struct quota_site *site, const struct request *q,
		      struct quota_qos_refusal *ret)
{
	const struct caller w = { site, q->user, accounts_find(site->accounts, q->account) };
	const struct config_qos *qos;
	struct err why;

	if (!*q->qos)
		return true;
	if (config_find_qos(site->config, q->qos, &qos, &why) < 0) {
		ret->code = "unknown-qos";
		snprintf(ret->text, sizeof(ret->text), "%.300s", why.text);
		snprintf(ret->remedy, sizeof(ret->remedy), "%s",
			 site->config->n_qos ? "say which with --qos NAME" : "leave --qos out");
		return false;
	}
	if (!may_use(&w, qos))
		return refuse_use(&w, q, qos, ret);
	if (qos->max_walltime_s && q->res.walltime_s > qos->max_walltime_s)
		return refuse_walltime(q, qos, ret);
	return true;
}
