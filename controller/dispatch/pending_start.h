/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending_start - starts that were decided and wait for cores: the jobs that were preempted for them
 * have not been suspended yet. In memory only: a controller that restarts decides again, and its next
 * cycles resume the preempted jobs. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/request.h"

/* Where the cores do not become free within this time, the start is dropped and decided again. */
#define PENDING_START_MAX_NS INT64_C(60000000000)

struct pending_start {
	int64_t job, since_ns;
	char (*nodes)[REQUEST_NAME_MAX]; /* of each chunk, one by one */
	size_t n;
};
struct pending_start_list {
	struct pending_start *of;
	size_t n, max;
};

/* NULL: the job has none. Valid until the list changes. */
const struct pending_start *pending_start_find(const struct pending_start_list *all,
					       int64_t job);
/* Takes ownership of p->nodes, which are malloc()ed, also where it fails. -ENOMEM. */
int pending_start_add(struct pending_start_list *all, const struct pending_start *p);
void pending_start_drop(struct pending_start_list *all, int64_t job);
void pending_start_done(struct pending_start_list *all);
