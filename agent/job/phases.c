/* phases.c - see job/phases.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include "agent/job/phase/end.h"
#include "agent/job/phases.h"
#include "agent/job/phase/limit.h"
#include "agent/job/output.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/report.h"
#include "agent/job/phase/recover.h"
#include "agent/job/save.h"
#include "agent/job/phase/start.h"
#include "agent/job/phase/guards.h"
#include "agent/step/steps.h"
#include "common/log.h"
#include "common/time_units.h"

static bool has_record(struct node *n, const struct job *j)
{
	char path[600];

	snprintf(path, sizeof(path), "%s/%lld-%d", n->final_dir, (long long)j->s.job,
		 j->s.attempt);
	return access(path, F_OK) == 0;
}

/* RUNNING is acted on whenever something changed: bring the job nearer to what is wanted. */
static int run(struct node *n, struct job *j)
{
	if (has_record(n, j)) {
		job_go(j, STEP_FINAL);
		return 0;
	}
	if (j->s.end.kind != END_NONE) {
		limit_end_softly(n, j);
		report_change(n, j);
		return 0;
	}
	if (!j->is_begun) {
		j->is_begun = true;
		limit_arm(n, j);
		job_output_watch(j);
		report_change(n, j);
	}
	/* To go on is to begin again: not before it is saved. */
	if (!j->unsaved_ns || j->order != ORDER_RUN || j->pause != PAUSE_NONE)
		pause_apply(n, j);
	return 0;
}

static int unit(struct node *n, struct job *j)
{
	if (has_record(n, j)) {
		job_go(j, STEP_FINAL);
		return 0;
	}
	if (!j->reported_ns)
		report_change(n, j);
	return job_make_unit(n, j);
}

static int prepare(struct node *n, struct job *j)
{
	if (!job_return_unknown(n, j))
		return job_prepare(n, j);
	job_go(j, STEP_RUNNING);
	return 0;
}

static int (*const acts[_STEP_MAX])(struct node *n, struct job *j) = {
	[STEP_PREPARE] = prepare,      [STEP_UNIT] = unit,	 [STEP_RUNNING] = run,
	[STEP_FINAL] = job_finish,     [STEP_DRAIN] = job_drain, [STEP_CLEANUP] = job_clean,
	[STEP_REPORT] = job_say_final,
};

static int act(struct node *n, struct job *j)
{
	return acts[j->step](n, j);
}

int job_flow_open(struct node *n, struct err *err)
{
	n->act = act;
	return job_return_all(n, err);
}

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
	if (j && j->step <= STEP_FINAL)
		job_go(j, STEP_FINAL);
	return 0;
}

int job_flow_watch(struct node *n, sd_event_source **ret, struct err *err)
{
	int r = sd_event_add_inotify(n->event, ret, n->final_dir, IN_MOVED_TO, on_final, n);

	return r < 0 ? err_set(err, r, "watch %s: %s", n->final_dir, strerror(-r)) : 0;
}

/* A unit that came to be after its job was given up. */
static void on_cgroup(void *ctx, struct manager_id id)
{
	struct node *n = ctx;
	struct job *j = job_find(n, id.job, id.attempt);
	struct err err;

	if (j && j->step > STEP_FINAL && n->ops->signal(n->manager, id, SIGKILL, &err) < 0)
		log_job(LOG_WARNING, id.job, "kill", "%s", err.text);
}

void job_flow_tick(struct node *n)
{
	struct err err;
	int64_t now;

	report_measure(n);
	if (n->jobfs && jobfs_reclaim(n->jobfs, NULL, &err) < 0)
		log_line(LOG_WARNING, "%s", err.text);
	job_save_tick(n);
	if (manager_list(n->ops->parent(n->manager), on_cgroup, n, &err) < 0)
		log_line(LOG_WARNING, "%s", err.text);
	now = node_now_ns();
	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->step != STEP_RUNNING)
			continue;
		if (has_record(n, j)) /* a notification may be lost, the file is not */
			job_go(j, STEP_FINAL);
		else if (now - j->reported_ns >= n->conf->report_interval_s * S_NS)
			report_change(n, j);
	}
}

void job_flow_done(void *ctx, struct manager_id id, enum manager_order order, int result,
		   const struct err *err)
{
	struct node *n = ctx;
	struct job *j = job_find(n, id.job, id.attempt);

	if (!j)
		return;
	if (order == MANAGER_SPAWN)
		steps_spawned(n, id, result, err);
	else if (order == MANAGER_START)
		job_unit_made(j, result, err);
	else
		pause_done(n, j, order, result, err);
}

void job_flow_gone(void *ctx, struct manager_id id)
{
	struct job *j = job_find(ctx, id.job, id.attempt);

	if (j && (j->step == STEP_UNIT || j->step == STEP_RUNNING || j->step == STEP_FINAL))
		job_go(j, STEP_FINAL);
}

/* The last figures, while the cgroup is still there. */
void job_flow_empty(void *ctx, int64_t job, uint64_t boot_ns)
{
	struct node *n = ctx;
	struct job *j = job_find_running(n, job);

	(void)boot_ns;
	if (j)
		report_measure_last(n, j, NULL);
}
