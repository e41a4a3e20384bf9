/* accounts_change - the one place where the accounts are changed, for the running controller and
 * for a ledger file alike: what differs, which jobs are concerned, and then all of it or nothing.
 *
 * The answer is a document, so that both are shown by the same code:
 *	revision    of the accounts after it
 *	applied     false: nothing was to be changed, or it was only asked
 *	changes     [{op, section, name, key, item, old, new}]: what differs from what was in
 *	            effect; key of a section's head and item of no list are absent
 *	warnings    [text]
 *	jobs        [{account, queued, running}] of removed accounts; these jobs go on
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/accounts/accounts.h"

struct accounts_order {
	const struct accounts *now; /* in effect */
	int64_t revision;	    /* of the ledger's; 0: `now` comes from elsewhere */
	const struct accounts *new;
	const char *author;
	int64_t now_ns;
	bool is_dry_run;
};
/* -EBUSY as store_accounts_apply(); -EINVAL: nothing declared cannot take the place of what is
 * declared elsewhere. */
int accounts_change_apply(struct store *s, const struct accounts_order *o, json_t **ret,
			  struct err *err);
/* {revision, at_ns, author, op, ...}, newest first. */
int accounts_change_log(struct store *s, const struct store_accounts_page *p,
			json_t **ret_array, struct err *err);
