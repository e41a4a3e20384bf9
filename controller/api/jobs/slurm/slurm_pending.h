/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_pending - the jobs that wait in Slurm, as reeve-slurm last listed them: their site factors, and why they wait.
 *
 * In memory only: after a start it is empty until the next list, and nothing is charged by it. A list that is whole counts against
 * quotas (quota/expected.h); one that stops half-way leaves the former one.
 */
#pragma once
#include "common/wire/slurm_pending.h"
#include "controller/api/call.h"

struct slurm_pending_table;
struct slurm_pending_table *slurm_pending_free(struct slurm_pending_table *t);

/* A job of the cluster by Slurm's id; NULL: it does not wait, or is not known. Valid until the next list. */
const struct slurm_pending_job *slurm_pending_find(const struct slurm_pending_table *t,
						   const char *cluster, int64_t job);

/* Of c->pending, a job that waits in Slurm: GET /v1/jobs/ID/why. */
int slurm_pending_answer_why(struct call *c, struct err *err);
/* GET /v1/prio?job=ID&cluster=NAME: the row of a job that waits in Slurm. NULL: out of memory. */
json_t *slurm_pending_encode_prio(struct call *c, const char *cluster,
				  const struct slurm_pending_job *j);

int route_slurm_pending(struct call *c, struct err *err);
