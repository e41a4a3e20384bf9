/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_edit - parses single changes of the accounts, and applies them in memory.
 *
 * The first argument names what to change:
 *	physics                 an account
 *	physics/alice           a user in an account
 *	allocation:physics/2026, user:alice, queue:express, default:User
 * The others are the new values:
 *	Key=Value               Key= removes the key
 *	Key+=A,B  Key-=A        of lists: Users (A or A=SHARES), Coordinators, Clusters
 * Shares of a user in an account are stored in the account's Users; the user's limits there in
 * [Association physics/alice].
 */
#pragma once
#include "common/verb/verb.h"
#include "controller/accounts/accounts.h"

enum accounts_edit_kind { ACCOUNTS_EDIT_SET, ACCOUNTS_EDIT_ADD, ACCOUNTS_EDIT_REMOVE };

/* args: as above, NULL-terminated; REMOVE has no values. *ret are all accounts after the change,
 * checked like a file; `now` is unchanged. -ENOENT: there is no such section, user or item;
 * -EEXIST: it exists already; -EINVAL. */
int accounts_edit(const struct accounts *now, enum accounts_edit_kind kind, char *const *args,
		  struct accounts **ret, struct err *err);
