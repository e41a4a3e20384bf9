/* SPDX-License-Identifier: GPL-2.0-or-later */
/* remover.h - the process that removes jobs' directories. Private to agent/enforce/jobfs/.
 *
 * It is made when the agent is small and forks for each removal, so that no removal makes a copy of the grown
 * agent: the event loop would stand for that time, and then copy the pages that it writes to. It and its children are root's
 * as long as they live (no user may stop them or look into them), and end with the agent: removing millions of files takes as long as it takes.
 */
#pragma once
#include "agent/enforce/jobfs/jobfs_impl.h"
#include "common/err.h"

/* How a removal ended. */
struct remover_verdict {
	int result;
	struct err err;
};

/* Starts the process. < 0: there is none, and the next order tries again. */
int remover_start(struct jobfs *fs);
/* Has the directory removed (jobfs_wipe()). A pipe that yields a struct remover_verdict, or ends without one where the
 * removal was killed; the caller closes it. -errno, with words. A process that has died is started again. */
int remover_order(struct jobfs *fs, const struct jobfs_job *job, struct err *err);
/* The process ends when the removals under way have. */
void remover_stop(struct jobfs *fs);
