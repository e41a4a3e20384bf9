/* who.c - see who.h. */
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/accounts/accounts.h"
#include "controller/api/who.h"

enum who_role who_of(const struct call *c, const char *account)
{
	const struct accounts *a = c->api->accounts;
	int32_t i;

	if (c->is_operator)
		return WHO_OPERATOR;
	i = accounts_find(a, account);
	if (i < 0)
		return WHO_STRANGER;
	if (accounts_is_coordinator(a, i, c->user))
		return WHO_COORDINATOR;
	return accounts_member(a, i, c->user) ? WHO_MEMBER : WHO_STRANGER;
}

const char *who_role_name(enum who_role role)
{
	static const char *const names[] = { [WHO_STRANGER] = "stranger",
					     [WHO_MEMBER] = "member",
					     [WHO_COORDINATOR] = "coordinator",
					     [WHO_OPERATOR] = "operator" };

	return names[role];
}

bool who_sees_job(const struct call *c, uint32_t uid, const char *account)
{
	return uid == c->who.uid || who_of(c, account) >= WHO_COORDINATOR;
}

bool who_sees_usage(const struct call *c, const char *account)
{
	bool is_open = c->api->c.config->policy.members_see == CONFIG_MEMBERS_SEE_ACCOUNT;

	return who_of(c, account) >= (is_open ? WHO_MEMBER : WHO_COORDINATOR);
}

static int refuse_others(struct call *c, struct err *err)
{
	err_set(err, 0,
		"only operators see the jobs and usage of others, and coordinators those of "
		"their accounts");
	return call_refuse(c, 403, NULL,
			   "leave user= out, or say account= of an account that you "
			   "coordinate");
}

int who_narrow(struct call *c, const char *account, const char **user, struct err *err)
{
	if (c->is_operator || (account && who_of(c, account) == WHO_COORDINATOR))
		return 0;
	if (*user && strcmp(*user, c->user) != 0)
		return refuse_others(c, err);
	*user = c->user;
	return 0;
}

int who_narrow_usage(struct call *c, const char *account, const char **user, struct err *err)
{
	if (account && who_sees_usage(c, account))
		return 0;
	return who_narrow(c, account, user, err);
}

size_t who_accounts(const struct call *c, char *buf, size_t size)
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
