/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_tree - the checked tree, as both algorithms walk it. Private to fairshare. */
#pragma once
#include "controller/policy/fairshare/fairshare.h"

struct fairshare_tree {
	const struct fairshare_row *rows;
	size_t n;
	int32_t root;
	uint32_t n_users;
	int32_t *down;	       /* all rows, parents before their children */
	int32_t *share_parent; /* of the root: FAIRSHARE_NO_ROW */
	uint64_t *level_sum;   /* of the level of this account */
	fairshare_usage *usage;
	bool *has_parent_account; /* a `parent` account has this one as its share parent */
	/* The level of account a is level[level_at[a]] up to level[level_at[a + 1]], without
	 * `parent` accounts. Its order is that of the last sort and changes no result: it only
	 * makes the next sort quick. */
	int32_t *level, *level_at;
};

static inline bool fairshare_is_parent(const struct fairshare_row *r)
{
	return r->raw_shares == FAIRSHARE_PARENT;
}

/* Rounded twice at most: 128 bits are more than a long double holds. */
static inline long double fairshare_real(fairshare_usage u)
{
	return (long double)(uint64_t)(u >> 64) * 0x1p64L + (long double)(uint64_t)u;
}

static inline long double fairshare_ratio(fairshare_usage part, fairshare_usage whole)
{
	return whole ? fairshare_real(part) / fairshare_real(whole) : 0;
}

/* shares / level sum of a row that is neither `parent` nor the root. */
static inline double fairshare_part(const struct fairshare_tree *t, int32_t row)
{
	uint64_t sum = t->level_sum[t->share_parent[row]];

	return sum ? (double)t->rows[row].raw_shares / (double)sum : 0;
}
