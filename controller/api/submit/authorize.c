/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authorize.c - a step of a submission: may this user charge this account, and use this QOS? */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/accounts/accounts.h"
#include "controller/api/submit/submit.h"
#include "controller/api/authz.h"
#include "controller/ledger/accounts/accounts.h"
#include "controller/quota/qos.h"

/* ---- the account ---- */

/* Finds the user's DefaultAccount, or the only account that the user is in. False: neither. */
static bool find_default_account(struct call *c, char ret[static REQUEST_NAME_MAX])
{
	char list[256];

	if (accounts_default_account(c->api->accounts, c->user, ret))
		return true;
	if (authz_list_accounts(c, list, sizeof(list)) != 1)
		return false;
	snprintf(ret, REQUEST_NAME_MAX, "%.63s", list);
	return true;
}

static int fill_account(struct call *c, struct request *q, struct err *err)
{
	char list[256];
	size_t n = authz_list_accounts(c, list, sizeof(list));

	if (find_default_account(c, q->account))
		return 0;
	if (n == 0) {
		err_set(err, 0, "user '%s' has no account", c->user);
		return call_refuse(c, 400, "unknown-account",
				   "ask an operator to add you to the Users of an account");
	}
	err_set(err, 0, "the request names no account; yours are: %s", list);
	return call_refuse(c, 400, "unknown-account",
			   "name one with -A ACCOUNT, or ask an operator for a DefaultAccount");
}

/* The account is unknown, was removed, or the user is not in it. */
static int refuse_account(struct call *c, const struct request *q, struct err *err)
{
	struct store_accounts_removal gone;
	char list[256], when[AMOUNT_TEXT_MAX];
	size_t n = authz_list_accounts(c, list, sizeof(list));
	int r = 1;

	if (accounts_find(c->api->accounts, q->account) < 0)
		r = store_accounts_removed(c->api->c.store, q->account, &gone, err);
	if (r < 0)
		return r;
	if (r == 0) {
		err_set(err, 0,
			"account '%s' was removed on %.16s UTC by %s: its jobs run to their "
			"end, but it accepts no more",
			q->account, amount_format_utc(gone.at_ns, when), gone.author);
		return call_refuse(c, 400, "removed-account",
				   "name another with -A ACCOUNT, or ask an operator");
	}
	err_set(err, 0, "you are not in account '%s'; yours are: %s", q->account,
		n ? list : "none");
	return call_refuse(c, 400, "unknown-account", "name one of yours with -A ACCOUNT");
}

static int choose_account(struct call *c, struct submit_job *s, struct err *err)
{
	const struct accounts *a = c->api->accounts;
	struct request *q = &s->request;
	int r = *q->account ? 0 : fill_account(c, q, err);
	int32_t i;

	if (r < 0)
		return r;
	i = accounts_find(a, q->account);
	if (!accounts_member(a, i, c->user))
		return refuse_account(c, q, err);
	if (!accounts_allows_cluster(a, i, s->cluster->name)) {
		err_set(err, 0, "account '%s' is not for cluster '%s'; it is for: %s",
			q->account, s->cluster->name, a->accounts[i].clusters);
		return call_refuse(c, 400, "unknown-account",
				   "choose another --cluster or another account (-A)");
	}
	return 0;
}

/* ---- the QOS ---- */

static int choose_qos(struct call *c, struct request *q, struct err *err)
{
	const struct quota_site site = submit_quota_site(c);
	struct quota_qos_refusal no;

	quota_fill_qos(&site, q);
	if (quota_allows_qos(&site, q, &no))
		return 0;
	err_set(err, 0, "%s", no.text);
	return call_refuse(c, 400, no.code, no.remedy);
}

/* Root is refused first: no account makes it right. */
int submit_authorize(struct call *c, struct submit_job *s, struct err *err)
{
	int r;

	if (s->request.uid == 0) {
		err_set(err, 0, "jobs do not run as root");
		return call_refuse(c, 403, "root", "submit as the user whose job it is");
	}
	r = choose_account(c, s, err);
	return r < 0 ? r : choose_qos(c, &s->request, err);
}

/* For POST /v1/cost: the QOS by the account that would be charged if that is known, else the
 * site's default. Fills in the QOS of the request alone. */
int submit_predict_qos(struct call *c, struct submit_job *s, struct err *err)
{
	const struct quota_site site = submit_quota_site(c);
	struct request copy = s->request; /* borrows */

	(void)err;
	if (!*copy.account)
		find_default_account(c, copy.account);
	quota_fill_qos(&site, &copy);
	memcpy(s->request.qos, copy.qos, sizeof(copy.qos));
	return 0;
}
