/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairness - how far each group's cores were from its share while it had work waiting.
 *
 * Pure. At any moment the groups with a job waiting (or suspended) are *backlogged*: they could
 * use more. The cores that these groups have together are to be divided by their shares, as in
 * fluid fair queueing (Parekh and Gallager, "A generalized processor sharing approach to flow
 * control", 1993). Over the time that a group is backlogged, `got` is what it held and
 * `entitled` what its share of that was. A group that has nothing waiting is owed nothing.
 *
 *   deviation of a group = (got - entitled) / core time held by backlogged groups in all
 *
 * The deviations of all groups add up to 0. Each event takes constant time: entitlement grows
 * as shares x (integral of held by backlogged / shares of backlogged), one sum for all groups.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct sim_fairness;

/* Groups 0 to n-1; shares of each (0 and more), NULL: all equal. -ENOMEM. */
int sim_fairness_new(size_t n, const int64_t *shares, struct sim_fairness **ret);
struct sim_fairness *sim_fairness_free(struct sim_fairness *f);
DEFINE_CLEANUP(struct sim_fairness *, sim_fairness_free)

/* So many more (or fewer) jobs of the group wait; the group has so many cores more (or fewer).
 * Times never go back. */
void sim_fairness_wait(struct sim_fairness *f, uint32_t group, int64_t now_s, int jobs);
void sim_fairness_hold(struct sim_fairness *f, uint32_t group, int64_t now_s, int64_t cores);

struct sim_group {
	int64_t shares;
	double used_s;		  /* core-seconds in all */
	double got_s, entitled_s; /* while backlogged */
	double deviation;	  /* 0 when no group was ever backlogged */
};
/* As of the last event. */
void sim_fairness_group(const struct sim_fairness *f, uint32_t group, struct sim_group *ret);
size_t sim_fairness_groups(const struct sim_fairness *f);
