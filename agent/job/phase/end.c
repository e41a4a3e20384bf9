/* SPDX-License-Identifier: GPL-2.0-or-later */
/* end.c - phases FINAL to REPORT: final record, last figures, end message, cleanup, final report; see phase/end.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/final.h"
#include "agent/job/due.h"
#include "agent/job/phase/end.h"
#include "agent/job/handshake/handshake.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/limit.h"
#include "agent/job/output.h"
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "agent/job/phase/end_message.h"
#include "agent/job/phase/attach.h"
#include "agent/step/steps.h"
#include "common/log.h"
#include "common/time_units.h"

#define SYNC_AFTER_MS 1000
#define PATIENCE_S 5 /* how long to wait for the final record of a unit that is gone */

/* The final record is complete only when the unit has ended. 1: it has, with a record in *f if
 * *ret_have, or without one after PATIENCE_S; 0: check again later. */
static int unit_is_over(struct node *n, struct job *j, struct final *f, bool *ret_have)
{
	struct manager_id id = { j->s.job, j->s.attempt };
	char path[MANAGER_PATH_MAX];
	struct err err = { "" };
	int r = final_load(n->final_dir, id.job, id.attempt, f, &err);

	*ret_have = r == 0;
	if (r == 0 || !j->s.unit[0])
		return 1;
	if (r != -ENOENT)
		log_job(LOG_ERR, j->s.job, "final", "%s", err.text);
	manager_path(n->ops->parent(n->manager), id, path);
	if (access(path, F_OK) == 0) {
		/* The unit is still there: its start failed half way, or the order to end it was
		 * lost. Kill it at each check: a unit that systemd is still making has no process
		 * yet, and its launcher, to which no plan is sent any more, would wait forever. */
		j->is_killing = true;
		n->ops->signal(n->manager, id, SIGKILL, &err);
		j->waits_until_ns = 0;
		return 0;
	}
	if (job_is_foreign(j))
		return 1; /* slurmd and pbs_mom write no record: foreign_end() has latched how the job ended */
	if (!j->waits_until_ns)
		j->waits_until_ns = node_now_ns() + PATIENCE_S * S_NS;
	return node_now_ns() >= j->waits_until_ns;
}

/* The reason that the agent latched is better than the one in the record; exit status and signal come from the
 * record. */
static void decide_end(struct node *n, struct job *j, const struct final *f)
{
	struct job_end seen, recorded, setup = { 0 };

	final_end(f, &recorded);
	if (j->s.end.kind == END_NONE && !j->clock.start_ns &&
	    final_is_setup_failure(f, n->conf->launcher, &setup))
		job_fail(j, "the job's unit could not be set up: %.500s", setup.reason.text);
	limit_read_latches(n, j);
	state_end_get(&j->s, &seen);
	if (seen.kind == END_NONE) {
		seen = recorded;
		if (recorded.kind == END_LIMIT)
			seen.reason.requested = limit_mem_bytes(j);
		snprintf(seen.reason.host, sizeof(seen.reason.host), "%s", n->conf->node);
	}
	if (seen.kind == END_LIMIT && seen.reason.limit == LIMIT_MEM &&
	    seen.reason.reached < 0 && usage_has(&f->usage, &f->usage.mem_peak_bytes))
		seen.reason.reached = f->usage.mem_peak_bytes;
	/* Of a job that ended with its main step (step/steps.c) the record has only how its holder was killed. */
	if (seen.kind != END_EXITED && seen.kind != END_SIGNALED) {
		seen.exit_status = recorded.exit_status;
		seen.signal = recorded.signal;
	}
	if (seen.kind == END_FAILED)
		seen.exit_status = -1;
	state_end_set(&j->s, &seen);
	if (f->pids_max > 0 && !j->s.note)
		job_note(j,
			 "the job reached its limit of %lld processes and threads; further "
			 "ones were refused",
			 (long long)j->s.request.res.pids);
}

/* An end that the agent latched stays. Otherwise exit status and signal are not known, which a note of the job
 * says. */
static void end_without_record(struct job *j)
{
	if (j->s.end.kind != END_NONE)
		return;
	job_latch_end(j, END_EXITED, "");
	job_note(j, "how the job ended was not recorded");
}

/* When the job ended, by CLOCK_BOOTTIME. Without a record (a job of Slurm or PBS) that is now, or when its processes were found
 * gone, or when the kernel side saw the last of them go: it is there also while the agent is not. */
static int64_t find_end_ns(struct node *n, const struct job *j)
{
	struct vmem_usage v = { 0 };
	int64_t now = node_now_ns();

	if (!j->gone_ns)
		return now;
	if (!job_is_pbs(j) && vmem_read(n->vmem, j->work_id, &v, NULL) == 0 &&
	    v.emptied_ns > j->clock.start_ns && v.emptied_ns < j->gone_ns)
		return v.emptied_ns;
	return j->gone_ns;
}

/* At the time in the record, so that the time between the end of the job and the start of the agent is not charged. `f` NULL:
 * there is no record. */
static void stop_clock(struct node *n, struct job *j, const struct final *f)
{
	int64_t now = node_now_ns(), end = f ? f->boottime_ns : find_end_ns(n, j);

	j->s.clock.ended_ns = f ? f->realtime_ns : node_realtime_ns() - (now - end);
	if (!j->clock.start_ns)
		return;
	job_sync_clock(n, j);
	clock_stop(&j->clock, end);
	j->is_frozen = false;
}

/* The end of a job that exited, or that a signal of its own ended, needs no message in the error file. */
static void write_end_message(struct node *n, struct job *j)
{
	char text[REASON_TEXT_MAX];
	struct job_end end;

	state_end_get(&j->s, &end);
	reason_format(&end, text, sizeof(text));
	/* Of a job of Slurm the plugin has written it, through slurmstepd (slurm/spank.c: tell_user()); of PBS the hook does. */
	if (j->s.end.kind != END_EXITED && j->s.end.kind != END_SIGNALED && !job_is_foreign(j))
		end_message_write(n, j, text);
	log_job(LOG_INFO, j->s.job, "end", "%s", text);
}

static void count_end(struct node *n, const struct job *j)
{
	n->counts.ended[j->s.end.kind]++;
	if (j->s.end.kind == END_LIMIT && j->s.end.reason)
		n->counts.killed[j->s.end.reason->limit]++;
}

/* Its output is a file on the job's disk, which CLEANUP removes. A job without disk, or one that never ran, has no output to
 * wait for. */
static bool can_wait(struct node *n, const struct job *j)
{
	return n->uplink && j->s.jobfs.projid && j->clock.start_ns && !job_is_foreign(j);
}

static bool has_to_wait(struct node *n, struct job *j)
{
	return can_wait(n, j) && !(job_output_is_taken(j) && steps_are_told(n, j));
}

/* The order matters: the last figures are read while the job is attached, the end is decided before the
 * message is written, and detaching removes the latch that decide_end() reads. */
int job_finish(struct node *n, struct job *j)
{
	struct final f;
	bool have;

	handshake_drop(j);
	if (!unit_is_over(n, j, &f, &have)) {
		job_act_after(j, 100);
		return 0;
	}
	stop_clock(n, j, have ? &f : NULL);
	report_measure_last(n, j, have ? &f : NULL);
	if (have)
		decide_end(n, j, &f);
	else
		end_without_record(j);
	report_count_reached(n, j);
	job_due_set(j, DUE_CLOCK, JOB_DUE_NEVER);
	write_end_message(n, j);
	job_gpus_finish(n, j);
	job_detach(n, j);
	n->ops->forget(n->manager, (struct manager_id){ j->s.job, j->s.attempt }, NULL);
	j->waits_until_ns = 0;
	count_end(n, j);
	job_enter_phase(j, has_to_wait(n, j) ? PHASE_DRAIN : PHASE_CLEANUP);
	return 0;
}

/* Waits until the controller has all output of the job and the ends of its steps, at most OutputKeep seconds. */
int job_drain(struct node *n, struct job *j)
{
	if (!j->waits_until_ns)
		j->waits_until_ns = node_now_ns() + n->conf->output_keep_s * S_NS;
	if (has_to_wait(n, j) && node_now_ns() < j->waits_until_ns) {
		uplink_kick(n->uplink);
		job_act_after(j, 1000);
		return 0;
	}
	if (can_wait(n, j) && !job_output_is_taken(j))
		job_note(j, "the controller did not take all of the job's output in time");
	job_enter_phase(j, PHASE_CLEANUP);
	return 0;
}

/* A disk that cannot be removed must not keep the final report: job_sweep_jobfs() removes it at the next
 * start of the agent. */
static void on_removed(void *ctx, const struct jobfs_job *what, int result,
		       const struct err *err)
{
	struct node *n = ctx;
	struct job *j = job_find(n, what->job, what->attempt);

	if (result < 0)
		log_job(LOG_ERR, what->job, "jobfs", "cannot remove: %s", err->text);
	if (!j)
		return;
	j->is_removing = false;
	if (j->phase == PHASE_CLEANUP)
		job_enter_phase(j, PHASE_REPORT);
}

/* CLEANUP is acted on again while a removal takes long, to sync how the job ended (is_synced_later()): is_removing makes
 * that call return. -EALREADY: the removal that is under way calls on_removed() too. */
int job_clean(struct node *n, struct job *j)
{
	struct jobfs_removal how = { n->event, on_removed, n };
	struct err err;
	int r;

	if (j->is_removing)
		return 0;
	if (!n->jobfs || !j->s.jobfs.projid) {
		job_enter_phase(j, PHASE_REPORT);
		return 0;
	}
	j->is_removing = true;
	job_act_after(j, SYNC_AFTER_MS);
	r = jobfs_remove(n->jobfs, &j->s.jobfs, &how, &err);
	if (r < 0 && r != -EALREADY)
		on_removed(n, &j->s.jobfs, r, &err);
	return 0;
}

int job_report_final(struct node *n, struct job *j)
{
	struct err err;
	int r;

	/* Beside Slurm or PBS an agent may run without a controller, and then for years: no job may stay for a report that goes nowhere. */
	if (job_is_foreign(j) && !n->uplink) {
		if (spool_forget(n->spool, j->s.job, j->s.attempt, &err) < 0)
			log_job(LOG_WARNING, j->s.job, "report", "%s", err.text);
		job_settle(n, j);
		return 0;
	}
	r = j->is_reported ? 0 : report_put(n, j, &err);
	if (r < 0)
		log_job(LOG_ERR, j->s.job, "report", "%s", err.text);
	if (r) /* the record may be needed again until the report is saved */
		job_act_after(j, 1000);
	else
		final_remove(n->final_dir, j->s.job, j->s.attempt);
	if (r < 0)
		return 0;
	if (n->uplink)
		uplink_kick(n->uplink);
	/* The cores of this job are free now: wake suspended jobs that wait for cores. */
	for (struct job *i = n->jobs; i; i = i->next)
		if (i->phase == PHASE_RUNNING && cpulist_is_empty(&i->s.cpus))
			job_act_after(i, 0);
	return 0;
}

/* job_free() comes before the row is deleted: a row that stays is reported once more, which the
 * controller ignores. */
void job_settle(struct node *n, struct job *j)
{
	struct manager_id id = { j->s.job, j->s.attempt };

	final_remove(n->final_dir, id.job, id.attempt);
	job_detach(n, j);
	steps_drop(n, j);
	job_free(j);
	job_save_forget(n, id);
}

static void on_swept(void *ctx, const struct jobfs_job *what, int result, const struct err *err)
{
	(void)ctx;
	if (result < 0)
		log_job(LOG_ERR, what->job, "jobfs", "cannot remove what is left: %s",
			err->text);
	else
		log_job(LOG_NOTICE, what->job, "jobfs", "removed what an earlier run left");
}

/* A directory stays where its unit still runs: the job may be one that the lost database had. */
void job_sweep_jobfs(struct node *n)
{
	struct jobfs_removal how = { n->event, on_swept, n };
	_cleanup_free_ struct jobfs_job *list = NULL;
	size_t count = 0;
	struct err err;

	if (!n->jobfs || jobfs_list(n->jobfs, &list, &count, NULL, &err) < 0)
		return;
	for (size_t i = 0; i < count; i++) {
		struct manager_id id = { list[i].job, list[i].attempt };
		char path[MANAGER_PATH_MAX];
		struct job *j = job_find(n, id.job, id.attempt);

		manager_path(n->ops->parent(n->manager), id, path);
		if ((!j || j->phase == PHASE_REPORT) && access(path, F_OK) < 0)
			jobfs_remove(n->jobfs, &list[i], &how, &err);
	}
}
