/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pace.c - the least cost of a job in the last questions, and the rest that follows from it; see pace.h. */
#include "common/time_units.h"
#include "slurm/follow/read/pace.h"

/* A question with few jobs has a cost of its own, that does not grow with the jobs: it counts as these. */
#define JOBS_OF_QUESTION 1000

void pace_note(struct pace *p, int64_t cost_ns, size_t n_jobs)
{
	int64_t each = cost_ns / (int64_t)(n_jobs + JOBS_OF_QUESTION);

	p->per_job_ns[p->next] = each > 0 ? each : 1;
	p->next = (p->next + 1) % PACE_KEPT;
}

int64_t pace_cost_ns(const struct pace *p, size_t n_jobs)
{
	int64_t least = 0;

	for (size_t i = 0; i < PACE_KEPT; i++)
		if (p->per_job_ns[i] && (!least || p->per_job_ns[i] < least))
			least = p->per_job_ns[i];
	return least * (int64_t)(n_jobs + JOBS_OF_QUESTION);
}

int64_t pace_rest_ns(const struct pace *p, size_t n_jobs, const struct pace_limit *l)
{
	int64_t rest_ns = pace_cost_ns(p, n_jobs) / l->ms_per_s * S_MS;

	return rest_ns < l->most_s * S_NS ? rest_ns : l->most_s * S_NS;
}
