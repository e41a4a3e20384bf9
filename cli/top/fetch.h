/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fetch - which documents of the API a view needs: two requests at most, each bounded by a limit, read by an index and
 * without scripts and environments.
 */
#pragma once
#include "cli/top/views/view.h"

#define TOP_REQUESTS_MAX 2
#define TOP_JOBS_MAX 200 /* rows of a list of jobs */
#define TOP_SUMS_MAX                                                                           \
	1000 /* jobs that are summed up by account or user: the most that the API lists */
#define TOP_NODES_MAX 1000

struct top_request {
	enum top_doc doc;
	char *path;
	bool is_optional; /* a refusal is not the view's: coordinators see a job, but not its steps */
};

struct top_plan {
	struct top_request of[TOP_REQUESTS_MAX];
	int n;
	int64_t limit; /* of the list of jobs; 0: none is requested */
};
void top_plan_done(struct top_plan *p);
/* -EINVAL: the job is no job number. *ret needs top_plan_done() after 0. */
int top_fetch_plan(const struct top_ask *ask, struct top_plan *ret, struct err *err);

/* Puts the documents of a plan that was carried out in the place of those before. Takes over answers[i], the answer to
 * plan->of[i]. */
void top_fetch_keep(struct top_docs *d, const struct top_plan *plan, json_t *answers[],
		    int64_t at_ns);
