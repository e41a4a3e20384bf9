/* SPDX-License-Identifier: GPL-2.0-or-later */
/* output.h - stdout and stderr of `reeve run`: files in the job's own disk quota, read
 * along as they grow and handed to the uplink piece by piece until the controller has all.
 */
#pragma once
#include "agent/job/job.h"

/* Makes "out" and (unless joined) "err" in the job's directory if absent, and opens them for
 * writing into ret_fds; a joined job gets the same file twice. */
int job_output_create(struct job *j, int ret_fds[2], struct err *err);
/* Tell the uplink whenever they grow. After a restart too. */
void job_output_watch(struct job *j);
/* uplink_config.next_output */
int job_output_next(void *ctx, int index, struct sync_output *ret);
/* The controller has all before `offset`. */
void job_output_acked(struct job *j, enum sync_stream stream, int64_t offset);
/* Has the controller all of it? True for jobs that do not stream. */
bool job_output_is_taken(struct job *j);
