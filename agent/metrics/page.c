/* SPDX-License-Identifier: GPL-2.0-or-later */
/* page.c - the tables of the agent's metrics, and how they are written; see metrics/page.h. */
#include <inttypes.h>
#include <string.h>
#include "agent/metrics/page.h"
#include "common/time_units.h"

struct metric {
	const char *name, *type, *help;
};

/* Values whose name has "_seconds" are nanoseconds in the view, all others are written as they are. */
static const struct metric node_metrics[_METRICS_NODE_MAX] = {
	[METRICS_CORES] = { "reeve_node_cores", "gauge", "Cores for jobs." },
	[METRICS_CORES_HELD] = { "reeve_node_cores_held", "gauge", "Cores that jobs have." },
	[METRICS_CPU_NS] = { "reeve_node_cpu_seconds_total", "counter",
			     "CPU time of jobs, since the agent started." },
	[METRICS_MEMORY] = { "reeve_node_memory_bytes", "gauge", "Memory for jobs." },
	[METRICS_MEMORY_HELD] = { "reeve_node_memory_held_bytes", "gauge",
				  "Memory reserved by jobs: the larger of their vmem and mem." },
	[METRICS_MEMORY_USED] = { "reeve_node_memory_used_bytes", "gauge",
				  "Memory charged to jobs, page cache included." },
	[METRICS_VMEM_USED] = { "reeve_node_vmem_used_bytes", "gauge",
				"Virtual sizes of the processes of jobs." },
	[METRICS_JOBFS] = { "reeve_node_jobfs_bytes", "gauge", "Node-local disk for jobs." },
	[METRICS_JOBFS_HELD] = { "reeve_node_jobfs_held_bytes", "gauge",
				 "Node-local disk reserved by jobs." },
	[METRICS_JOBFS_USED] = { "reeve_node_jobfs_used_bytes", "gauge",
				 "Node-local disk that jobs use." },
	[METRICS_GPUS] = { "reeve_node_gpus", "gauge", "GPUs for jobs." },
	[METRICS_GPUS_HELD] = { "reeve_node_gpus_held", "gauge",
				"GPUs that jobs have, or that are drained." },
	[METRICS_GPUS_DRAINED] = { "reeve_node_gpus_drained", "gauge",
				   "GPUs given to no job, as something was left on them." },
	[METRICS_TIER] = { "reeve_node_tier", "gauge",
			   "Enforcement tier, 1 is the best (docs/enforcement.md)." },
	[METRICS_NOTES] = { "reeve_node_notes", "gauge",
			    "Notes on what cannot be enforced or measured here." },
	[METRICS_STORE_FAILING] = { "reeve_agent_store_failing", "gauge",
				    "1: the agent's database fails; no job starts." },
	[METRICS_CONTROLLER_UP] = { "reeve_agent_controller_up", "gauge",
				    "1: the last exchange with the controller succeeded." },
	[METRICS_EXCHANGES] = { "reeve_agent_exchanges_total", "counter",
				"Exchanges with the controller." },
	[METRICS_EXCHANGES_FAILED] = { "reeve_agent_exchanges_failed_total", "counter",
				       "Exchanges that failed." },
	[METRICS_EXCHANGE_AGE_NS] = { "reeve_agent_exchange_age_seconds", "gauge",
				      "Since the last exchange that succeeded." },
	[METRICS_SPOOL_REPORTS] = { "reeve_agent_spool_reports", "gauge",
				    "Reports that the controller has not acknowledged." },
	[METRICS_SPOOL_FINAL] = { "reeve_agent_spool_final_reports", "gauge",
				  "Of these, final reports of jobs." },
	[METRICS_SPOOL_BYTES] = { "reeve_agent_spool_bytes", "gauge", "Their size." },
	[METRICS_SPOOL_MAX] = { "reeve_agent_spool_limit_bytes", "gauge",
				"SpoolMax: above it no job starts." },
	[METRICS_REPORT_LAG_NS] = { "reeve_agent_report_lag_seconds", "gauge",
				    "Age of the oldest of these reports; 0: there is none." },
	[METRICS_SAMPLINGS] = { "reeve_agent_samplings_total", "counter",
				"Measurements of all jobs." },
	[METRICS_SAMPLING_NS] = { "reeve_agent_sampling_seconds_total", "counter",
				  "Time that they took." },
	[METRICS_AGENT_CPU_NS] = { "process_cpu_seconds_total", "counter",
				   "CPU time of the agent." },
	[METRICS_AGENT_RSS] = { "process_resident_memory_bytes", "gauge",
				"Resident memory of the agent." },
	[METRICS_AGENT_START_NS] = { "process_start_time_seconds", "gauge",
				     "When the agent started, since 1970." },
	[METRICS_JOBS_UNLISTED] = { "reeve_node_jobs_unlisted", "gauge",
				    "Jobs that have no series of their own, for want of room." },
};

static const struct metric job_metrics[_METRICS_JOB_MAX] = {
	[METRICS_JOB_CORES] = { "reeve_node_job_cores", "gauge", "Cores requested." },
	[METRICS_JOB_CPU_REQUESTED_NS] = { "reeve_node_job_cpu_requested_seconds_total",
					   "counter", "Cores requested, by the time running." },
	[METRICS_JOB_CPU_NS] = { "reeve_node_job_cpu_seconds_total", "counter",
				 "CPU time used." },
	[METRICS_JOB_MEM_REQUESTED] = { "reeve_node_job_memory_limit_bytes", "gauge",
					"Limit of its memory (mem)." },
	[METRICS_JOB_MEM] = { "reeve_node_job_memory_bytes", "gauge",
			      "Memory charged to it, page cache included." },
	[METRICS_JOB_MEM_PEAK] = { "reeve_node_job_memory_peak_bytes", "gauge",
				   "The most of it so far." },
	[METRICS_JOB_RSS] = { "reeve_node_job_memory_resident_bytes", "gauge",
			      "Resident memory, without page cache." },
	[METRICS_JOB_VMEM_REQUESTED] = { "reeve_node_job_vmem_requested_bytes", "gauge",
					 "Limit of the virtual sizes of its processes (vmem)." },
	[METRICS_JOB_VMEM] = { "reeve_node_job_vmem_bytes", "gauge",
			       "Virtual sizes of its processes." },
	[METRICS_JOB_VMEM_PEAK] = { "reeve_node_job_vmem_peak_bytes", "gauge",
				    "The most of them so far." },
	[METRICS_JOB_JOBFS_REQUESTED] = { "reeve_node_job_jobfs_requested_bytes", "gauge",
					  "Node-local disk requested." },
	[METRICS_JOB_JOBFS] = { "reeve_node_job_jobfs_bytes", "gauge",
				"Node-local disk used." },
	[METRICS_JOB_GPUS] = { "reeve_node_job_gpus", "gauge", "GPUs requested." },
	[METRICS_JOB_GPU_BUSY_NS] = { "reeve_node_job_gpu_busy_seconds_total", "counter",
				      "Time that its GPUs worked for it, summed over them." },
	[METRICS_JOB_WALLTIME_NS] = { "reeve_node_job_walltime_requested_seconds", "gauge",
				      "Walltime requested." },
	[METRICS_JOB_RUNNING_NS] = { "reeve_node_job_running_seconds_total", "counter",
				     "Time running, without suspended time." },
};

static void put_value(struct metrics_text *t, const struct metric *m, int64_t value)
{
	if (strstr(m->name, "_seconds"))
		metrics_seconds_ns(t, value);
	else
		fprintf(t->f, "%" PRId64 "\n", value);
}

static void put_job(struct metrics_text *t, const struct metric *m, const struct metrics_job *j,
		    int64_t value)
{
	fprintf(t->f, "%s{job_id=\"%" PRId64 "\",attempt=\"%" PRId32 "\",", m->name, j->job,
		j->attempt);
	metrics_label(t, "user", j->user);
	fputc(',', t->f);
	metrics_label(t, "account", j->account);
	fputs("} ", t->f);
	put_value(t, m, value);
}

static void put_node(struct metrics_text *t, const struct metrics_view *v)
{
	for (int i = 0; i < _METRICS_NODE_MAX; i++) {
		const struct metric *m = &node_metrics[i];

		if (v->value[i] == METRICS_ABSENT)
			continue;
		metrics_head(t, m->name, m->type, m->help);
		fprintf(t->f, "%s ", m->name);
		put_value(t, m, v->value[i]);
	}
}

static void put_word(struct metrics_text *t, const char *name, const char *label,
		     const char *word, int64_t value)
{
	fprintf(t->f, "%s{%s=\"%s\"} %" PRId64 "\n", name, label, word, value);
}

static void put_counts(struct metrics_text *t, const struct metrics_view *v)
{
	metrics_head(t, "reeve_node_jobs", "gauge", "Jobs on this node, by state.");
	for (int i = JOB_STARTING; i < _JOB_STATE_MAX; i++)
		put_word(t, "reeve_node_jobs", "state", job_state_name((enum job_state)i),
			 v->states[i]);
	metrics_head(t, "reeve_node_jobs_ended_total", "counter",
		     "Jobs that ended here since the agent started, by how they ended.");
	for (int i = END_NONE + 1; i < _END_MAX; i++)
		put_word(t, "reeve_node_jobs_ended_total", "how",
			 job_end_kind_name((enum job_end_kind)i), v->ended[i]);
	metrics_head(t, "reeve_node_kills_total", "counter",
		     "Jobs killed here since the agent started, by the limit exceeded.");
	for (int i = LIMIT_NONE + 1; i < _LIMIT_MAX; i++)
		put_word(t, "reeve_node_kills_total", "limit",
			 limit_kind_name((enum limit_kind)i), v->killed[i]);
}

static void put_info(struct metrics_text *t, const struct metrics_view *v)
{
	metrics_head(t, "reeve_node_info", "info", "This node.");
	fputs("reeve_node_info{", t->f);
	metrics_label(t, "node", v->node);
	fputc(',', t->f);
	metrics_label(t, "node_type", v->node_type);
	fputc(',', t->f);
	metrics_label(t, "engine", v->engine);
	fputs("} 1\n", t->f);
	metrics_head(t, "reeve_agent_build_info", "info", "The version that runs.");
	fputs("reeve_agent_build_info{", t->f);
	metrics_label(t, "version", v->version);
	fputs("} 1\n", t->f);
}

/* All samples of a metric stand together. A metric that no job has is left out. */
static void put_jobs(struct metrics_text *t, const struct metrics_view *v)
{
	for (int i = 0; i < _METRICS_JOB_MAX; i++) {
		const struct metric *m = &job_metrics[i];
		bool is_begun = false;

		for (size_t k = 0; k < v->n_jobs; k++) {
			if (v->jobs[k].value[i] == METRICS_ABSENT)
				continue;
			if (!is_begun)
				metrics_head(t, m->name, m->type, m->help);
			is_begun = true;
			put_job(t, m, &v->jobs[k], v->jobs[k].value[i]);
		}
	}
}

void metrics_page_write(const struct metrics_view *v, struct metrics_text *t)
{
	put_info(t, v);
	put_node(t, v);
	put_counts(t, v);
	put_jobs(t, v);
	metrics_end(t);
}
