/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_job - finds the job that a path names by Slurm's id. */
#pragma once
#include "common/model/pbs/id.h"
#include "controller/api/call.h"

/* `?cluster=NAME` says that the number of the path is an id of that Slurm cluster; where a site has one cluster, and that is Slurm's, any
 * number as small as an id is one. Puts the job's own number in c->named and c->id. -ENOENT: there is no such job. */
int slurm_job_find(struct call *c, struct err *err);
/* The id by which Slurm or PBS has the job: "4711", of PBS "4711[7]" too. */
const char *slurm_job_id(const struct config *config, const char *cluster, int64_t job,
			 char buf[static PBS_ID_SHORT_MAX]);
bool slurm_job_is_pbs(const struct config *config, const char *cluster);
