/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspend.c - suspend and resume a job, one manager call at a time; see phase/suspend.h. */
#include <string.h>
#include "agent/job/phase/limit.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/report.h"
#include "agent/job/phase/start.h"
#include "agent/job/phase/attach.h"
#include "common/log.h"

static struct manager_id id_of(const struct job *j)
{
	return (struct manager_id){ j->s.job, j->s.attempt };
}

/* A job that the agent suspended has no cores; one that root froze keeps them. */
static bool is_suspended_by_agent(const struct job *j)
{
	return cpulist_is_empty(&j->s.cpus);
}

/* The job stays as it is; suspend_apply() tries again the next time that the job is acted on. */
static void note_failure(struct job *j, const char *what, const struct err *err)
{
	j->pause = PAUSE_NONE;
	job_note(j, "cannot %s: %.200s", what, err->text);
}

static void begin_suspend(struct node *n, struct job *j)
{
	struct err err;

	j->pause = PAUSE_FREEZING;
	if (n->ops->freeze(n->manager, id_of(j), &err) < 0)
		note_failure(j, "suspend", &err);
}

/* Cores first, then thaw: a thawed job would run on cores that belong to other jobs. */
static void begin_resume(struct node *n, struct job *j)
{
	struct cpulist nodes = j->s.mem_nodes;
	struct err err;

	if (job_place(n, j) != 0) {
		if (!j->is_told_to_wait)
			job_note(j, "stays suspended: waits for %lld cores to be free",
				 (long long)j->s.request.res.ncpus);
		j->is_told_to_wait = true;
		return;
	}
	/* Its memory stays where it is, so its NUMA nodes remain allowed. */
	cpulist_join(&j->s.mem_nodes, &nodes);
	j->is_told_to_wait = false;
	j->pause = PAUSE_CPUS;
	if (n->ops->set_cpus(n->manager, id_of(j), &j->s.cpus, &j->s.mem_nodes, &err) < 0) {
		memset(&j->s.cpus, 0, sizeof(j->s.cpus));
		note_failure(j, "resume", &err);
	}
}

/* systemd answers before it has written the cpuset: wait until the kernel has applied it. */
static void begin_thaw(struct node *n, struct job *j)
{
	struct err err;

	if (!job_cpus_in_force(j)) {
		job_act_after(j, 20);
		return;
	}
	j->pause = PAUSE_THAWING;
	if (n->ops->thaw(n->manager, id_of(j), &err) < 0)
		note_failure(j, "resume", &err);
}

/* Nothing to do while a call is under way: its answer comes here again. A job that root froze keeps its cores,
 * and so is not resumed by this. */
void suspend_apply(struct node *n, struct job *j)
{
	if (j->phase != PHASE_RUNNING || j->s.end.kind != END_NONE)
		return;
	if (j->pause == PAUSE_CPUS) {
		begin_thaw(n, j);
		return;
	}
	if (j->pause != PAUSE_NONE)
		return;
	if (j->order == DESIRED_SUSPEND && !is_suspended_by_agent(j))
		begin_suspend(n, j);
	else if (j->order == DESIRED_RUN && is_suspended_by_agent(j))
		begin_resume(n, j);
}

/* Suspended jobs that could not resume for want of cores. */
static void wake_waiting_jobs(struct node *n, const struct job *except)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j != except && j->phase == PHASE_RUNNING && j->order == DESIRED_RUN &&
		    is_suspended_by_agent(j))
			job_act_after(j, 0);
}

/* Its cores are given up only now that the kernel has frozen it. The order may have changed meanwhile:
 * suspend_apply() makes the next call. */
static void on_suspended(struct node *n, struct job *j)
{
	j->pause = PAUSE_NONE;
	memset(&j->s.cpus, 0, sizeof(j->s.cpus));
	if (!j->is_frozen) {
		j->is_frozen = true;
		clock_freeze(&j->clock, node_now_ns());
	}
	job_sync_clock(n, j);
	limit_arm_clock(n, j);
	log_job(LOG_INFO, j->s.job, "suspend", "suspended; its cores are free for others");
	report_change(n, j);
	wake_waiting_jobs(n, j);
	suspend_apply(n, j);
}

static void on_resumed(struct node *n, struct job *j)
{
	char cpus[CPULIST_TEXT_MAX];

	j->pause = PAUSE_NONE;
	if (j->is_frozen) {
		j->is_frozen = false;
		clock_thaw(&j->clock, node_now_ns());
	}
	job_sync_clock(n, j);
	limit_arm_clock(n, j);
	log_job(LOG_INFO, j->s.job, "resume", "resumed on cpus %s",
		cpulist_format(&j->s.cpus, cpus, sizeof(cpus)));
	report_change(n, j);
	suspend_apply(n, j);
}

/* An answer that does not belong to the call under way (pause) is of an earlier agent, or late: only its
 * failure is logged. */
void suspend_on_done(struct node *n, struct job *j, enum manager_order order, int result,
		     const struct err *err)
{
	if (j->phase != PHASE_RUNNING || j->s.end.kind != END_NONE)
		return;
	if (order == MANAGER_FREEZE && j->pause == PAUSE_FREEZING) {
		if (result < 0)
			note_failure(j, "suspend", err);
		else
			on_suspended(n, j);
	} else if (order == MANAGER_SET_CPUS && j->pause == PAUSE_CPUS) {
		if (result < 0) {
			memset(&j->s.cpus, 0, sizeof(j->s.cpus));
			note_failure(j, "resume", err);
		} else {
			begin_thaw(n, j);
		}
	} else if (order == MANAGER_THAW && j->pause == PAUSE_THAWING) {
		if (result < 0)
			note_failure(j, "resume", err);
		else
			on_resumed(n, j);
	} else if (result < 0) {
		log_job(LOG_WARNING, j->s.job, "manager", "%s", err->text);
	}
}

/* The kernel's time of the change, not the time of this call: suspended time is not charged. */
void suspend_on_frozen(void *ctx, int64_t job, bool frozen, uint64_t boot_ns)
{
	struct node *n = ctx;
	struct job *j = job_find_running(n, job);

	if (!j || j->is_frozen == frozen)
		return;
	j->is_frozen = frozen;
	if (frozen)
		clock_freeze(&j->clock, (int64_t)boot_ns);
	else
		clock_thaw(&j->clock, (int64_t)boot_ns);
	job_sync_clock(n, j);
	limit_arm_clock(n, j);
	if (j->pause == PAUSE_NONE && j->s.end.kind == END_NONE)
		log_job(LOG_INFO, j->s.job, frozen ? "suspend" : "resume",
			"%s by another process of root", frozen ? "frozen" : "thawed");
	report_change(n, j);
}
