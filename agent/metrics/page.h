/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.h - the agent's metrics as text: what the node has, and what each job requested and uses. Pure.
 *
 * Names: reeve_node_... of the node, reeve_node_job_... of one job on it, reeve_agent_... and process_... of the
 * agent. Figures of jobs are of this node: of a job on several, its part here. A figure that is not measured
 * is left out; it is never 0.
 */
#pragma once
#include "common/metrics.h"
#include "common/model/job.h"

#define METRICS_JOBS_MAX 1000 /* jobs with series of their own, the oldest */
#define METRICS_ABSENT (-1)

enum metrics_node_value {
	METRICS_CORES,
	METRICS_CORES_HELD,
	METRICS_CPU_NS, /* of jobs, since the agent started */
	METRICS_MEMORY,
	METRICS_MEMORY_HELD,
	METRICS_MEMORY_USED,
	METRICS_VMEM_USED,
	METRICS_JOBFS,
	METRICS_JOBFS_HELD,
	METRICS_JOBFS_USED,
	METRICS_GPUS,
	METRICS_GPUS_HELD,
	METRICS_GPUS_DRAINED,
	METRICS_TIER,
	METRICS_NOTES,
	METRICS_STORE_FAILING,
	METRICS_CONTROLLER_UP,
	METRICS_EXCHANGES,
	METRICS_EXCHANGES_FAILED,
	METRICS_EXCHANGE_AGE_NS,
	METRICS_SPOOL_REPORTS,
	METRICS_SPOOL_FINAL,
	METRICS_SPOOL_BYTES,
	METRICS_SPOOL_MAX,
	METRICS_REPORT_LAG_NS,
	METRICS_SAMPLINGS,
	METRICS_SAMPLING_NS,
	METRICS_AGENT_CPU_NS,
	METRICS_AGENT_RSS,
	METRICS_AGENT_START_NS,
	METRICS_JOBS_UNLISTED,
	_METRICS_NODE_MAX,
};

enum metrics_job_value {
	METRICS_JOB_CORES,
	METRICS_JOB_CPU_REQUESTED_NS,
	METRICS_JOB_CPU_NS,
	METRICS_JOB_MEM_REQUESTED,
	METRICS_JOB_MEM,
	METRICS_JOB_MEM_PEAK,
	METRICS_JOB_RSS,
	METRICS_JOB_VMEM_REQUESTED,
	METRICS_JOB_VMEM,
	METRICS_JOB_VMEM_PEAK,
	METRICS_JOB_JOBFS_REQUESTED,
	METRICS_JOB_JOBFS,
	METRICS_JOB_GPUS,
	METRICS_JOB_GPU_BUSY_NS,
	METRICS_JOB_WALLTIME_NS,
	METRICS_JOB_RUNNING_NS,
	_METRICS_JOB_MAX,
};

struct metrics_job {
	int64_t job;
	int32_t attempt;
	const char *user, *account; /* not owned */
	int64_t value[_METRICS_JOB_MAX];
};

struct metrics_view {
	const char *node, *node_type, *engine, *version; /* not owned */
	int64_t value[_METRICS_NODE_MAX];		 /* METRICS_ABSENT: not known */
	int64_t states[_JOB_STATE_MAX];			 /* jobs in each */
	int64_t ended[_END_MAX], killed[_LIMIT_MAX];	 /* since the agent started */
	const struct metrics_job *jobs;			 /* not owned */
	size_t n_jobs;
};

void metrics_page_write(const struct metrics_view *v, struct metrics_text *t);
