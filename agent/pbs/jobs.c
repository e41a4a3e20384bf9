/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - jobs of PBS in the agent's table; see jobs.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/foreign/jobs.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/limit.h"
#include "agent/job/phase/recover.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/report.h"
#include "agent/pbs/jobs.h"
#include "agent/pbs/process.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"

#define SCOPE_NS (20 * S_NS) /* systemd makes a scope in milliseconds */
/* A job that PBS does not list is ended when it is not listed that much later either, and one that Reeve has killed when no hook reported
 * its end by then. */
#define LOST_NS (120 * S_NS)

static int refuse_task(struct pbs_answer *ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static int refuse_task(struct pbs_answer *ret, const char *fmt, ...)
{
	va_list ap;

	ret->verdict = PBS_REFUSED;
	va_start(ap, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
	utf8_clean(ret->text);
	return 0;
}

static int32_t attempt_of(const struct pbs_question *q)
{
	return q->run > 0 ? q->run : 1;
}

/* NULL: no job of this table, or no id. */
static struct job *find_job(struct node *n, const struct pbs_question *q)
{
	int64_t job;

	return pbs_id_parse(q->id, &job, NULL) < 0 ? NULL : job_find(n, job, attempt_of(q));
}

/* ---- it begins ---- */

static void fill_request(struct request *r, const struct pbs_question *q, int64_t job)
{
	char id[PBS_ID_SHORT_MAX];

	request_init(r);
	memcpy(r->user, q->user, sizeof(r->user));
	memcpy(r->account, q->account, sizeof(r->account));
	memcpy(r->queue, q->queue, sizeof(r->queue));
	utf8_clean(r->user);
	utf8_clean(r->account);
	utf8_clean(r->queue);
	/* "pbs-4711-7" of 4711[7]: names have no brackets. */
	pbs_id_format(job, id);
	if (strchr(id, '['))
		*strchr(id, '[') = '-';
	snprintf(r->name, sizeof(r->name), "pbs-%.*s", (int)strcspn(id, "]"), id);
	r->uid = (uint32_t)q->uid;
	r->gid = (uint32_t)q->gid;
	r->res.ncpus = q->ncpus ? q->ncpus : 1;
	r->res.mem_bytes = q->mem_bytes;
	r->res.vmem_bytes = q->vmem_bytes;
	r->res.jobfs_bytes = q->jobfs_bytes;
	r->vmem_policy = q->vmem_refuses ? VMEM_POLICY_DENY : VMEM_POLICY_KILL;
}

static struct job *begin_job(struct node *n, const struct pbs_question *q, int64_t id,
			     struct err *err)
{
	struct job *j;

	foreign_end_stale(n, id,
			  "its epilogue did not come; it ended when PBS started it again");
	job_recover_drop_found(n, id);
	j = job_new(n, id, attempt_of(q));
	if (!j) {
		err_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	fill_request(&j->s.request, q, id);
	j->s.slurm_nodes = q->nodes;
	j->s.slurm_ncpus = q->job_ncpus;
	j->s.slurm_ngpus = q->job_ngpus;
	j->s.pbs_sister = !q->first;
	job_gpus_take(n, j, q->gpus, q->ngpus);
	manager_scope_name((struct manager_id){ id, j->s.attempt }, j->s.unit);
	return foreign_begin(n, j, err) < 0 ? NULL : j;
}

/* The job of a task, made where this is its first here. NULL: *ret says why it must not run. */
static struct job *admit_job(struct node *n, const struct pbs_question *q,
			     struct pbs_answer *ret)
{
	char text[USERS_TEXT_MAX];
	struct err err = { "" };
	const char *why;
	struct job *j;
	int64_t id;

	if (pbs_id_parse(q->id, &id, &err) < 0) {
		refuse_task(ret, "%s", err.text);
		return NULL;
	}
	j = job_find(n, id, attempt_of(q));
	if (j)
		return j;
	why = q->uid == UINT32_MAX || q->gid == UINT32_MAX
		      ? "the hook did not say whose job it is"
		      : users_check(&n->users, (uint32_t)q->uid, (uint32_t)q->gid, text);
	if (why) {
		refuse_task(ret, "%s", why);
		return NULL;
	}
	j = begin_job(n, q, id, &err);
	if (!j)
		refuse_task(ret, "node %s cannot take job %s: %s", n->conf->node, q->id,
			    err.text);
	return j;
}

/* ---- a task ---- */

static const char *work_of(const struct job *j, char buf[static MANAGER_PATH_MAX + 16])
{
	char path[MANAGER_PATH_MAX];

	snprintf(buf, MANAGER_PATH_MAX + 16, "%s/" JOB_WORK_CGROUP, job_cgroup(j, path));
	return buf;
}

/* The guards first, then the task: nothing of it runs in between. */
static int put_in_force(struct node *n, struct job *j, const struct pbs_question *q,
			struct pbs_answer *ret)
{
	char work[MANAGER_PATH_MAX + 16], dir[4200];
	struct err err = { "" };
	int r = foreign_guard(n, j, &err);

	if (r >= 0)
		r = process_move(q->pid, work_of(j, work), &err);
	if (r < 0) {
		log_job(LOG_ERR, j->s.job, "guard", "%s", err.text);
		return refuse_task(ret, "its limits cannot be put in force on node %s: %s",
				   n->conf->node, err.text);
	}
	foreign_begin_running(n, j);
	if (job_file(j, "work", dir, sizeof(dir)) && strlen(dir) < sizeof(ret->tmpdir))
		strcpy(ret->tmpdir, dir);
	return 0;
}

/* Its scope is gone with its last task, or was never there: systemd makes it around this one. */
static int make_scope(struct node *n, struct job *j, const struct pbs_question *q,
		      struct pbs_answer *ret)
{
	const struct manager_spec spec = { .id = { j->s.job, j->s.attempt }, .pid = q->pid };
	struct err err = { "" };

	if (n->ops->start(n->manager, &spec, &err) < 0)
		return refuse_task(ret, "its cgroup cannot be made on node %s: %s",
				   n->conf->node, err.text);
	return 1;
}

static int enter_job(struct node *n, struct job *j, const struct pbs_question *q,
		     struct pbs_answer *ret)
{
	char path[MANAGER_PATH_MAX], text[REASON_TEXT_MAX];
	struct err err = { "" };

	if (j->s.end.kind != END_NONE || job_has_ended(j)) {
		foreign_format_end(j, text, sizeof(text));
		return refuse_task(ret, "the job has ended: %.900s", text);
	}
	if (process_check_cgroup(q->pid, job_cgroup(j, path), &err) < 0)
		return refuse_task(ret, "%s", err.text);
	return access(path, F_OK) == 0 ? put_in_force(n, j, q, ret) : make_scope(n, j, q, ret);
}

int pbs_jobs_launch(struct node *n, struct pbs_question *q, int32_t peer,
		    struct pbs_answer *ret)
{
	struct err err = { "" };
	struct job *j;

	if (process_find_task(peer, &q->pid, &err) < 0)
		return refuse_task(ret, "%s", err.text);
	j = admit_job(n, q, ret);
	return j ? enter_job(n, j, q, ret) : 0;
}

int pbs_jobs_attach(struct node *n, struct pbs_question *q, struct pbs_answer *ret)
{
	struct err err = { "" };
	struct job *j = admit_job(n, q, ret);

	if (!j)
		return 0;
	if (process_check_owner(q->pid, j->s.request.uid, &err) < 0)
		return refuse_task(ret, "%s", err.text);
	return enter_job(n, j, q, ret);
}

int pbs_jobs_look_launch(struct node *n, const struct pbs_question *q, int64_t asked_ns,
			 struct pbs_answer *ret)
{
	char path[MANAGER_PATH_MAX];
	struct job *j = find_job(n, q);

	if (!j)
		return refuse_task(ret, "job %s has ended", q->id);
	if (process_is_in(q->pid, job_cgroup(j, path)))
		return enter_job(n, j, q, ret);
	if (node_now_ns() - asked_ns > SCOPE_NS)
		return refuse_task(
			ret,
			"systemd did not make its cgroup on node %s within 20 s: journalctl -u reeve-agent",
			n->conf->node);
	return job_has_ended(j) ? enter_job(n, j, q, ret) : 1;
}

/* ---- it ends ---- */

static bool is_reeves(const struct job *j)
{
	return j->s.end.kind != END_NONE && j->s.end.kind != END_EXITED &&
	       j->s.end.kind != END_SIGNALED;
}

int pbs_jobs_end(struct node *n, const struct pbs_question *q, struct pbs_answer *ret)
{
	struct job *j = find_job(n, q);

	if (!j)
		return 0;
	if (!job_has_ended(j)) {
		j->foreign_status = q->wait_status;
		j->has_foreign_status = q->wait_status >= 0;
		report_measure_last(n, j, NULL); /* while its cgroup is there */
		limit_read_latches(n, j); /* the event of the kernel may still be on its way */
	}
	if (!job_has_ended(j) && j->s.end.kind == END_NONE && q->end_text[0]) {
		job_latch_end(j, END_CANCELLED, q->end_text);
	} else if (is_reeves(j) && !(q->end_text[0] && j->s.end.kind == END_CANCELLED)) {
		ret->verdict = PBS_ENDED;
		foreign_format_end(j, ret->text, sizeof(ret->text));
	}
	j->gone_ns = 0; /* PBS's own word */
	foreign_end(n, j);
	return 1;
}

int pbs_jobs_look_end(struct node *n, const struct pbs_question *q)
{
	const struct job *j = find_job(n, q);

	return j && j->phase < PHASE_REPORT;
}

void pbs_jobs_suspend(struct node *n, const struct pbs_question *q, bool is_suspended)
{
	struct job *j = find_job(n, q);

	if (!j || j->phase != PHASE_RUNNING)
		return;
	j->is_stopped = false;
	suspend_on_frozen(n, j->s.job, is_suspended, (uint64_t)node_now_ns());
}

/* What runs again without its hook's word (the agent did not answer, or the user sent SIGCONT) is charged from then on. Where pbs_mom's $suspendsig stops
 * nothing, the hook's word alone counts. */
static void check_suspended(struct node *n, struct job *j)
{
	char work[MANAGER_PATH_MAX + 16];

	if (manager_is_stopped(work_of(j, work))) {
		j->is_stopped = true;
	} else if (j->is_stopped) {
		j->is_stopped = false;
		suspend_on_frozen(n, j->s.job, false, (uint64_t)node_now_ns());
	}
}

static bool is_listed(const char *list, int64_t job)
{
	char id[PBS_ID_TEXT_MAX];
	int64_t one;

	for (const char *at = list + strspn(list, " "); *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, " ");

		snprintf(id, sizeof(id), "%.*s", (int)n, at);
		if (pbs_id_parse(id, &one, NULL) == 0 && one == job)
			return true;
		at += n;
	}
	return false;
}

/* A list is not newer than what is launched meanwhile, so a job is ended only when it is not listed for a while. */
static void end_after_a_while(struct node *n, struct job *j, const char *why)
{
	if (!j->waits_until_ns) {
		j->gone_ns = node_now_ns();
		j->waits_until_ns = j->gone_ns + LOST_NS;
	} else if (node_now_ns() >= j->waits_until_ns) {
		job_note(j, "%s", why);
		j->waits_until_ns = 0;
		foreign_end(n, j);
	}
}

void pbs_jobs_alive(struct node *n, const char *list)
{
	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->phase != PHASE_RUNNING && j->phase != PHASE_UNIT)
			continue;
		if (!is_listed(list, j->s.job)) {
			end_after_a_while(
				n, j,
				"its epilogue did not come: PBS does not have the job any more");
		} else if (j->gone_ns) {
			j->waits_until_ns = j->gone_ns = 0;
			limit_arm_clock(n, j);
		}
	}
}

/* Of a job that Reeve has ended. On its first node its epilogue comes, and takes the end message; where it does not, the cgroup tells the end. On another
 * node it comes when the job has ended on the first one, and for that the controller must know this end. */
static void check_ended(struct node *n, struct job *j)
{
	char path[MANAGER_PATH_MAX];

	if (access(job_cgroup(j, path), F_OK) == 0)
		return;
	if (j->s.pbs_sister)
		foreign_end(n, j);
	else
		end_after_a_while(n, j,
				  "its epilogue did not come: its end was seen by its cgroup");
}

void pbs_jobs_tick(struct node *n)
{
	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->phase != PHASE_RUNNING)
			continue;
		if (j->s.end.kind != END_NONE)
			check_ended(n, j);
		else if (j->is_frozen)
			check_suspended(n, j);
	}
}
