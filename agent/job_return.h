/* job_return.h - an agent that comes back: every job that was left is found again, goes on
 * under its limits, or is brought to its end.
 */
#pragma once
#include "agent/job.h"

int job_return_all(struct node *n, struct err *err);
/* PREPARE of a job whose unit runs here already, because the agent's database was lost: taken
 * over as it runs, its disk untouched. 1: so it is; 0: it does not run. */
int job_return_unknown(struct node *n, struct job *j);
