/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare - fairshare factors and ranks from shares and decayed usage: Fair Tree and the
 * classic formula. Source: slurm.schedmd.com/fair_tree.html and classic_fair_share.html; the
 * numbers are those of sshare in all six decimals.
 *
 * Pure. A tree is a flat array of rows in any order; the results are an array of the same
 * order.
 *
 * The *share parent* of a row is the first account above it whose shares are not `parent` (or
 * the root). The *level* of an account is the rows whose share parent it is; its *level sum*
 * the sum of their raw shares, where `parent` rows count nothing: the children of a `parent`
 * account are in the level above, in its place. The root's own shares count nothing.
 *
 * Usage is an integer, in any unit that is the same for the whole tree. Order and
 * ties come from integers and fractions, never from rounded numbers; the doubles are for
 * display.
 *
 * Where there is nothing to divide: NormShares is 0 when the level sum is 0, NormUsage is 0
 * when the root has no usage, EffectvUsage (Fair Tree) 0 when the share parent has none.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct fairshare_tree;

typedef unsigned __int128 fairshare_usage;

#define FAIRSHARE_PARENT (-1)
#define FAIRSHARE_SHARES_MAX 2147483646 /* what slurmdbd can hold too */
#define FAIRSHARE_NO_ROW (-1)

struct fairshare_row {
	int32_t parent;		    /* index; FAIRSHARE_NO_ROW: this is the root */
	bool user;		    /* otherwise an account */
	int64_t raw_shares;	    /* or FAIRSHARE_PARENT */
	int64_t order;		    /* among its siblings; FAIRSHARE_TIES_SLURM only */
	fairshare_usage leaf_usage; /* of this very row */
};

struct fairshare_result {
	fairshare_usage raw_usage; /* its own and all below */
	double norm_shares, norm_usage, effective_usage;
	double level_fs;  /* INFINITY is possible; NAN: it has none, as a `parent` row */
	double fairshare; /* 0 ... 1; NAN: it has none (an account in Fair Tree) */
	uint32_t rank;	  /* Fair Tree, users: from the number of users down; else 0 */
};

/* "10", or "parent" (FAIRSHARE_PARENT). -EINVAL: neither, or above FAIRSHARE_SHARES_MAX; *ret is
 * then unchanged. */
int fairshare_parse_shares(const char *text, int64_t *ret, struct err *err);

/* Checks the rows and sums usage. Keeps a pointer to `rows`: the caller frees them after the
 * tree. n at most INT32_MAX. -EINVAL: no root, two roots, a parent outside of the array, a user
 * as a parent or as the root, shares below 0 (but FAIRSHARE_PARENT) or above the maximum, a row
 * that is its own ancestor; -ERANGE: usage that does not add up within 128 bits; *ret_fault is
 * then the row at fault, or FAIRSHARE_NO_ROW. */
int fairshare_tree_new(const struct fairshare_row *rows, size_t n, struct fairshare_tree **ret,
		       int32_t *ret_fault, struct err *err);
struct fairshare_tree *fairshare_tree_free(struct fairshare_tree *t);
/* The leaf usage of a row changed: updates the sums of the rows above it, nothing else;
 * as many steps as the row is deep. The caller updates leaf_usage in its rows. -ERANGE: the
 * sums do not fit in 128 bits, and nothing was changed. */
int fairshare_tree_change(struct fairshare_tree *t, int32_t row, fairshare_usage was,
			  fairshare_usage now);
DEFINE_CLEANUP(struct fairshare_tree *, fairshare_tree_free)

enum fairshare_ties {
	/* The algorithm as it is documented (slurm.schedmd.com/fair_tree.html), with exact
	 * equality: accounts of equal LevelFS are one, their children one level. Independent of
	 * the order of rows and siblings. */
	FAIRSHARE_TIES_MERGE,
	/* As Slurm to 22.05 behaves: accounts of equal LevelFS follow one another by `order`,
	 * and the first user of the next one takes the last rank assigned; equality is that
	 * of long double. */
	FAIRSHARE_TIES_SLURM,
};

/* Fair Tree, by FAIRSHARE rank / number of users:
 *   LevelFS = NormShares / EffectvUsage, NormShares = shares / level sum and
 *   EffectvUsage = usage / usage of the share parent;
 *   infinite without usage, 0 without shares (with or without usage). A `parent` user is ordered as if it
 *   were infinite, and shows none, as sshare; a `parent` account and the root have none.
 * At each level the highest LevelFS comes first, users before accounts. Users of equal LevelFS
 * share the first one's rank and use up as many ranks as there are such users. The first user
 * below an account that ties with a user shares that user's rank. The root row shows NormShares
 * 0 and EffectvUsage 1, as sshare does. results[] has the tree's size. -ENOMEM. */
int fairshare_fair_tree(const struct fairshare_tree *t, enum fairshare_ties ties,
			struct fairshare_result *results, struct err *err);

/* Classic: FairShare = 2^(-UE / NormShares / dampening), 0 when NormShares is 0, where
 * NormShares is the product of shares / level sum along the path, and UE is NormUsage right
 * below the root, else NormUsage + (UE of the share parent - NormUsage) * shares / level sum. A
 * `parent` row has its share parent's NormShares and, but right below the root, its UE. The
 * root: 1 and 1. -EINVAL: dampening is not above 0. */
int fairshare_classic(const struct fairshare_tree *t, double dampening,
		      struct fairshare_result *results, struct err *err);
