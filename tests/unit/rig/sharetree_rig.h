/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sharetree_rig - a share tree with a policy and declared accounts, to be charged and looked at.
 */
#pragma once
#include "common/time_units.h"
#include "controller/sharetree/sharetree.h"
#include "tests/unit/rig/ledger_rig.h"

#define WEEK_NS (7 * DAY_NS)

/* arts 10: carol; physics 30: alice=2, bob; optics 5, below physics: alice; far, elsewhere:
 * dave.
 */
extern const char declared[];
extern const struct sharetree_where cpu; /* of cluster main */

struct world {
	struct config *config;
	struct accounts *accounts;
	struct sharetree *sharetree;
};
/* `policy`: lines of [Policy], without a half-life nothing fades; `accounts` NULL: none. */
struct world world_of(const char *policy, const char *accounts);
void world_done(struct world *w);

/* Of 2 cores at 2.5 a second, on main. */
struct store_charge charge_of(const char *account, const char *user, int64_t from_ns,
			      int64_t running_s);
void add_charge(struct world *w, struct store_charge c, int64_t now_ns);
struct sharetree_view view_tree(struct world *w, struct sharetree_where where, int64_t now_ns);
size_t row_of(const struct sharetree_view *v, const char *account, const char *user);
double usage_of(struct world *w, const char *account, const char *user, int64_t now_ns);
/* To 9 digits. */
void assert_near(double a, double b);
