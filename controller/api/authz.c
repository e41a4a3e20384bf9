/* SPDX-License-Identifier: GPL-2.0-or-later */
/* authz.c - roles for accounts, and what each role may see; see authz.h. */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts.h"
#include "controller/api/authz.h"

enum authz_role authz_role_of(const struct call *c, const char *account)
{
	const struct accounts *a = c->api->accounts;
	int32_t i;

	if (c->is_operator)
		return AUTHZ_OPERATOR;
	i = accounts_find(a, account);
	if (i < 0)
		return AUTHZ_STRANGER;
	if (accounts_is_coordinator(a, i, c->user))
		return AUTHZ_COORDINATOR;
	return accounts_member(a, i, c->user) ? AUTHZ_MEMBER : AUTHZ_STRANGER;
}

const char *authz_role_name(enum authz_role role)
{
	static const char *const names[] = { [AUTHZ_STRANGER] = "stranger",
					     [AUTHZ_MEMBER] = "member",
					     [AUTHZ_COORDINATOR] = "coordinator",
					     [AUTHZ_OPERATOR] = "operator" };

	return names[role];
}

bool authz_sees_job(const struct call *c, uint32_t uid, const char *account)
{
	return uid == c->who.uid || authz_role_of(c, account) >= AUTHZ_COORDINATOR;
}

bool authz_sees_usage(const struct call *c, const char *account)
{
	bool is_open = c->api->c.config->policy.members_see == CONFIG_MEMBERS_SEE_ACCOUNT;

	return authz_role_of(c, account) >= (is_open ? AUTHZ_MEMBER : AUTHZ_COORDINATOR);
}

static int refuse_others(struct call *c, struct err *err)
{
	err_set(err, 0,
		"only operators see the jobs and usage of others, and coordinators those of "
		"their accounts");
	return call_refuse(c, 403, NULL,
			   "leave the user out, or name an account that you "
			   "coordinate (--account)");
}

int authz_narrow_jobs(struct call *c, const char *account, const char **user, struct err *err)
{
	if (c->is_operator || (account && authz_role_of(c, account) == AUTHZ_COORDINATOR))
		return 0;
	if (*user && strcmp(*user, c->user) != 0)
		return refuse_others(c, err);
	*user = c->user;
	return 0;
}

int authz_narrow_usage(struct call *c, const char *account, const char **user, struct err *err)
{
	if (account && authz_sees_usage(c, account))
		return 0;
	return authz_narrow_jobs(c, account, user, err);
}

size_t authz_list_accounts(const struct call *c, char *buf, size_t size)
{
	const struct accounts *a = c->api->accounts;
	size_t n = 0, used = 0;

	buf[0] = '\0';
	for (size_t i = 0; i < a->n_accounts; i++) {
		if (!accounts_member(a, (int32_t)i, c->user))
			continue;
		if (used < size)
			used += (size_t)snprintf(buf + used, size - used, "%s%s", n ? ", " : "",
						 a->accounts[i].name);
		n++;
	}
	return n;
}
