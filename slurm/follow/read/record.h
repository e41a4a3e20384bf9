/* SPDX-License-Identifier: GPL-2.0-or-later */
/* record - a job of slurmctld, and a row of slurmdbd, as the batch to the controller has it.
 *
 * What Slurm does not know is left out; what contradicts itself is passed on: the controller's rule mends it and notes it.
 */
#pragma once
#include <slurm/slurm.h>
#include <slurm/slurmdb.h>
#include "slurm/follow/read/tres.h"

/* slurmdbd's numbers of resources and of QOS. */
struct record_names {
	struct tres_names tres, qos;
};

/* True: an attempt that runs, is suspended, or has ended. False: it waits, is being cleaned up, or belongs to another
 * cluster of the federation. `at_s`: now, by slurmctld's clock. */
bool record_from_slurmctld(const slurm_job_info_t *job, int64_t at_s,
			   struct slurm_batch_job *ret);
/* True: slurmctld still counts it as started: running, suspended, or being cleaned up. */
bool record_is_present(const slurm_job_info_t *job);
void record_from_slurmdbd(const slurmdb_job_rec_t *row, const struct record_names *names,
			  struct slurm_batch_job *ret);
