/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage_names - checks that the account, user or cluster of a usage request exists.
 *
 * A name is known if accounts.conf or the configuration declares it, or if anything
 * was ever charged. An unknown name is an error that names the nearest known one: an empty
 * answer to a mistyped name looks like no usage.
 */
#pragma once
#include "controller/quota/quota.h"

struct usage_names {
	const struct quota_site *site; /* accounts and config may be NULL */
	const char *caller; /* suggest only accounts that this user is in; NULL: any name */
};

/* 0: known, or `name` is NULL. -ENOENT: unknown; the message has the nearest name, if any is
 * similar enough. */
int usage_names_check(const struct usage_names *n, enum store_by by, const char *name,
		      struct err *err);
/* The same of account, user and cluster of a period. */
int usage_names_check_period(const struct usage_names *n, const struct store_period *p,
			     struct err *err);
