/* SPDX-License-Identifier: GPL-2.0-or-later */
/* jobs.c - jobs of Slurm in the agent's table; see jobs.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include "agent/enforce/manager/slurm.h"
#include "agent/foreign/jobs.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/end.h"
#include "agent/job/phase/limit.h"
#include "agent/job/phase/recover.h"
#include "agent/job/phase/start.h"
#include "agent/job/phase/suspend.h"
#include "agent/job/report.h"
#include "agent/job/save.h"
#include "agent/report/spool.h"
#include "agent/slurm/ended.h"
#include "agent/slurm/ended_file.h"
#include "agent/slurm/jobs.h"
#include "agent/slurm/scontrol.h"
#include "common/log.h"
#include "common/time_units.h"
#include "common/utf8.h"

/* A job whose cgroup has been gone for this long without an Epilog has ended. Of one without a task squeue is asked, each time it was so long without. */
#define LOST_NS (120 * S_NS)
/* So long an attempt that starts once more waits until the report of its run before is in the store, and until that one's
 * directory is removed. The Prolog waits for the answer. */
#define FORMER_REPORT_NS (5 * S_NS)
#define FORMER_REMOVAL_NS (20 * S_NS)
/* slurmctld is asked about an attempt without a Prolog for this long, each second. The plugin waits for 30 s. */
#define COUNT_NS (10 * S_NS)
#define COUNT_AGAIN_NS S_NS

static void refuse_task(struct slurm_answer *ret, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
static void refuse_task(struct slurm_answer *ret, const char *fmt, ...)
{
	va_list ap;

	ret->kind = SLURM_REFUSED;
	va_start(ap, fmt);
	vsnprintf(ret->text, sizeof(ret->text), fmt, ap);
	va_end(ap);
	utf8_clean(ret->text);
}

/* Slurm counts restarts from 0, Reeve attempts from 1. BEGIN alone has the attempt's: slurmctld sends that of the next attempt with a
 * requeued job's Epilog, and slurmstepd has 0 for every step. */
static int32_t attempt_of(const struct slurm_question *q)
{
	return (int32_t)(q->restarts < INT32_MAX ? q->restarts : INT32_MAX - 1) + 1;
}

/* Which attempt of a job the node has to do with: first one that has not ended (Slurm runs a job once at a time), then one that is being
 * cleaned up. */
static int rank_attempt(const struct job *j)
{
	if (!job_has_ended(j))
		return 2;
	return j->phase < PHASE_REPORT;
}

/* The attempt that began last on this node. Among those that are over it is the one with the highest number. The number alone does not say it: slurmctld
 * that forgot a requeue begins an earlier attempt again. */
static struct job *find_last(struct node *n, uint32_t id)
{
	struct job *last = NULL;

	for (struct job *j = n->jobs; j; j = j->next) {
		if (j->s.job != id)
			continue;
		if (!last || rank_attempt(j) > rank_attempt(last) ||
		    (rank_attempt(j) == rank_attempt(last) && j->s.attempt > last->s.attempt))
			last = j;
	}
	return last;
}

/* ---- who asks ---- */

/* Takes the last component off `path`, and returns it; NULL: there is none. */
static char *cut_last(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return NULL;
	*slash = '\0';
	return slash + 1;
}

/* The peer's cgroup must be SCOPE/job_12/step_0/slurm: only root can be there, and only slurmd makes it. The kernel names the
 * cgroup, so no process can pass for the slurmstepd of another job. SCOPE is learned here: slurmd may use another one than the
 * agent expected. */
static int check_peer(struct node *n, const struct slurm_question *q, int32_t peer,
		      struct err *err)
{
	char path[4300], job[32];
	const char *last, *step, *name;
	int r = manager_cgroup_of(peer, path, sizeof(path), err);

	if (r < 0)
		return r;
	snprintf(job, sizeof(job), "job_%u", q->job);
	last = cut_last(path);
	step = cut_last(path);
	name = cut_last(path);
	if (!last || !step || !name || strcmp(last, "slurm") || strncmp(step, "step_", 5) ||
	    strcmp(name, job) || !manager_is_slurm(path))
		return err_set(
			err, -EPERM,
			"process %d is no slurmstepd in a cgroup of job %u (Reeve needs cgroup v2 and "
			"ProctrackType=proctrack/cgroup)",
			peer, q->job);
	if (strcmp(path, n->ops->parent(n->manager)) != 0 && strlen(path) < MANAGER_PATH_MAX)
		slurm_set_scope(n->manager, path);
	return 0;
}

/* ---- BEGIN ---- */

/* The texts come from the environment of the Prolog and may lack their end: strnlen(), and utf8_copy() for
 * what is no text. */
static void fill_request(struct request *r, const struct slurm_question *q)
{
	request_init(r);
	utf8_copy(r->user, sizeof(r->user), q->user, strnlen(q->user, sizeof(q->user)));
	utf8_copy(r->account, sizeof(r->account), q->account,
		  strnlen(q->account, sizeof(q->account)));
	utf8_copy(r->queue, sizeof(r->queue), q->partition,
		  strnlen(q->partition, sizeof(q->partition)));
	snprintf(r->name, sizeof(r->name), "slurm-%u", q->job);
	r->uid = q->uid;
	r->gid = q->gid;
	r->res.ncpus = q->ncpus ? q->ncpus : 1;
	r->res.vmem_bytes = q->vmem_bytes;
	r->res.jobfs_bytes = q->jobfs_bytes;
	r->res.mem_bytes = q->mem_bytes;
	r->vmem_policy = q->vmem_refuses ? VMEM_POLICY_DENY : VMEM_POLICY_KILL;
}

/* Slurm has allocated the job already, so there is no admission: a disk that cannot be made is the only reason
 * to fail. `ngpus` < 0: as many as the question names. */
static int begin_job(struct node *n, const struct slurm_question *q, int64_t ngpus,
		     struct err *err)
{
	struct job *j = job_new(n, q->job, attempt_of(q));

	if (!j)
		return err_set(err, -ENOMEM, "out of memory");
	fill_request(&j->s.request, q);
	job_gpus_take(n, j, q->gpus, ngpus);
	j->s.slurm_nodes = q->nodes;
	j->s.slurm_ncpus = q->job_ncpus;
	snprintf(j->s.unit, sizeof(j->s.unit), "job_%u", q->job);
	return foreign_begin(n, j, err);
}

/* Keeps the report of a run whose attempt begins once more. 1: not yet. Where the store fails for FORMER_REPORT_NS, the report is given up, so that
 * the next run begins. */
static int leave_former(struct node *n, const struct job *j, int64_t waited_ns)
{
	struct sync_slurm_job told;
	struct err err;

	foreign_describe_job(j, &told);
	if (!n->uplink || spool_set_aside(n->spool, &told, &err) >= 0)
		return 0;
	if (waited_ns < FORMER_REPORT_NS)
		return 1;
	log_job(LOG_WARNING, j->s.job, "report",
		"Slurm starts attempt %d once more: its run before is not reported: %s",
		(int)j->s.attempt, err.text);
	if (spool_forget(n->spool, j->s.job, j->s.attempt, &err) < 0)
		log_job(LOG_WARNING, j->s.job, "report", "%s", err.text);
	return 0;
}

/* Slurm starts an attempt whose run has ended here: slurmctld had died before it saved the start. Gives the place to the new run.
 * 1: not yet. */
static int clear_former(struct node *n, struct job *j, int64_t waited_ns,
			struct slurm_answer *ret)
{
	if (j->phase != PHASE_REPORT && waited_ns < FORMER_REMOVAL_NS)
		return 1;
	if (j->phase != PHASE_REPORT) {
		refuse_task(
			ret,
			"job %lld has run on node %s before, and what is left of that run is still being removed",
			(long long)j->s.job, n->conf->node);
		return 0;
	}
	if (leave_former(n, j, waited_ns))
		return 1;
	job_settle(n, j);
	return 0;
}

/* Of a job that has none in the table, or whose attempts there have ended. */
static void begin_attempt(struct node *n, const struct slurm_question *q, int64_t ngpus,
			  struct slurm_answer *ret)
{
	char text[USERS_TEXT_MAX];
	const char *why = users_check(&n->users, q->uid, q->gid, text);
	struct err err = { "" };

	/* Slurm runs a job once at a time on a node: an attempt without an Epilog has ended all the same. */
	foreign_end_stale(n, q->job,
			  "its Epilog did not come; it ended when Slurm started it again");
	job_recover_drop_found(n, q->job); /* Slurm has requeued it: this attempt is guarded */
	ended_forget(&n->ended, q->job);
	if (why)
		refuse_task(ret, "%s", why);
	else if (begin_job(n, q, ngpus, &err) < 0)
		refuse_task(ret, "node %s cannot take job %u: %s", n->conf->node, q->job,
			    err.text);
}

/* Once nothing is left of a run of the same attempt. 1: not yet. */
static int begin_when_clear(struct node *n, const struct slurm_question *q, int64_t ngpus,
			    int64_t waited_ns, struct slurm_answer *ret)
{
	struct job *j = job_find(n, q->job, attempt_of(q));

	if (j && !job_has_ended(j)) { /* slurmd runs a Prolog again after its own restart */
		if (j->phase == PHASE_UNIT)
			j->waits_until_ns = 0; /* what squeue was asked before is of no use */
		return 0;
	}
	if (j && clear_former(n, j, waited_ns, ret))
		return 1;
	if (ret->kind != SLURM_REFUSED)
		begin_attempt(n, q, ngpus, ret);
	return 0;
}

int slurm_jobs_begin(struct node *n, const struct slurm_question *q, int64_t waited_ns,
		     struct slurm_answer *ret)
{
	return begin_when_clear(n, q, -1, waited_ns, ret);
}

/* ---- STEP and TASK ---- */

/* The letter in the mark of the job (common/wire/slurm.h); 0: it has none. */
static char read_mark(const struct node *n, uint32_t job)
{
	char dir[MANAGER_PATH_MAX], file[16], text[8];

	snprintf(dir, sizeof(dir), "%.*s/" SLURM_UNBEGUN_DIR, MANAGER_PATH_MAX - 64,
		 n->conf->run_dir);
	snprintf(file, sizeof(file), "%u", job);
	return manager_read(dir, file, text, sizeof(text), NULL) < 0 ? 0 : text[0];
}

/* A job that is not in the table. One without a mark that runs here began before the agent was started, and before the plugin was
 * there: it goes on unguarded, with its further steps. */
static void answer_for_unknown(struct node *n, const struct slurm_question *q,
			       struct slurm_answer *ret)
{
	char mark = read_mark(n, q->job);

	if (mark == SLURM_UNANSWERED) {
		ret->kind = SLURM_UNKNOWN;
		snprintf(ret->text, sizeof(ret->text),
			 "reeve-agent on node %.200s did not answer when job %u began there",
			 n->conf->node, q->job);
	} else if (mark == SLURM_BEGIN_REFUSED || !job_recover_is_found(n, q->job)) {
		refuse_task(
			ret,
			"reeve-agent on node %s does not know job %u: it was away when the job's Prolog ran, or refused it "
			"(journalctl -u reeve-agent)",
			n->conf->node, q->job);
	}
}

/* The job's mark says that the agent did not take the attempt whose processes are in the cgroup of now: `j` is one before it. */
static bool is_former(const struct node *n, const struct job *j)
{
	if (!job_has_ended(j) && (!j->is_attached || foreign_is_same_cgroup(j)))
		return false;
	return read_mark(n, (uint32_t)j->s.job) != 0;
}

/* ---- an attempt without a Prolog ---- */

/* Which attempt it is, slurmctld alone knows. False: not yet. Where it does not say, the attempt counts as the next one, as for each job that
 * was queued again. */
static bool is_counted(struct node *n, struct ended_job *e, int64_t waited_ns)
{
	int64_t now_ns = node_now_ns();

	if (e->known_ns || waited_ns >= COUNT_NS)
		return true;
	if (!e->is_asked && (!e->asked_ns || now_ns - e->asked_ns >= COUNT_AGAIN_NS))
		scontrol_ask_restarts(n, e);
	return false;
}

static void note_without_prolog(struct job *j, bool is_known)
{
	const char *doubt =
		is_known ? ""
			 : "; slurmctld did not say which attempt it is: it counts as the next";

	job_note(
		j,
		"slurmd ran no Prolog for this attempt: it has the limits of the attempt that ended here before%s",
		doubt);
	log_job(LOG_WARNING, j->s.job, "start",
		"slurmd started attempt %d without a Prolog: it has the limits of the attempt before%s",
		(int)j->s.attempt, doubt);
}

int slurm_jobs_begin_again(struct node *n, const struct slurm_question *q, int32_t peer,
			   int64_t waited_ns, struct slurm_answer *ret)
{
	int64_t now_ns = node_now_ns();
	struct ended_job *e = ended_find(n->ended, q->job, now_ns);
	struct job *j = find_last(n, q->job);
	struct slurm_question begin;
	int64_t known_ns;
	struct err err;

	/* A peer that is refused is so by the question itself. */
	if (!e || (j && !job_has_ended(j)) || read_mark(n, q->job) ||
	    check_peer(n, q, peer, &err) < 0)
		return 0;
	if (!is_counted(n, e, waited_ns))
		return 1;
	begin = e->begin;
	known_ns = e->known_ns;
	if (q->ncpus)
		begin.ncpus = q->ncpus;
	if (begin_when_clear(n, &begin, e->ngpus, known_ns ? now_ns - known_ns : waited_ns,
			     ret))
		return 1;
	j = job_find(n, q->job, 0);
	if (j)
		note_without_prolog(j, known_ns != 0);
	return 0;
}

/* ---- STEP and TASK, once the attempt has begun ---- */

/* NULL: the peer is refused (the answer says why), or the job is none of those that the agent guards (answer_for_unknown()). */
static struct job *find_job(struct node *n, const struct slurm_question *q, int32_t peer,
			    struct slurm_answer *ret)
{
	struct err err;
	struct job *j;

	if (check_peer(n, q, peer, &err) < 0) {
		refuse_task(ret, "%s", err.text);
		return NULL;
	}
	j = find_last(n, q->job);
	if (j && !is_former(n, j))
		return j;
	answer_for_unknown(n, q, ret);
	return NULL;
}

/* Before the step has processes: the memory that Slurm gives it, and where its $TMPDIR is. */
void slurm_jobs_step(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret)
{
	struct job *j = find_job(n, q, peer, ret);
	char path[4200];

	if (!j)
		return;
	if (q->mem_bytes)
		j->s.request.res.mem_bytes = j->s.mem_max_bytes = q->mem_bytes;
	if (job_file(j, "work", path, sizeof(path)) && strlen(path) < sizeof(ret->tmpdir))
		strcpy(ret->tmpdir, path);
}

/* Refused: slurmstepd kills the task before it executes anything. */
void slurm_jobs_task(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret)
{
	struct job *j = find_job(n, q, peer, ret);
	char text[REASON_TEXT_MAX];
	struct err err;

	if (!j)
		return;
	if (j->s.end.kind != END_NONE || job_has_ended(j)) {
		foreign_format_end(j, text, sizeof(text));
		refuse_task(ret, "the job has ended: %.900s", text);
		return;
	}
	if (foreign_guard(n, j, &err) < 0) {
		log_job(LOG_ERR, j->s.job, "guard", "%s", err.text);
		refuse_task(ret, "its limits cannot be put in force on node %s: %s",
			    n->conf->node, err.text);
		return;
	}
	foreign_begin_running(n, j);
}

/* ---- EXIT and END ---- */

/* Each task's end comes here. Of the last one the status becomes the job's, unless a limit was latched; then
 * the answer carries the end message to slurmstepd. */
void slurm_jobs_exit(struct node *n, const struct slurm_question *q, int32_t peer,
		     struct slurm_answer *ret)
{
	struct job *j = find_job(n, q, peer, ret);

	if (!j)
		return;
	j->foreign_status = q->wait_status;
	j->has_foreign_status = true;
	report_measure_last(n, j, NULL); /* while its cgroup is there */
	limit_read_latches(n, j);	 /* the event of the kernel may still be on its way */
	if (j->s.end.kind == END_NONE)
		return;
	ret->kind = SLURM_ENDED;
	foreign_format_end(j, ret->text, sizeof(ret->text));
}

bool slurm_jobs_is_commenting(struct node *n, const struct slurm_question *q)
{
	const struct job *j = find_last(n, q->job);

	return j && j->is_commenting;
}

/* What the Prolog of its next attempt would say. */
static void remember_ended(struct node *n, const struct job *j)
{
	const struct request *r = &j->s.request;
	struct slurm_question q = {
		.version = SLURM_HANDSHAKE_VERSION,
		.kind = SLURM_BEGIN,
		.job = (uint32_t)j->s.job,
		.restarts = (uint32_t)j->s.attempt, /* attempt_of() */
		.uid = r->uid,
		.gid = r->gid,
		.ncpus = (uint32_t)r->res.ncpus,
		.vmem_bytes = r->res.vmem_bytes,
		.jobfs_bytes = r->res.jobfs_bytes,
		.vmem_refuses = r->vmem_policy == VMEM_POLICY_DENY,
		.nodes = (uint32_t)j->s.slurm_nodes,
		.job_ncpus = (uint32_t)j->s.slurm_ncpus,
	};

	snprintf(q.account, sizeof(q.account), "%s", r->account);
	snprintf(q.partition, sizeof(q.partition), "%s", r->queue);
	snprintf(q.user, sizeof(q.user), "%s", r->user);
	ended_remember(&n->ended, &q, r->res.ngpus, node_now_ns());
}

static void ended_path(const struct node *n, char buf[static MANAGER_PATH_MAX])
{
	snprintf(buf, MANAGER_PATH_MAX, "%.*s/slurm-ended", MANAGER_PATH_MAX - 64,
		 n->conf->run_dir);
}

static void save_ended(const struct node *n)
{
	char path[MANAGER_PATH_MAX];
	struct err err;

	ended_path(n, path);
	if (ended_file_write(path, n->ended, &err) < 0)
		log_line(
			LOG_WARNING,
			"%s: an agent that is started again will not know which jobs have ended here",
			err.text);
}

/* A file that could not be read for want of memory stays as it is. */
void slurm_jobs_open(struct node *n)
{
	char path[MANAGER_PATH_MAX];
	struct err err;
	int r;

	ended_path(n, path);
	r = ended_file_read(path, &n->ended, node_now_ns(), &err);
	if (r < 0 && r != -ENOENT)
		log_line(
			LOG_WARNING,
			"jobs that have ended here before are not known, and are refused where slurmd starts them again without a Prolog: %s",
			err.text);
	for (struct job *j = n->jobs; j; j = j->next)
		if (job_is_slurms(j) && j->phase == PHASE_FINAL)
			remember_ended(n, j);
	if (r >= 0 || r == -ENOENT || r == -EBADMSG)
		save_ended(n);
}

static void end_job(struct node *n, struct job *j)
{
	remember_ended(n, j);
	save_ended(n);
	foreign_end(n, j);
}

void slurm_jobs_end(struct node *n, const struct slurm_question *q)
{
	struct job *j = find_last(n, q->job);

	if (!j)
		return;
	j->gone_ns = 0; /* Slurm's own word */
	end_job(n, j);
}

bool slurm_jobs_is_over(struct node *n, const struct slurm_question *q)
{
	const struct job *j = find_last(n, q->job);

	return !j || j->phase >= PHASE_REPORT;
}

/* The hooks say when it was suspended, to the nanosecond; where there is none, the files do, up to a second late. */
static void check_suspended(struct node *n, const struct job *j, const char *path)
{
	uint32_t n_frozen = slurm_count_frozen(path);
	struct events_freeze f = { .frozen = n_frozen > 0 };
	struct err err;

	events_check_steps(n->events, j->s.cgroup_id, n_frozen);
	if (events_frozen(n->events, j->s.cgroup_id, &f, &err) < 0)
		f.frozen = n_frozen > 0;
	suspend_on_frozen(n, j->s.job, f.frozen, (uint64_t)node_now_ns());
}

static void end_unbegun(struct job *j)
{
	if (j->phase != PHASE_UNIT)
		return;
	job_note(j, "its Epilog did not come, and squeue does not list this attempt");
	end_job(j->node, j);
}

/* No task of it has begun, and its extern step is not there: slurmd runs the Prolog still, or its Epilog came while the agent was away. */
static void check_unbegun(struct job *j)
{
	char path[MANAGER_PATH_MAX];
	int64_t now_ns = node_now_ns();
	bool is_due = j->waits_until_ns && now_ns >= j->waits_until_ns;

	if (access(job_cgroup(j, path), F_OK) == 0) {
		j->waits_until_ns = 0;
	} else if (is_due || !j->waits_until_ns) {
		j->waits_until_ns = now_ns + LOST_NS;
		if (is_due)
			scontrol_ask_active(j, end_unbegun);
	}
}

void slurm_jobs_tick(struct node *n)
{
	char path[MANAGER_PATH_MAX];

	for (struct job *j = n->jobs; j; j = j->next) {
		if (job_is_slurms(j) && j->phase == PHASE_UNIT)
			check_unbegun(j);
		if (!job_is_slurms(j) || j->phase != PHASE_RUNNING)
			continue;
		if (access(job_cgroup(j, path), F_OK) == 0) {
			if (j->gone_ns) { /* there again, with a next step */
				j->waits_until_ns = j->gone_ns = 0;
				limit_arm_clock(n, j);
			}
			check_suspended(n, j, path);
		} else if (!j->waits_until_ns) {
			j->gone_ns = node_now_ns();
			j->waits_until_ns = j->gone_ns + LOST_NS;
		} else if (node_now_ns() >= j->waits_until_ns) {
			job_note(j, "its Epilog did not come: its end was seen by its cgroup");
			j->waits_until_ns = 0;
			end_job(n, j);
		}
	}
}
