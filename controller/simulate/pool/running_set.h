/* SPDX-License-Identifier: GPL-2.0-or-later */
/* running_set - the running jobs in the order of their estimated ends, with the
 * cores that each frees: when will a number of cores be free, and how many are free then?
 *
 * Pure. Kept in short sorted blocks with their sums: with r running jobs a change or a question
 * takes about the square root of r steps.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct running_set;

struct running_set_job {
	int64_t end_s; /* by its estimate */
	uint32_t job;  /* orders jobs of the same end */
	int64_t cores;
};

int running_set_new(struct running_set **ret); /* -ENOMEM */
struct running_set *running_set_free(struct running_set *s);
DEFINE_CLEANUP(struct running_set *, running_set_free)

int running_set_add(struct running_set *s, const struct running_set_job *j);	/* -ENOMEM */
int running_set_remove(struct running_set *s, const struct running_set_job *j); /* -ENOENT */

/* Finds the earliest time by which the jobs that end until then free `cores` (at least 1).
 * *ret_freed: the cores freed until then, also by all that end at that very time. -ENOENT: all
 * together have fewer. */
int running_set_when(const struct running_set *s, int64_t cores, int64_t *ret_at_s,
		     int64_t *ret_freed);
