/* SPDX-License-Identifier: GPL-2.0-or-later */
/* level - comparing and sorting the rows of one level. Private to fairshare.
 *
 * LevelFS is the fraction  shares * usage of the share parent / (level sum * usage).  Rows of
 * merged accounts have different share parents, so that comparing two of them takes products of
 * 31 + 128 + 48 + 128 bits. The double decides where two differ clearly; otherwise the
 * products do.
 */
#pragma once
#include "controller/policy/fairshare/fairshare_tree.h"

struct fairshare_entry {
	double level_fs;
	int32_t row;
	bool user;
};

/* Compares two entries: < 0 when a comes first, 0 when LevelFS is equal. */
typedef int (*fairshare_compare_fn)(const struct fairshare_tree *t,
				    const struct fairshare_entry *a,
				    const struct fairshare_entry *b);

/* By LevelFS, highest first; exact. */
int fairshare_compare_exact(const struct fairshare_tree *t, const struct fairshare_entry *a,
			    const struct fairshare_entry *b);
/* By LevelFS as a long double. */
int fairshare_compare_long(const struct fairshare_tree *t, const struct fairshare_entry *a,
			   const struct fairshare_entry *b);

/* LevelFS in long double, in the order of operations of Slurm. INFINITY for a `parent` user. */
long double fairshare_level_fs(const struct fairshare_tree *t, int32_t row);

/* Sorts, stable: by LevelFS with `compare`, then users before accounts, then by `order`.
 * `spare` is scratch of the same size. */
void fairshare_sort(const struct fairshare_tree *t, struct fairshare_entry *entries, size_t n,
		    struct fairshare_entry *spare, fairshare_compare_fn compare);
