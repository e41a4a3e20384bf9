/* SPDX-License-Identifier: GPL-2.0-or-later */
/* groups - shares and usage of the groups of a trace. Group N is account gN, as `reeve import`
 * names it. */
#pragma once
#include "cli/output/table.h"
#include "controller/accounts/accounts.h"
#include "controller/simulate/replay.h"

/* The Shares of each group's account; a group without an account has 1. *ret is malloc()ed. -EINVAL: a group's
 * account is not directly below the root, or has its parent's shares, since a trace has one level; `path` is the
 * accounts' file, for the message. */
int simulate_find_shares(const struct accounts *accounts, const char *path,
			 const struct sim_trace *t, int64_t **ret, struct err *err);

/* A table of profile,group,shares,used_core_s,got_core_s,entitled_core_s,deviation. */
int simulate_groups_new(struct table **ret, struct err *err);
void simulate_groups_add(struct table *to, const char *profile, const struct sim_replay *r);
/* Writes CSV. */
int simulate_groups_write(const char *path, const struct table *t, struct err *err);
