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
#define STAND_LEGEND_MAX 800
/* What LevelFS and FairShare mean under the algorithm that ranked the tree, and whether shares order jobs at all. */
const char *stand_legend(const struct config *c, enum config_fairshare algorithm,
			 char buf[static STAND_LEGEND_MAX]);

/* `row`: a user's. O(rows). */
void stand_find(const struct sharetree_view *v, size_t row, struct stand *ret);

#define STAND_WORDS_MAX 480
/* The place, its meaning for the priority of jobs on the cluster, and the account's usage against its share. */
const char *stand_words(const struct stand *s, const struct config *c, const char *cluster,
			char buf[static STAND_WORDS_MAX]);
