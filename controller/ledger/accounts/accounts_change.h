/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_change - changes the accounts, for the running controller and for a ledger file alike: finds
 * the difference and the jobs of removed accounts, and applies all of it or nothing.
 *
 * The result is a document, so that the same code prints both:
 *	revision    of the accounts after the change
 *	applied     false: nothing differed, or it was a dry run
 *	changes     [{op, section, name, key, item, old, new}]: the difference from the active
 *	            accounts; `key` is absent for a section's head, `item` where the value is no list
 *	warnings    [text]
 *	jobs        [{account, queued, running}] of removed accounts; these jobs go on
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/accounts/accounts.h"

struct accounts_order {
	const struct accounts *now; /* the active accounts */
	int64_t revision; /* of the ledger's accounts; 0: `now` is not from the ledger */
	const struct accounts *new;
	const char *author;
	int64_t now_ns;
	bool is_dry_run;
};
/* *ret is the document, the caller's. -EBUSY as store_accounts_apply(); -EINVAL: `new` has no account, and
 * would replace the [Account] sections of controller.conf. */
int accounts_change_apply(struct store *s, const struct accounts_order *o, json_t **ret,
			  struct err *err);
/* *ret_array: [{revision, at_ns, author, op, ...}], newest first, the caller's. */
int accounts_change_log(struct store *s, const struct store_accounts_page *p,
			json_t **ret_array, struct err *err);
