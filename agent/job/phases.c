/* SPDX-License-Identifier: GPL-2.0-or-later */
/* phases.c - the job state machine: the phase table, and the events that wake it; see job/phases.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include "agent/job/due.h"
#include "agent/job/left.h"
#include "agent/job/phase/end.h"
#include "agent/job/phases.h"
#include "agent/job/phase/kill.h"
#include "agent/job/phase/limit.h"
#include "agent/job/output.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/report.h"
#include "agent/job/phase/recover.h"
#include "agent/job/save.h"
#include "agent/job/signed.h"
#include "agent/job/phase/start.h"
#include "agent/job/together.h"
#include "agent/job/phase/attach.h"
#include "agent/step/steps.h"
#include "common/log.h"
#include "common/time_units.h"

#define START_PATIENCE_NS (60 * S_NS)

/* The final record appears by rename, whole, when the unit has ended. */
static bool has_record(struct node *n, const struct job *j)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%lld-%d", n->final_dir, (long long)j->s.job,
		 j->s.attempt);
	return access(path, F_OK) == 0;
}

/* Called whenever something changed: brings the job nearer to its desired state. The record comes first: of a
 * unit that has ended nothing can be suspended or killed. Then the latched end: a job with a reason to end is
 * killed whatever its desired state is. */
static int act_running(struct node *n, struct job *j)
{
	if (has_record(n, j)) {
		job_enter_phase(j, PHASE_FINAL);
		return 0;
	}
	if (j->s.end.kind != END_NONE) {
		job_terminate(n, j);
		report_change(n, j);
		return 0;
	}
	if (!j->is_begun) {
		j->is_begun = true;
		limit_arm_clock(n, j);
		job_output_watch(j);
		report_soon(j);
	}
	/* Resuming is like starting: not before the job is saved. */
	if ((!j->unsaved_ns || j->order != DESIRED_RUN || j->pause != PAUSE_NONE) &&
	    !job_is_foreign(j))
		suspend_apply(n, j);
	return 0;
}

static int act_unit(struct node *n, struct job *j)
{
	if (has_record(n, j)) {
		job_enter_phase(j, PHASE_FINAL);
		return 0;
	}
	if (!j->reported_ns)
		report_soon(j);
	return job_is_foreign(j) ? 0 : job_start_unit(n, j);
}

/* A job without a record that runs here already is recovered, not started a second time. */
static int act_prepare(struct node *n, struct job *j)
{
	if (!job_recover_unknown(n, j))
		return job_prepare(n, j);
	job_enter_phase(j, PHASE_RUNNING);
	return 0;
}

/* The phase table: what each phase does. An act returns at once; what takes time calls job_enter_phase() from the event loop
 * when it is done. */
static int (*const acts[_PHASE_MAX])(struct node *n, struct job *j) = {
	[PHASE_PREPARE] = act_prepare,	   [PHASE_UNIT] = act_unit,
	[PHASE_RUNNING] = act_running,	   [PHASE_FINAL] = job_finish,
	[PHASE_DRAIN] = job_drain,	   [PHASE_CLEANUP] = job_clean,
	[PHASE_REPORT] = job_report_final,
};

/* A job that cannot be saved does not start: try again, and give up after a minute. */
static void wait_to_start(struct job *j, const struct err *why)
{
	if (node_now_ns() - j->unsaved_ns < START_PATIENCE_NS) {
		job_act_after(j, 1000);
		return;
	}
	job_fail(j, "node %s cannot save the state of jobs: %.180s", j->node->conf->node,
		 why->text);
	job_enter_phase(j, PHASE_FINAL);
}

/* Acts that save the job before they do anything that a restarted agent would not do again from what is saved:
 *	PREPARE		nothing of the job runs, it is not listed (job_list()), and UNIT saves it
 *	RUNNING, first	it is saved as running already (on_opened()), and its first report (report_soon()) syncs that
 *	FINAL		the record has all: from RUNNING a restarted agent comes here again, and the next phase saves what was decided
 *	REPORT		the final report saves it
 * An end that is latched, a signature and what the store refused are saved first. */
static bool act_saves(struct node *n, const struct job *j)
{
	if (j->phase == PHASE_PREPARE)
		return !j->unsaved_ns && !j->is_told_to_wait && j->s.end.kind == END_NONE;
	if (j->start || j->unsaved_ns)
		return false;
	if (j->phase == PHASE_RUNNING)
		return j->is_stored && !j->is_begun && j->s.end.kind == END_NONE;
	if (j->phase == PHASE_FINAL)
		return j->s.end.kind == END_NONE && j->clock.start_ns && has_record(n, j);
	return j->phase == PHASE_REPORT && (n->uplink || !job_is_foreign(j));
}

/* What a power cut may undo. Before UNIT nothing of the job has run, and a job that is not known is ordered again. How the job ended
 * is synced with its report, which follows the removal of its directory; no one has been told before. Where that takes
 * long it is synced meanwhile. */
static bool is_synced_later(const struct job *j)
{
	return j->s.end.kind == END_NONE ? j->phase == PHASE_PREPARE
					 : j->phase == PHASE_CLEANUP && !j->is_removing;
}

static int save_phase(struct node *n, struct job *j, struct err *err)
{
	if (act_saves(n, j))
		return 0;
	return is_synced_later(j) ? job_save_lazy(j, err) : job_save(j, err);
}

/* What save_phase(), and the acts that save by themselves, would do of a job alone. */
static enum job_together find_part(struct node *n, const struct job *j)
{
	if (is_synced_later(j))
		return TOGETHER_LAZY;
	if (j->phase == PHASE_REPORT && act_saves(n, j))
		return TOGETHER_REPORT;
	return act_saves(n, j) ? TOGETHER_NOTHING : TOGETHER_ROW;
}

/* Save the job and act on its phase. What cannot be saved is not begun; all else is done. The job may be freed. */
static void act_on_phase(struct node *n, struct job *j)
{
	bool is_begun = j->phase > PHASE_UNIT;
	struct err err;

	if (!job_together_is_saved(j) && save_phase(n, j, &err) < 0 && !is_begun) {
		if (j->s.end.kind == END_NONE)
			wait_to_start(j, &err);
		else
			job_enter_phase(j, PHASE_FINAL);
		return;
	}
	acts[j->phase](n, j);
}

static void on_due(struct node *n, struct job *j, enum job_due what)
{
	if (what == DUE_ACT && !job_together_is_saved(j))
		job_save_together(n, j, find_part);
	if (what == DUE_ACT)
		act_on_phase(n, j);
	else if (what == DUE_CLOCK)
		limit_check_clock(n, j);
	else
		job_report_together(n, j);
}

/* The timer first: recovered jobs are due at once. */
int job_phases_open(struct node *n, struct err *err)
{
	int r = job_due_open(n, on_due, err);

	return r < 0 ? r : job_recover_all(n, err);
}

/* The name is "JOB-ATTEMPT"; temporary files of the writer appear by other events than IN_MOVED_TO. */
static int on_final(sd_event_source *s, const struct inotify_event *e, void *userdata)
{
	struct node *n = userdata;
	long long id;
	int attempt;
	struct job *j;

	(void)s;
	if (!(e->mask & IN_MOVED_TO) || sscanf(e->name, "%lld-%d", &id, &attempt) != 2)
		return 0;
	j = job_find(n, id, attempt);
	if (j && j->phase <= PHASE_FINAL)
		job_enter_phase(j, PHASE_FINAL);
	return 0;
}

int job_phases_watch(struct node *n, sd_event_source **ret, struct err *err)
{
	int r = sd_event_add_inotify(n->event, ret, n->final_dir, IN_MOVED_TO, on_final, n);

	return r < 0 ? err_set(err, r, "watch %s: %s", n->final_dir, strerror(-r)) : 0;
}

/* Kill a unit that appeared after its job was given up. */
static void on_cgroup(void *ctx, struct manager_id id)
{
	struct node *n = ctx;
	struct job *j = job_find(n, id.job, id.attempt);
	struct err err;

	if (j && j->phase > PHASE_FINAL && n->ops->signal(n->manager, id, SIGKILL, &err) < 0)
		log_job(LOG_WARNING, id.job, "kill", "%s", err.text);
}

/* How old the oldest report of a job that runs is. */
static int64_t oldest_report_ns(const struct node *n, int64_t now)
{
	int64_t ret = 0;

	for (const struct job *j = n->jobs; j; j = j->next)
		if (j->phase == PHASE_RUNNING && now - j->reported_ns > ret)
			ret = now - j->reported_ns;
	return ret;
}

/* Repeats what events may have missed: samples, removals that were interrupted, saves that failed, units
 * without a job, records. When the report of one job is due, those of the others go with it unless they are recent: from then on all are due
 * together, and one exchange and one connection has them all, however many jobs began at different times. */
void job_phases_tick(struct node *n)
{
	int64_t now, interval_ns = n->conf->report_interval_s * S_NS;
	struct err err;
	bool is_due;

	report_measure(n);
	job_left_tick(n);
	if (n->jobfs && jobfs_reclaim(n->jobfs, NULL, &err) < 0)
		log_line(LOG_WARNING, "%s", err.text);
	job_save_tick(n);
	job_signed_forget(n);
	if (manager_list(n->ops->parent(n->manager), on_cgroup, n, &err) < 0)
		log_line(LOG_WARNING, "%s", err.text);
	now = node_now_ns();
	is_due = oldest_report_ns(n, now) >= interval_ns;
	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->phase != PHASE_RUNNING)
			continue;
		if (has_record(n, j)) /* inotify may lose an event; the file stays */
			job_enter_phase(j, PHASE_FINAL);
		else if (is_due && now - j->reported_ns >= interval_ns / 2)
			report_change(n, j);
	}
}

/* A result may come after its job is gone: it is dropped. */
void job_phases_on_done(void *ctx, struct manager_id id, enum manager_order order, int result,
			const struct err *err)
{
	struct node *n = ctx;
	struct job *j = job_find(n, id.job, id.attempt);

	if (!id.job && result < 0) /* handshake/keep_view.c */
		log_line(LOG_WARNING, "the jobs' views: %s", err->text);
	if (!j)
		return;
	if (order == MANAGER_SPAWN)
		steps_spawned(n, id, result, err);
	else if (order == MANAGER_START)
		job_on_unit_started(j, result, err);
	else
		suspend_on_done(n, j, order, result, err);
}

/* A start that was lost, or whose answer was: the job may have run meanwhile, and must not run twice. A unit around a task of another program
 * starts nothing. A job that is being ended must not be frozen: it could not end by itself within its grace. */
bool job_phases_is_due(void *ctx, struct manager_id id, enum manager_order order)
{
	struct node *n = ctx;
	const struct job *j = job_find(n, id.job, id.attempt);

	if (order == MANAGER_START)
		return n->ops->foreign || (j && j->phase == PHASE_UNIT);
	return order != MANAGER_FREEZE || (j && j->s.end.kind == END_NONE);
}

/* The unit is gone, perhaps without a record (the launcher was killed too). PREPARE has none yet; later phases
 * have dealt with it. */
void job_phases_on_gone(void *ctx, struct manager_id id)
{
	struct job *j = job_find(ctx, id.job, id.attempt);

	if (j &&
	    (j->phase == PHASE_UNIT || j->phase == PHASE_RUNNING || j->phase == PHASE_FINAL))
		job_enter_phase(j, PHASE_FINAL);
}

/* Take the last figures while the cgroup still exists. */
void job_phases_on_empty(void *ctx, int64_t job, uint64_t boot_ns)
{
	struct node *n = ctx;
	struct job *j = job_find_running(n, job);

	(void)boot_ns;
	if (j)
		report_measure_last(n, j, NULL);
}
