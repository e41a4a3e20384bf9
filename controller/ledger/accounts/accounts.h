/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts - stores the accounts as they were last applied, and the log of all changes; part of
 * store.h's contract.
 *
 * The ledger stores the statements of the canonical file (controller/accounts), one a row. A change
 * adds, removes or alters one statement and is logged with author and time. Jobs and sums are not
 * touched: those of a removed account remain.
 */
#pragma once
#include "controller/accounts/accounts.h"
#include "controller/ledger/store.h"

/* Revision 0: nothing was ever applied, and *ret has no accounts. -EBADMSG: the statements in the ledger
 * contradict each other; err names one. */
int store_accounts_load(struct store *s, struct accounts **ret, int64_t *ret_revision,
			struct err *err);

struct store_accounts_change {
	const struct accounts_diff *diff; /* against the accounts of that revision */
	int64_t revision;
	const char *author;
	int64_t now_ns;
};
/* Applies the whole difference in one transaction, and increments the revision unless the difference is
 * empty. -EBUSY: the accounts have another revision by now; err names the author of that change. */
int store_accounts_apply(struct store *s, const struct store_accounts_change *c,
			 int64_t *ret_revision, struct err *err);

struct store_accounts_entry {
	int64_t id, at_ns, revision;
	const char *author;
	struct accounts_change change;
};
typedef int (*store_accounts_entry_fn)(void *ctx, const struct store_accounts_entry *e,
				       struct err *err);
struct store_accounts_page {
	int64_t before; /* entries with a smaller id only; 0: any */
	int64_t limit;
};
/* Newest first. */
int store_accounts_log(struct store *s, const struct store_accounts_page *p,
		       store_accounts_entry_fn fn, void *ctx, struct err *err);

struct store_accounts_removal {
	int64_t at_ns;
	char author[REQUEST_NAME_MAX];
};
/* When an account was last removed, and the author of that change. 1: it never was. */
int store_accounts_removed(struct store *s, const char *account,
			   struct store_accounts_removal *ret, struct err *err);

/* Jobs of an account that have not ended. */
struct store_accounts_active {
	int64_t queued, running; /* running: allocated to a node */
};
int store_accounts_active(struct store *s, const char *account,
			  struct store_accounts_active *ret, struct err *err);
