/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list.c - lists what the tables have: jobs, and room for address spaces. See vmem.h. */
#include "agent/enforce/vmem/table.h"

void vmem_room(const struct vmem *v, struct vmem_room *ret)
{
	const struct vmem_job *all = &v->jobs[0];

	*ret = (struct vmem_room){ .max_processes = v->max_processes };
	if (!v->kernel)
		return;
	ret->max_spaces = (uint64_t)all->max_spaces;
	ret->held_spaces = all->held_spaces > 0 ? (uint64_t)all->held_spaces : 0;
}

int vmem_jobs(struct vmem *v, struct vmem_job_info *out, size_t max, size_t *ret_n)
{
	size_t i;

	for (i = 0; i < v->n_known && i < max; i++) {
		const struct vmem_job *job = &v->jobs[v->known[i].slot];

		out[i] = (struct vmem_job_info){
			.job_id = job->job_id,
			.cgroup_id = job->cgroup_id,
			.limit_bytes = (uint64_t)job->limit_pages * v->page_bytes,
			.action = (enum vmem_action)job->action,
		};
	}
	*ret_n = v->n_known;
	return 0;
}
