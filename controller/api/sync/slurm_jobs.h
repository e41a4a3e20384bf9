/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_jobs - POST /v1/slurm/jobs: stores what reeve-slurm tells of the jobs of a cluster of Slurm, and answers how far the
 * ledger has them (common/wire/slurm_batch.h). */
#pragma once
#include "controller/api/call.h"

int route_slurm_jobs(struct call *c, struct err *err);
/* GET /v1/slurm/attempts?cluster=&from=&to=&after=&submit=: the attempts that ended in [from, to), as the ledger has them, in the
 * form of the same document; operators and SlurmUser= alone. */
int route_slurm_attempts(struct call *c, struct err *err);

/* The cluster of that name, which must be Slurm's; its SlurmUser= alone may speak for it. Refuses others. */
int route_slurm_admit(struct call *c, const char *cluster, const struct config_cluster **ret,
		      struct err *err);
