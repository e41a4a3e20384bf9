/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - the life of a job that Slurm or PBS starts; see jobs.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "agent/foreign/jobs.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/limit.h"
#include "agent/job/phase/start.h"
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "common/log.h"

/* ---- a job begins ---- */

int foreign_make_disk(struct node *n, struct job *j, struct err *err)
{
	if (!j->s.request.res.jobfs_bytes)
		return 0;
	if (!n->jobfs)
		return err_set(err, -ENODEV, "no job disk: %.200s", n->jobfs_why.text);
	return job_make_jobfs(n, j, err);
}

int foreign_begin(struct node *n, struct job *j, struct err *err)
{
	int r = foreign_make_disk(n, j, err);

	j->order = DESIRED_RUN;
	if (r < 0) {
		job_fail(j, "cannot make the job's disk: %.200s", err->text);
		job_enter_phase(j, PHASE_FINAL);
		return r;
	}
	job_enter_phase(j, PHASE_UNIT);
	/* It starts all the same: the kernel holds it, whether or not it is on record. */
	if (job_save(j, err) < 0)
		log_job(LOG_ERR, j->s.job, "save", "%s", err->text);
	return 0;
}

void foreign_end_stale(struct node *n, int64_t job, const char *note)
{
	struct job *j = job_find(n, job, 0);

	if (!j)
		return;
	job_note(j, "%s", note);
	job_enter_phase(j, PHASE_FINAL);
}

/* ---- a task begins ---- */

bool foreign_is_same_cgroup(const struct job *j)
{
	char path[MANAGER_PATH_MAX];
	struct stat st;

	return stat(job_cgroup(j, path), &st) == 0 && st.st_ino == j->s.cgroup_id;
}

/* A cgroup that went with the last task comes again with the next: of Slurm without PrologFlags=Contain, of PBS on all nodes but the first. */
int foreign_guard(struct node *n, struct job *j, struct err *err)
{
	if (j->is_attached && !foreign_is_same_cgroup(j))
		job_detach(n, j);
	return j->is_attached ? job_attach_steps(n, j, err) : job_attach(n, j, 0, err);
}

/* Saved before the answer lets the task execute: an agent that dies now finds the job again. A save that fails
 * stops nothing, since the job runs anyhow. */
void foreign_begin_running(struct node *n, struct job *j)
{
	struct err err;

	if (j->phase != PHASE_UNIT)
		return;
	report_save_baseline(n, j);
	clock_start(&j->clock, node_now_ns());
	j->s.clock.started_ns = node_realtime_ns();
	j->waits_until_ns = 0;
	j->phase = PHASE_RUNNING;
	if (job_save(j, &err) < 0)
		log_job(LOG_ERR, j->s.job, "save", "%s", err.text);
	log_job(LOG_INFO, j->s.job, "start", "began under %s for %s", n->ops->foreign,
		j->s.request.user);
	j->is_executed = true;
	job_enter_phase(j, PHASE_RUNNING);
}

/* ---- it ends ---- */

void foreign_format_end(const struct job *j, char *buf, size_t size)
{
	struct job_end end;

	state_end_get(&j->s, &end);
	reason_format(&end, buf, size);
}

static void latch_status(struct job *j)
{
	int status = j->foreign_status;
	struct job_end end = { .kind = WIFSIGNALED(status) ? END_SIGNALED : END_EXITED,
			       .exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
			       .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0 };

	snprintf(end.reason.host, sizeof(end.reason.host), "%s", j->node->conf->node);
	state_end_set(&j->s, &end);
}

static void latch_unbegun(const struct node *n, struct job *j)
{
	char text[64];

	snprintf(text, sizeof(text), "by %s before a task of it began", n->ops->foreign);
	job_latch_end(j, END_CANCELLED, text);
}

void foreign_end(struct node *n, struct job *j)
{
	if (job_has_ended(j))
		return;
	limit_read_latches(n, j);
	/* No task's end was seen, by this agent at least: job_finish() notes that how the job ended is not known. */
	if (j->s.end.kind == END_NONE && j->has_foreign_status)
		latch_status(j);
	else if (j->s.end.kind == END_NONE && j->phase == PHASE_UNIT)
		latch_unbegun(n, j);
	job_enter_phase(j, PHASE_FINAL);
}

/* ---- what the controller needs to know ---- */

/* Nodes and cores of the whole job are from the batch system; 0 there: not known, and it counts as on one node. */
void foreign_describe_job(const struct job *j, struct sync_slurm_job *ret)
{
	const struct request *q = &j->s.request;

	*ret = (struct sync_slurm_job){ .job = j->s.job,
					.attempt = j->s.attempt,
					.uid = q->uid,
					.ncpus = q->res.ncpus > 0 ? q->res.ncpus : 1,
					.mem_bytes = q->res.mem_bytes,
					.vmem_bytes = q->res.vmem_bytes,
					.jobfs_bytes = q->res.jobfs_bytes,
					.ngpus = q->res.ngpus,
					.nodes = j->s.slurm_nodes > 0 ? j->s.slurm_nodes : 1,
					.job_ncpus = j->s.slurm_ncpus,
					.job_ngpus = j->s.slurm_ngpus,
					.started_ns = j->s.clock.started_ns };
	memcpy(ret->gpu_model, q->res.gpu_model, sizeof(ret->gpu_model));
	memcpy(ret->user, q->user, sizeof(ret->user));
	memcpy(ret->account, q->account, sizeof(ret->account));
	memcpy(ret->queue, q->queue, sizeof(ret->queue));
	memcpy(ret->name, q->name, sizeof(ret->name));
}

int foreign_describe(const struct node *n, struct sync_slurm_job **ret, size_t *ret_n)
{
	struct sync_slurm_job *list = reallocarray(*ret, n->n_jobs + 1, sizeof(*list));
	size_t count = 0;

	if (!list)
		return -ENOMEM;
	for (const struct job *j = n->jobs; j; j = j->next)
		foreign_describe_job(j, &list[count++]);
	*ret = list;
	*ret_n = count;
	return 0;
}
