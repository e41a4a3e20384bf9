/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_pending.h - what reeve-slurm tells the controller of the jobs that wait in Slurm, and the site factors that it gets back:
 * POST /v1/slurm/pending (docs/protocol.md).
 *
 * Slurm adds a job's site factor to its priority. Reeve's is
 *
 *	site factor = floor(fairshare x weight),	weight = min(PriorityWeightFairshare, SLURM_PENDING_SITE_MAX)
 *
 * with the fairshare (0 to 1) of the job's user in its account and pool, by Reeve's share tree, and the PriorityWeightFairshare of
 * Reeve's [Policy]. Slurm's own PriorityWeightFairshare is to be 0 then, so that fairshare counts once.
 */
#pragma once
#include <jansson.h>
#include "common/model/request.h"

struct err;

#define SLURM_PENDING_PATH "/v1/slurm/pending"
#define SLURM_PENDING_MAX 500			   /* jobs of one document */
#define SLURM_PENDING_SITE_MAX INT64_C(2147483645) /* Slurm has no larger ones */
#define SLURM_PENDING_REASON_MAX 192
#define SLURM_PENDING_TASKS_MAX 4000000 /* of one array */

struct slurm_pending_job {
	int64_t job, uid;
	char user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX];
	char reason[SLURM_PENDING_REASON_MAX]; /* slurmctld's, with its detail */
	int64_t ncpus, ngpus, mem_bytes, walltime_s;
	int64_t priority, site; /* as slurmctld has them */
	int64_t submit_s;
	int64_t tasks;	   /* of an array: those that wait in this record; 0: one job */
	int64_t array_job; /* the id of its array; 0: of none */
};

/* A list of all jobs that wait comes in several documents, one after the other. One without jobs that is neither first nor last
 * changes nothing: its answer says whether the controller has a list. */
struct slurm_pending {
	char cluster[REQUEST_NAME_MAX];
	bool is_first, is_last;
	int64_t age_ms; /* since slurmctld was asked, 1 or more; 0: not said */
	struct slurm_pending_job *jobs;
	size_t n_jobs;
};

struct slurm_pending_site {
	int64_t site;
};
struct slurm_pending_answer {
	int64_t weight; /* 0: fairshare does not count, and no site factor is to be set */
	struct slurm_pending_site *sites; /* of the jobs, in their order */
	size_t n_sites;
	bool is_unlisted; /* the controller has no whole list of the cluster since its start */
};

/* It includes nothing of common/model/job.h: the words of <slurm/slurm.h> are the same as there (JOB_RUNNING). NULL: out of memory. */
json_t *slurm_pending_encode(const struct slurm_pending *doc);
json_t *slurm_pending_encode_answer(const struct slurm_pending_answer *a);
/* Both are freed by their _done, also after an error. -EINVAL, -ENOMEM. */
int slurm_pending_decode(const json_t *j, struct slurm_pending *ret, struct err *err);
int slurm_pending_decode_answer(const json_t *j, struct slurm_pending_answer *ret,
				struct err *err);
void slurm_pending_done(struct slurm_pending *doc);
void slurm_pending_answer_done(struct slurm_pending_answer *a);
