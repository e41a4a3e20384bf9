/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stand - where a user stands among the users of a share tree, and what that means for the priority. Pure. */
#pragma once
#include "controller/sharetree/sharetree.h"

struct stand {
	int64_t place;	  /* 1: no user has a larger fairshare factor */
	int64_t tied;	  /* other users with the same factor */
	int64_t users;	  /* of the tree */
	double fairshare; /* 0 ... 1 */
	double level_fs; /* of the account, or the nearest one above that has one; NAN: none has */
	const char *level_account; /* the account that level_fs is of; in the view */
};
/* `row`: a user's. O(rows). */
void stand_find(const struct sharetree_view *v, size_t row, struct stand *ret);

#define STAND_WORDS_MAX 480
/* `weight`: of fairshare in the priority (rank_rule()); 0: it does not count. */
const char *stand_words(const struct stand *s, int64_t weight,
			char buf[static STAND_WORDS_MAX]);
