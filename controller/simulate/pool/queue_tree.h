/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_tree - a queue of jobs by place, in which the next job that could start is found
 * without looking at all of them: a tree over the places with the least cores and the least
 * estimate below each node.
 *
 * Pure. Adding, removing and each step of a search take time in the logarithm of the places.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct queue_tree;
#define QUEUE_TREE_NONE UINT32_MAX

/* What could start now: a job of at most `cores` whose estimate is at most `estimate_s`, or one
 * of at most `any_cores` (not above `cores`) whatever its estimate. */
struct queue_tree_limit {
	int64_t cores, estimate_s, any_cores;
};
#define QUEUE_TREE_ALL                                                                         \
	(struct queue_tree_limit)                                                              \
	{                                                                                      \
		.cores = INT64_MAX - 1, .estimate_s = INT64_MAX - 1,                           \
		.any_cores = INT64_MAX - 1                                                     \
	}

/* For places 0 to n-1. -ENOMEM. */
int queue_tree_new(size_t n, struct queue_tree **ret);
struct queue_tree *queue_tree_free(struct queue_tree *t);
DEFINE_CLEANUP(struct queue_tree *, queue_tree_free)

/* The place was empty / holds a job. */
void queue_tree_add(struct queue_tree *t, uint32_t place, int64_t cores, int64_t estimate_s);
void queue_tree_remove(struct queue_tree *t, uint32_t place);
/* The first place at or after `from` whose job is within the limit; QUEUE_TREE_NONE. */
uint32_t queue_tree_next(const struct queue_tree *t, uint32_t from,
			 const struct queue_tree_limit *limit);
