/* SPDX-License-Identifier: GPL-2.0-or-later */
/* needs - what a queued job lacks, as a clause. A list of the queue explains many jobs that request the same, over nodes that
 * change only with a cycle: the clauses of the last requests are kept until the next one. */
#pragma once
#include "controller/dispatch/cluster/cluster.h"
#include "controller/policy/placement/fit.h"

#define NEEDS_KEPT 16

struct needs {
	int64_t now_ns; /* of the cycle that the clauses are of */
	size_t n; /* added since then; the first NEEDS_KEPT of `of` are used, then the oldest goes */
	struct needs_clause {
		struct resources want;
		bool is_exclusive;
		char why[FIT_WHY_MAX];
	} of[NEEDS_KEPT];
};

/* "it needs 16 cores; ...", a clause about "it" or about nodes; "": the job has room. */
void needs_explain(struct needs *kept, const struct cluster *k, const struct order_job *o,
		   char why[static FIT_WHY_MAX]);
