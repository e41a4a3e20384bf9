/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups - the accounts of the groups of a trace, their shares, and their usage. Group N is
 * account gN, as `reeve import` names it. */
#pragma once
#include "cli/output/table.h"
#include "controller/accounts/accounts.h"
#include "controller/simulate/replay.h"
#include "controller/simulate/usage.h"

/* The share tree of a replay, and the groups that it compares with their shares: those that are accounts
 * directly below the root, or have jobs in accounts below such a one. */
struct simulate_groups {
	struct sim_tree tree;
	struct sim_account *accounts; /* the file's, then groups that it lacks */
	struct sim_idle *idle;
	uint32_t *of_group,
		*fair_of; /* of each group of the trace: its account; its compared group */
	int64_t *shares;  /* of the compared groups */
	char (*names)[SIM_NAME_MAX];
	size_t n; /* of them */
	const struct accounts *file;
	const struct sim_trace *trace;
};

/* `file` NULL: no accounts are given, and each group is directly below the root with one share. With it the
 * tree is the file's, with all its users; groups and users that the file lacks are added with one share.
 * -EINVAL: a compared group has its parent's shares, which are no number; `path` is the accounts' file, for the
 * message. */
int simulate_groups_open(const struct accounts *file, const char *path,
			 const struct sim_trace *t, struct simulate_groups *ret,
			 struct err *err);
void simulate_groups_done(struct simulate_groups *g);

/* A table of profile,group,shares,used_core_s,got_core_s,entitled_core_s,deviation. */
int simulate_groups_new(struct table **ret, struct err *err);
void simulate_groups_add(struct table *to, const char *profile, const struct simulate_groups *g,
			 const struct sim_fairness *fair);
/* Writes CSV. */
int simulate_groups_write(const char *path, const struct table *t, struct err *err);
