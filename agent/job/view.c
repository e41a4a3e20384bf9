/* SPDX-License-Identifier: GPL-2.0-or-later */
/* view.c - the state of a job as the controller and people see it; see job.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/job/job.h"

bool job_is_sister(const struct job *j)
{
	return j->s.request.part.index > 0;
}

bool job_has_ended(const struct job *j)
{
	return j->phase >= PHASE_FINAL;
}

enum job_state job_state(const struct job *j)
{
	if (j->phase <= PHASE_UNIT)
		return j->s.end.kind == END_NONE ? JOB_STARTING : JOB_ENDING;
	if (j->phase == PHASE_REPORT)
		return JOB_ENDED;
	if (j->phase > PHASE_RUNNING || j->s.end.kind != END_NONE)
		return JOB_ENDING;
	return j->is_frozen ? JOB_SUSPENDED : JOB_RUNNING;
}
