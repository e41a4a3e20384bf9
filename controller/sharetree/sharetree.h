/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sharetree - the share trees of the live system: shares, decayed usage and ranks of accounts
 * and users.
 *
 * One tree for each cluster and pool: a GPU job counts in the GPU tree of its cluster alone, a
 * CPU job in the CPU tree. The rows are the accounts and users declared (accounts.h); an
 * account that may not run on a cluster, nor any below it, has no row there. Without
 * declarations the tree is flat: every account of the ledger with one share below the root,
 * every user with one share below the account.
 *
 * Usage is weight x seconds of running, decayed in closed form
 * (controller/policy/fairshare/decay.h). Weight: the rate that the job is charged, exact, as it
 * was fixed when the job was submitted or imported; so the billed charge is what fairshare
 * counts. Suspended time is no running time. A refund of a job takes its part of the decayed
 * usage of that job; an adjustment without a job counts its charge in unit-seconds, over its
 * day (usage/charges.h).
 *
 * Usage of a user who is no longer declared counts at the account; of an account that is no
 * longer declared, at the root: it belongs to no share, but is not forgotten, and it is
 * shown as `gone`.
 *
 * Everything here is derived from the ledger: built from it at start (charges older than 60
 * half-lives are left out: less than 10^-18 of each is left), then updated by what
 * store_ingest() committed. A charge touches its association and the path above it; nothing is
 * rewritten as time passes. Ranks are computed on request.
 *
 * Ranks compare usage as whole billionths of a unit-second, so that there are ties, and the
 * same ones after a restart. Usage that has decayed below that counts as none.
 */
#pragma once
#include "common/cleanup.h"
#include "controller/accounts/accounts.h"
#include "controller/config/config.h"
#include "controller/ledger/usage/charges.h"
#include "controller/policy/fairshare/fairshare.h"

struct err;
struct sharetree;

struct sharetree_config {
	const struct config *config;	 /* must outlive the share tree */
	const struct accounts *accounts; /* NULL: a flat tree */
};
int sharetree_new(const struct sharetree_config *c, struct sharetree **ret, struct err *err);
struct sharetree *sharetree_free(struct sharetree *s);
DEFINE_CLEANUP(struct sharetree *, sharetree_free)

const struct config *sharetree_policy(const struct sharetree *s);

/* Reads all charges of the ledger up to a moment. Once, before any other call. */
int sharetree_load(struct sharetree *s, struct store *store, int64_t now_ns, struct err *err);
/* Adds one charge or adjustment. -ERANGE: its weight is beyond what can be counted. */
int sharetree_charge(struct sharetree *s, const struct store_charge *c, int64_t now_ns,
		     struct err *err);
/* Adds the usage delta of one report. */
int sharetree_add_delta(struct sharetree *s, const struct sync_usage_delta *g, int64_t now_ns,
			struct err *err);
/* The configuration has changed: its Fairshare= counts from the next view on. How usage fades does not
 * change while the share tree exists. */
void sharetree_reload(struct sharetree *s);
/* From now on the trees are ranked by this algorithm. Trees that were ranked are ranked again at once, for sharetree_factor().
 * The result of [Policy] Fairshare= must be restored by the same call before jobs are ordered. */
int sharetree_rank_by(struct sharetree *s, enum config_fairshare algorithm, int64_t now_ns,
		      struct err *err);
/* Replaces the active accounts; the pointer is kept. Usage is counted in the new rows. */
void sharetree_set_accounts(struct sharetree *s, const struct accounts *a);

struct sharetree_row {
	char account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX]; /* user "": an account */
	int32_t parent, depth;					/* the root: row 0, -1 and 0 */
	int64_t raw_shares;					/* or FAIRSHARE_PARENT */
};

/* Which tree. */
struct sharetree_where {
	const char *cluster;
	enum charge_pool pool;
};
/* The tree at a moment; valid until the next call with this share tree. Rows are in the order
 * of a printed tree: an account, its users by name, its accounts by name. */
struct sharetree_view {
	const struct sharetree_row *rows;
	const struct fairshare_result *results;
	size_t n;
	double unit_seconds; /* of one of the results' raw_usage, at that moment */
	size_t n_gone;	     /* associations with usage that are no longer declared */
	double gone;	     /* their usage, unit-seconds */
};
int sharetree_get_view(struct sharetree *s, struct sharetree_where w, int64_t now_ns,
		       struct sharetree_view *ret, struct err *err);
/* RawUsage of a row, unit-seconds. */
double sharetree_usage(const struct sharetree_view *v, size_t row);
/* The fairshare factor, 0 ... 1, of a user in an account, as of the last sharetree_get_view()
 * at that tree; 0 where there is no such row. */
double sharetree_factor(struct sharetree *s, struct sharetree_where w, const char *account,
			const char *user);
/* The i-th of the trees that exist, by cluster and pool. False: there are no more. */
bool sharetree_tree(const struct sharetree *s, size_t i, struct sharetree_where *ret);
