/* accounts - the accounts as they were last applied, and every change that made them so;
 * part of store.h's contract.
 *
 * What is kept are the statements of the canonical file (controller/accounts), not a file: each
 * change is one statement more, less or other, and stays in a log with author and time. History
 * is never touched: the jobs and sums of an account that was removed remain.
 */
#pragma once
#include "controller/accounts/accounts.h"
#include "controller/ledger/store.h"

/* Revision 0: nothing was ever applied; *ret is then empty accounts. -EBADMSG: what is in the
 * ledger does not hold together; err names the statement. */
int store_accounts_load(struct store *s, struct accounts **ret, int64_t *ret_revision,
			struct err *err);

struct store_accounts_change {
	const struct accounts_diff *diff; /* against the accounts of that revision */
	int64_t revision;
	const char *author;
	int64_t now_ns;
};
/* All of it or nothing; one revision more, unless the difference is empty. -EBUSY: the accounts
 * have another revision by now; err names the author of that change. */
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
/* When an account was removed last. 1: it never was. */
int store_accounts_removed(struct store *s, const char *account,
			   struct store_accounts_removal *ret, struct err *err);

/* Jobs of an account that have not ended. */
struct store_accounts_active {
	int64_t queued, running; /* running: given to a node */
};
int store_accounts_active(struct store *s, const char *account,
			  struct store_accounts_active *ret, struct err *err);
