/* job_attempts - the attempts of a job before the present one: where, how they ended, what each
 * was charged. */
#pragma once
#include <stdio.h>
#include "cli/views/job_view.h"

/* Nothing for a job that was never queued again. */
void job_attempts_tell(const struct job_view *v, FILE *to);
