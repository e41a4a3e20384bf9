/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sacctmgr_plan - the commands of sacctmgr that remove a difference between slurmdbd and Reeve's accounts. Pure.
 *
 * For what `sacctmgr load` leaves: it adds and changes, and neither removes nor clears anything.
 */
#pragma once
#include "controller/accounts/accounts.h"

#define SACCTMGR_PLAN_ARGS 12

/* One command: its words after "sacctmgr -i", and NULL. They are words of one process each and never text for a shell; names are of
 * [A-Za-z0-9._+-]. */
typedef int (*sacctmgr_plan_fn)(void *ctx, const char *const *args, struct err *err);

/* Is the change one that Slurm is to make? What Reeve does not state of these stays Slurm's: Description, Qos, DefaultQos and
 * DefaultAccount. */
bool sacctmgr_plan_counts(const struct accounts_change *c);

/* Calls fn for each command: users before accounts are removed, accounts below before those above. -EINVAL, before any command: a name that
 * sacctmgr would take for something else. */
struct sacctmgr_plan {
	const struct accounts *was; /* what Slurm has */
	const char *cluster;
	sacctmgr_plan_fn fn;
	void *ctx;
};
int sacctmgr_plan(const struct sacctmgr_plan *p, const struct accounts_diff *d,
		  struct err *err);
