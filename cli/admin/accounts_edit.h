/* accounts_edit - single changes of the accounts as they are typed.
 *
 * What is changed:
 *	physics                 an account
 *	physics/alice           a user in an account
 *	allocation:physics/2026, user:alice, queue:express, default:User
 * To what:
 *	Key=Value               Key= : no longer stated
 *	Key+=A,B  Key-=A        of lists: Users (A or A=SHARES), Coordinators, Clusters
 * Of a user in an account, Shares is what stands in the account's Users; the limits are those
 *of [Association physics/alice].
 */
#pragma once
#include "common/verb/verb.h"
#include "controller/accounts/accounts.h"

enum accounts_edit_kind { ACCOUNTS_EDIT_SET, ACCOUNTS_EDIT_ADD, ACCOUNTS_EDIT_REMOVE };

/* args[0]: what; the others: to what (REMOVE: none). *ret is all of it after the change,
 * checked as a file is. -ENOENT: what is to be changed is not there; -EEXIST: what is to be
 * added is; -EINVAL. */
int accounts_edit(const struct accounts *now, enum accounts_edit_kind kind, char *const *args,
		  struct accounts **ret, struct err *err);
