/* groups - the groups of a trace as accounts: their shares, and what each used of
 * them. Group N of the trace is account gN, as `reeve import` names it. */
#pragma once
#include "cli/output/table.h"
#include "controller/simulate/replay.h"

/* The Shares of each group's account in an accounts file (controller/accounts/accounts.h); 1 of
 * one that is not in it. *ret is malloc()ed. -EINVAL: a fault in the file; an account of a
 * group that is not right below the root or has its parent's shares, as a trace has one level.
 */
int simulate_read_shares(const char *path, const struct sim_trace *t, int64_t **ret,
			 struct err *err);

/* A table of profile,group,shares,used_core_s,got_core_s,entitled_core_s,deviation. */
int simulate_groups_new(struct table **ret, struct err *err);
void simulate_groups_add(struct table *to, const char *profile, const struct sim_replay *r);
/* As CSV. */
int simulate_groups_write(const char *path, const struct table *t, struct err *err);
