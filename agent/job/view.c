/* view.c - jobs as the controller and people see them; see job.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/job/job.h"

bool job_is_sister(const struct job *j)
{
	return j->s.request.part.index > 0;
}

bool job_has_ended(const struct job *j)
{
	return j->step >= STEP_FINAL;
}

enum job_state job_state(const struct job *j)
{
	if (j->step <= STEP_UNIT)
		return j->s.end.kind == END_NONE ? JOB_STARTING : JOB_ENDING;
	if (j->step == STEP_REPORT)
		return JOB_ENDED;
	if (j->step > STEP_RUNNING || j->s.end.kind != END_NONE)
		return JOB_ENDING;
	return j->is_frozen ? JOB_SUSPENDED : JOB_RUNNING;
}

int job_list(const struct node *n, struct sync_job **ret, size_t *ret_n)
{
	struct sync_job *list = reallocarray(*ret, n->n_jobs + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (const struct job *j = n->jobs; j; j = j->next)
		list[count++] = (struct sync_job){ j->s.job, j->s.attempt, job_state(j) };
	*ret = list;
	*ret_n = count;
	return 0;
}
