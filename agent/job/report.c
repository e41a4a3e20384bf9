/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report.c - the usage of jobs: read it from the samplers, put it into reports; see job/report.h. */
#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/final.h"
#include "agent/enforce/devices.h"
#include "agent/job/due.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/gpus/meter.h"
#include "agent/job/phase/limit.h"
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "agent/job/series/series.h"
#include "agent/job/phase/attach.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"

/* A figure of a sample, where it goes in struct usage, and the bit that says that it was measured. */
struct figure {
	uint32_t bit;
	size_t from, to;
};
#define FIGURE(bit, from, to)                                                                  \
	{                                                                                      \
		bit, offsetof(struct sample, from), offsetof(struct usage, to)                 \
	}
static const struct figure figures[] = {
	FIGURE(SAMPLE_CPU, cpu_ns, cpu_ns),
	FIGURE(SAMPLE_CPU_SPLIT, cpu_user_ns, cpu_user_ns),
	FIGURE(SAMPLE_CPU_SPLIT, cpu_system_ns, cpu_system_ns),
	FIGURE(SAMPLE_RUN_DELAY, run_delay_ns, run_delay_ns),
	FIGURE(SAMPLE_MEM, mem_bytes, mem_bytes),
	FIGURE(SAMPLE_MEM_PEAK, mem_peak_bytes, mem_peak_bytes),
	FIGURE(SAMPLE_RSS, rss_bytes, rss_bytes),
	FIGURE(SAMPLE_RSS, rss_peak_bytes, rss_peak_bytes),
	FIGURE(SAMPLE_MEM_PARTS, anon_bytes, anon_bytes),
	FIGURE(SAMPLE_MEM_PARTS, file_bytes, file_bytes),
	FIGURE(SAMPLE_MEM_PARTS, shmem_bytes, shmem_bytes),
	FIGURE(SAMPLE_FAULTS, minor_faults, minor_faults),
	FIGURE(SAMPLE_FAULTS, major_faults, major_faults),
	FIGURE(SAMPLE_IO, read_bytes, read_bytes),
	FIGURE(SAMPLE_IO, written_bytes, write_bytes),
	FIGURE(SAMPLE_TASKS, tasks, procs),
	FIGURE(SAMPLE_TASKS, tasks_peak, procs_peak),
};

static int64_t clip_to_int64(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

/* Only cores that the job used; `cores` is sparse. */
static void add_cores(const struct sample *s, struct usage *u)
{
	if (!(s->have & SAMPLE_CPU_CORES))
		return;
	for (uint32_t i = 0; i < s->n_cores && u->n_cores < USAGE_CORES_MAX; i++)
		if (s->core_ns[i])
			u->cores[u->n_cores++] =
				(struct usage_core){ (int32_t)i, clip_to_int64(s->core_ns[i]) };
}

static void add_sample(const struct sample *s, struct usage *u)
{
	for (size_t i = 0; i < ARRAY_LEN(figures); i++) {
		const struct figure *f = &figures[i];
		uint64_t value;

		if (!(s->have & f->bit))
			continue;
		memcpy(&value, (const char *)s + f->from, sizeof(value));
		usage_set(u, (int64_t *)((char *)u + f->to), clip_to_int64(value));
	}
	add_cores(s, u);
}

/* The manager's setup (mounts and the like) and the launcher run in the job's cgroup before the user's program does:
 * subtract what they used. */
static void subtract_baseline(const struct job *j, struct usage *u)
{
	struct usage base;
	int64_t *counters[] = { &u->cpu_ns, &u->cpu_user_ns, &u->cpu_system_ns };
	const int64_t *less[] = { &base.cpu_ns, &base.cpu_user_ns, &base.cpu_system_ns };

	state_base_get(&j->s, &base);
	for (size_t i = 0; i < ARRAY_LEN(counters); i++)
		*counters[i] = *counters[i] > *less[i] ? *counters[i] - *less[i] : 0;
	for (int i = 0; i < u->n_cores; i++)
		for (int k = 0; k < base.n_cores; k++)
			if (base.cores[k].cpu == u->cores[i].cpu)
				u->cores[i].ns -= u->cores[i].ns > base.cores[k].ns
							  ? base.cores[k].ns
							  : u->cores[i].ns;
}

/* To be called when the launcher is ready to execute the job's command, once: see subtract_baseline(). */
void report_save_baseline(struct node *n, struct job *j)
{
	struct usage u = { 0 };
	struct sample s;

	if (!j->is_attached || sample_cgroup(n->sampler, j->s.cgroup_id, &s, NULL) < 0)
		return;
	/* What subtract_baseline() takes. */
	s.have &= SAMPLE_CPU | SAMPLE_CPU_SPLIT | SAMPLE_CPU_CORES;
	add_sample(&s, &u);
	if (state_base_set(&j->s, &u) < 0)
		log_job(LOG_WARNING, j->s.job, "usage", "no memory: its start is counted too");
}

static void add_vmem(struct node *n, struct job *j, struct usage *u)
{
	struct vmem_usage v;

	if (vmem_read(n->vmem, j->work_id, &v, NULL) < 0)
		return;
	usage_set(u, &u->vmem_bytes, clip_to_int64(v.now_bytes));
	usage_set(u, &u->vmem_peak_bytes, clip_to_int64(v.peak_bytes));
	if (v.n_refused)
		usage_set(u, &u->vmem_refused, clip_to_int64(v.n_refused));
	/* The vmem table refuses a fork before pids.max does: the same limit, so the same note. */
	if (v.n_no_room && !v.is_exceeded && !j->s.note)
		job_note(j,
			 "the job reached its limit of %" PRId64
			 " processes and threads; further ones were refused",
			 j->s.request.res.pids);
}

static void add_jobfs(struct node *n, struct job *j, struct usage *u)
{
	struct jobfs_usage v;
	struct usage before;
	int64_t peak;

	if (!n->jobfs || !j->s.jobfs.projid || jobfs_usage(n->jobfs, &j->s.jobfs, &v, NULL) < 0)
		return;
	state_usage_get(&j->s, &before);
	peak = before.jobfs_peak_bytes;
	usage_set(u, &u->jobfs_bytes, v.bytes);
	usage_set(u, &u->jobfs_peak_bytes, v.bytes > peak ? v.bytes : peak);
}

/* All GPUs of the job together: the device gate counts by job. */
static void add_gpu_opens(const struct node *n, const struct job *j, struct usage *u)
{
	struct devices_counts c;

	if (n->devices && j->gpus && devices_read(n->devices, j->s.cgroup_id, &c) == 0)
		usage_set(u, &u->gpu_opens, clip_to_int64(c.n_granted));
}

static void add_prof(struct node *n, const struct job *j, struct usage *u)
{
	struct prof_counts c;

	if (!n->prof || prof_read(n->prof, j->work_id, &c, NULL) < 0)
		return;
	usage_set(u, &u->ctx_switches, clip_to_int64(c.switches));
	usage_set(u, &u->ctx_preemptions, clip_to_int64(c.preemptions));
	usage_set(u, &u->cpu_migrations, clip_to_int64(c.migrations));
	usage_set(u, &u->run_delay_max_ns, clip_to_int64(prof_longest_wait_ns(&c)));
}

/* Completes the figures of a sample: without what the setup used, and with what the other BPF programs count. */
static void add_kernel_counts(struct node *n, struct job *j, struct usage *u)
{
	subtract_baseline(j, u);
	add_vmem(n, j, u);
	add_prof(n, j, u);
	add_gpu_opens(n, j, u);
}

/* Called for each cgroup that the sampler knows. Merges the figures into the job, then checks the limits
 * for which the kernel sends no event. */
static void on_sample(void *ctx, const struct sample *s)
{
	struct node *n = ctx;
	struct usage u = { 0 };
	struct job *j = NULL;

	for (struct job *i = n->jobs; i && !j; i = i->next)
		if (i->is_attached && i->s.cgroup_id == s->cgroup_id)
			j = i;
	if (!j || j->phase != PHASE_RUNNING)
		return;
	add_sample(s, &u);
	add_kernel_counts(n, j, &u);
	add_jobfs(n, j, &u);
	job_merge_usage(j, &u);
	job_sync_clock(n, j);
	limit_check_sampled(n, j);
	job_series_add(n, j, &u);
}

void report_measure(struct node *n)
{
	int64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	struct err err;

	if (sample_all(n->sampler, on_sample, n, &err) < 0)
		log_line(LOG_WARNING, "sampling: %s", err.text);
	n->counts.samplings++;
	n->counts.sampling_ns += clock_ns(CLOCK_MONOTONIC) - begun_ns;
}

/* The last figures, from the live cgroup and, where `f` is given, from the final record, which has what
 * happened after the last sample. Of counters and peaks merging keeps the larger: no order of the two loses any. */
void report_measure_last(struct node *n, struct job *j, const struct final *f)
{
	struct usage u = { 0 }, last = { 0 };
	struct sample s;

	if (j->is_attached) {
		if (sample_one(n->sampler, j->s.cgroup_id, &s, NULL) == 0)
			add_sample(&s, &u);
		add_kernel_counts(n, j, &u);
	}
	add_jobfs(n, j, &u);
	job_merge_usage(j, &u);
	gpu_meter_last(n, j);
	if (f) {
		last = f->usage;
		subtract_baseline(j, &last);
		job_merge_usage(j, &last);
	}
	job_series_add(n, j, &u);
}

/* Memory was in use and belongs to the series; what of the others exceeds the samples was refused. */
void report_count_reached(struct node *n, struct job *j)
{
	struct usage u = { 0 };
	struct job_end end;

	state_end_get(&j->s, &end);
	job_end_raise_peaks(&end, &u);
	job_merge_usage(j, &u);
	if (end.kind == END_LIMIT && end.reason.limit == LIMIT_MEM)
		job_series_add(n, j, &u);
}

/* The last thing that happened, and what is so for all of the job's time. */
static void set_note(const struct job *j, struct report *r)
{
	const char *last = j->s.note ? j->s.note : "";

	if (j->s.jobfs.projid && j->node->jobfs && jobfs_is_unlimited(j->node->jobfs))
		utf8_format(r->note, sizeof(r->note),
			    "%s%snode %s neither limits nor measures jobfs: Jobfs = none", last,
			    *last ? "; " : "", j->node->conf->node);
	else
		utf8_format(r->note, sizeof(r->note), "%s", last);
}

/* Up to when the job has run. An agent that was held up may report a job before it sees that the job has ended; the time since that end is not
 * the job's, and the controller never lowers a reported time. So the clock is read before the look at the job's processes: while there are
 * some, the job has run until then. */
static int64_t ran_until_ns(struct job *j)
{
	int64_t now = job_now_ns(j);

	if (j->phase != PHASE_RUNNING || job_is_foreign(j))
		return now;
	if (job_has_processes(j))
		j->alive_ns = now;
	return j->alive_ns;
}

/* The report as of now; a job whose clock does not run has the times that were saved. */
static void fill_report(struct job *j, struct report *r)
{
	int64_t now = ran_until_ns(j);

	memset(r, 0, sizeof(*r));
	r->job = j->s.job;
	r->attempt = j->s.attempt;
	r->at_ns = node_realtime_ns();
	r->state = job_state(j);
	r->started_ns = j->s.clock.started_ns;
	r->ended_ns = r->state == JOB_ENDED ? j->s.clock.ended_ns : 0;
	r->running_ns =
		j->clock.start_ns ? clock_running_ns(&j->clock, now) : j->s.clock.running_ns;
	r->suspended_ns = j->clock.start_ns ? clock_suspended_ns(&j->clock, now)
					    : j->s.clock.suspended_ns;
	state_usage_get(&j->s, &r->usage);
	if (r->state == JOB_ENDED)
		state_end_get(&j->s, &r->end);
	cpulist_format(&j->s.cpus, r->cpus, sizeof(r->cpus));
	set_note(j, r);
}

void report_make(struct node *n, struct job *j, struct report *ret)
{
	fill_report(j, ret);
	ret->seq = j->report_seq;
	/* Out of memory: the report lists no GPUs. */
	job_gpus_report(n, j, &ret->gpus, &ret->n_gpus);
	gpu_meter_keep(j);
	job_series_report(j, ret);
}

int report_write(struct node *n, struct job *j, struct report *report, struct err *err)
{
	int r = spool_put(n->spool, report, err);

	if (r == -EALREADY) /* the final report is stored already: an agent died in between */
		r = 0;
	return r < 0 ? r : job_save_row(j, err);
}

void report_written(struct job *j, const struct report *report)
{
	j->report_seq = report->seq;
	j->reported_ns = node_now_ns();
	job_due_set(j, DUE_REPORT, JOB_DUE_NEVER);
}

/* Report and state in one transaction. */
static int save_report_and_state(struct node *n, struct job *j, struct report *report,
				 struct err *err)
{
	int r = db_begin(n->db, err);

	return r < 0 ? r : db_end(n->db, report_write(n, j, report, err), err);
}

/* 0, or REPORT_UNSAVED: the store fails and the report is in memory only; it is sent all the same. The sequence
 * number grows in both cases, so that the controller takes the report for a new one. */
int report_put(struct node *n, struct job *j, struct err *err)
{
	struct report report;
	int r;

	report_make(n, j, &report);
	r = save_report_and_state(n, j, &report, err);
	job_save_done(j, r, err);
	if (r < 0) {
		report.seq = j->report_seq;
		r = spool_put_unsaved(n->spool, &report, err);
		r = r < 0 ? r : REPORT_UNSAVED;
	}
	if (r >= 0)
		report_written(j, &report);
	report_done(&report);
	return r;
}

void report_change(struct node *n, struct job *j)
{
	struct err err;

	if (report_put(n, j, &err) < 0)
		log_job(LOG_ERR, j->s.job, "report", "%s", err.text);
	if (n->uplink)
		uplink_kick(n->uplink);
}

/* Other nodes wait for a part of a job to run. */
void report_soon(struct job *j)
{
	int64_t delay_ms = j->s.request.part.n ? 0 : REPORT_SOON_MS;

	job_due_set(j, DUE_REPORT, node_now_ns() + delay_ms * MS_NS);
}
