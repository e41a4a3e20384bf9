/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kill.c - end the processes of a job; see phase/kill.h. */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "agent/enforce/manager/cgroup/tree.h"
#include "agent/enforce/manager/slurm.h"
#include "agent/job/due.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/kill.h"
#include "common/log.h"
#include "common/time_units.h"

#define SLURM_CANCEL_NS (5 * S_NS)

/* A step that slurmstepd is just making has no process yet that could be killed. limit_check_clock() kills once more after
 * SLURM_CANCEL_NS, and cancels the job in Slurm. */
static void kill_slurms(struct job *j)
{
	char path[MANAGER_PATH_MAX];
	int r = slurm_kill_steps(job_cgroup(j, path));

	if (r < 0)
		log_job(LOG_ERR, j->s.job, "kill", "write cgroup.kill below %s: %s", path,
			strerror(-r));
	job_due_set(j, DUE_CLOCK, node_now_ns() + SLURM_CANCEL_NS);
}

/* The whole cgroup of the unit, not "work" alone: a launcher that could not be attached is not in "work". */
void job_kill_launcher(struct job *j)
{
	char path[MANAGER_PATH_MAX];
	struct err err;

	j->is_killing = true;
	if (tree_write(job_cgroup(j, path), "cgroup.kill", "1", &err) < 0)
		log_job(LOG_ERR, j->s.job, "kill", "%s", err.text);
}

/* Safe to repeat. Without kill_fd the job is not attached, and nothing of the user runs yet. */
void job_kill_now(struct job *j)
{
	char path[MANAGER_PATH_MAX], work[MANAGER_PATH_MAX + 16];
	int r;

	j->is_killing = true;
	if (job_is_slurms(j)) {
		kill_slurms(j);
		return;
	}
	snprintf(work, sizeof(work), "%s/" JOB_WORK_CGROUP, job_cgroup(j, path));
	r = j->kill_fd >= 0 ? manager_kill_all(work, j->kill_fd) : 0;
	if (r < 0)
		log_job(LOG_ERR, j->s.job, "kill", "write cgroup.kill: %s", strerror(-r));
}

/* The cores of a suspended job belong to other jobs now, so it must not run to handle SIGTERM: kill it before it is
 * thawed. That needs cgroup.kill. */
static bool may_not_run(const struct job *j)
{
	return j->is_frozen && cpulist_is_empty(&j->s.cpus) && j->kill_fd >= 0;
}

void job_terminate(struct node *n, struct job *j)
{
	struct manager_id id = { j->s.job, j->s.attempt };
	struct err err;

	if (j->is_killing)
		return;
	if (job_is_foreign(j)) {
		job_kill_now(j);
		return;
	}
	j->is_killing = true;
	if (may_not_run(j)) {
		job_note(
			j,
			"ended without SIGTERM: it was suspended, and its cores are allocated to other jobs");
		job_kill_now(j);
	} else if (n->ops->signal(n->manager, id, SIGTERM, &err) < 0) {
		log_job(LOG_WARNING, j->s.job, "kill", "%s", err.text);
	}
	/* A frozen process handles SIGTERM only once it is thawed. */
	if (j->is_frozen && n->ops->thaw(n->manager, id, &err) < 0)
		log_job(LOG_WARNING, j->s.job, "kill", "%s", err.text);
	job_due_set(j, DUE_CLOCK, node_now_ns() + n->conf->kill_grace_s * S_NS);
}
