/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wait_end - waits until a submitted job has ended. */
#pragma once
#include "cli/cli.h"
#include "cli/views/job_view.h"

/* Asks for the job until it has ended, ever less often: each ten seconds at most, also while the controller cannot be
 * reached. c->exit_code becomes the status of the job as `reeve run` gives it; of an array 0 where all tasks ended well, else
 * CLI_FAILED. What ended a job that did not exit by itself is printed on stderr, under the name of the verb. */
int wait_end(struct cli *c, const char *verb, int64_t job, struct err *err);
/* Its last part alone, for a job that has ended. */
void wait_end_tell(struct cli *c, const char *verb, const struct job_view *v);
