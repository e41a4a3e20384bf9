/* job_return.h - an agent that comes back: every job that was left is found again, goes on
 * under its limits, or is brought to its end.
 */
#pragma once
#include "agent/job.h"

int job_return_all(struct node *n, struct err *err);
