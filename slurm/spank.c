/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spank.c - the SPANK plugin: --vmem, --jobfs and --vmem-action for srun, sbatch and salloc, and the handshake of each task with the
 * agent of its node.
 *
 * Slurm calls it in four places (spank(7)): in the command that submits, where the options are read; in Prolog and Epilog on each node of
 * the job, as root, outside the job; and in each slurmstepd, as root, where a task is held between fork and exec until slurm_spank_task_post_fork()
 * returns. What it tells the agent of the limits comes from the Prolog's environment alone, which slurmctld keeps since the
 * submission: the environment of the job itself is the user's.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include "common/cleanup.h"
#include "slurm/ask_agent.h"
#include "slurm/cores.h"
#include "slurm/gpu_files.h"
#include "slurm/limits.h"
#include "slurm/list_gpus.h"
#include "slurm/unbegun.h"

SPANK_PLUGIN(reeve, 1)

#define CONTROL_VARIABLE "REEVE_LIMITS" /* the Prolog sees SPANK_REEVE_LIMITS */
#define PATIENCE_S 30
#define END_PATIENCE_S 60  /* a large job disk is being removed */
#define PATIENCE_AGAIN_S 1 /* after a failure that is not older than */
#define FAILURE_HOLDS_S 60

static struct limits_site site;
static struct err site_error;
static struct {
	char *vmem, *jobfs, *vmem_action;
} typed;
static bool
	has_told_user; /* this slurmstepd has written why its tasks end, or run without limits */
static char tmpdir[sizeof(((struct slurm_answer *)0)->tmpdir)];

/* Called by Slurm for an option of the command line, and again in slurmstepd, where it is of no use. */
static int keep_option(char **to, const char *text, int is_remote)
{
	if (is_remote)
		return 0;
	free(*to);
	*to = strdup(text ? text : "");
	return *to ? 0 : -1;
}

static int on_vmem(int val, const char *text, int is_remote)
{
	(void)val;
	return keep_option(&typed.vmem, text, is_remote);
}

static int on_jobfs(int val, const char *text, int is_remote)
{
	(void)val;
	return keep_option(&typed.jobfs, text, is_remote);
}

static int on_vmem_action(int val, const char *text, int is_remote)
{
	(void)val;
	return keep_option(&typed.vmem_action, text, is_remote);
}

/* Slurm's struct has pointers to texts that it could write: arrays, not literals. */
#define TEXT(t) ((char[]){ t })
static struct spank_option options[] = {
	{ TEXT("vmem"), TEXT("SIZE"),
	  TEXT("[Reeve] address space of the whole job on each node; more ends the job"), 1, 1,
	  on_vmem },
	{ TEXT("jobfs"), TEXT("SIZE"),
	  TEXT("[Reeve] disk of the job on each node, at $TMPDIR; more ends the job"), 1, 2,
	  on_jobfs },
	{ TEXT("vmem-action"), TEXT("kill|enomem"),
	  TEXT("[Reeve] beyond --vmem: end the job (default), or let the call fail"), 1, 3,
	  on_vmem_action },
};

/* srun outside an allocation, sbatch, salloc: where options are read and refused. */
static bool is_submitting(void)
{
	return spank_context() == S_CTX_LOCAL || spank_context() == S_CTX_ALLOCATOR;
}

/* A wrong word in plugstack.conf is logged, and kept in site_error for slurm_spank_task_post_fork(). */
static int read_site(int n_words, char **words)
{
	int r = limits_read_site(n_words, words, &site, &site_error);

	if (r < 0)
		slurm_error("reeve: %s", site_error.text);
	else
		site_error.text[0] = '\0';
	return r;
}

int slurm_spank_init(spank_t sp, int n_words, char **words)
{
	int r = read_site(n_words, words);

	/* slurmstepd takes options along for tasks only where it knows them, and refuses others. */
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (spank_option_register(sp, &options[i]) != ESPANK_SUCCESS)
			return -1;
	return r < 0 && is_submitting() ? -1 : 0;
}

/* ---- where the job is submitted ---- */

/* -1 makes the command fail before anything is submitted. */
static int submit_limits(spank_t sp)
{
	const struct limits_options o = { typed.vmem, typed.jobfs, typed.vmem_action };
	char text[LIMITS_TEXT_MAX];
	struct limits l;
	struct err err;

	if (limits_read_options(&site, &o, &l, &err) < 0) {
		slurm_error("reeve: %s", err.text);
		return -1;
	}
	if (spank_job_control_setenv(sp, CONTROL_VARIABLE, limits_encode(&l, text), 1) !=
	    ESPANK_SUCCESS) {
		slurm_error("reeve: cannot hand the limits of the job to slurmctld");
		return -1;
	}
	return 0;
}

/* The limits of a job are those of its submission; sbatch and salloc also put its options into the environment of its steps, where they come
 * here again. Only options that say something else are worth a word. */
static void warn_of_step_limits(void)
{
	const struct limits_options o = { typed.vmem, typed.jobfs, typed.vmem_action };
	const char *has = getenv("SLURM_SPANK_" CONTROL_VARIABLE);
	char text[LIMITS_TEXT_MAX];
	struct limits l;
	struct err err;

	if ((!o.vmem && !o.jobfs && !o.vmem_action) ||
	    (limits_read_options(&site, &o, &l, &err) >= 0 && has &&
	     !strcmp(has, limits_encode(&l, text))))
		return;
	slurm_error(
		"reeve: --vmem, --jobfs and --vmem-action have no effect on a step: the limits of job %s hold for all its steps "
		"together",
		getenv("SLURM_JOB_ID"));
}

/* ---- questions to the agent ---- */

/* An agent that does not answer is waited for once, not once for each of a hundred tasks of the step. */
static time_t failed_s;

static int shorten_patience(int patience_s)
{
	bool is_again = failed_s && time(NULL) - failed_s < FAILURE_HOLDS_S;

	return is_again ? PATIENCE_AGAIN_S : patience_s;
}

static void note_result(int r)
{
	failed_s = r < 0 ? time(NULL) : 0;
}

static int ask_with_patience(const struct slurm_question *q, int patience_s,
			     struct slurm_answer *ret, struct err *err)
{
	int r = ask_agent(site.socket, q, shorten_patience(patience_s), ret, err);

	note_result(r);
	return r;
}

static struct slurm_question make_question(spank_t sp, enum slurm_question_kind kind)
{
	struct slurm_question q = { .version = SLURM_HANDSHAKE_VERSION, .kind = kind };
	uint64_t mem_mb = 0;
	uint16_t ncpus = 0;

	spank_get_item(sp, S_JOB_ID, &q.job);
	spank_get_item(sp, S_JOB_UID, &q.uid);
	if (spank_context() != S_CTX_REMOTE)
		return q;
	spank_get_item(sp, S_JOB_GID, &q.gid);
	spank_get_item(sp, S_JOB_STEPID, &q.step);
	if (spank_get_item(sp, S_JOB_NCPUS, &ncpus) == ESPANK_SUCCESS)
		q.ncpus = ncpus;
	if (spank_get_item(sp, S_JOB_ALLOC_MEM, &mem_mb) == ESPANK_SUCCESS &&
	    mem_mb < INT64_MAX >> 20)
		q.mem_bytes = (int64_t)(mem_mb << 20);
	return q;
}

/* 0: the variable is missing or no number. */
static uint32_t number_of(const char *variable)
{
	const char *text = getenv(variable);

	return text ? (uint32_t)strtoul(text, NULL, 10) : 0;
}

static void copy_variable(char *to, size_t size, const char *variable)
{
	const char *text = getenv(variable);

	snprintf(to, size, "%s", text ? text : "");
}

/* Of this node in the list of the job's nodes. -1: it is not there. */
static int find_node(void)
{
	const char *nodes = getenv("SLURM_NODELIST"), *name = getenv("SLURMD_NODENAME");
	__auto_type list = nodes && name ? slurm_hostlist_create(nodes) : NULL;
	int index = list ? slurm_hostlist_find(list, name) : -1;

	if (list)
		slurm_hostlist_destroy(list);
	return index;
}

/* Slurm's Prolog has no variable for the cores on this node alone. Without them the question has 0: the agent
 * counts one. */
static void read_cores(struct slurm_question *q)
{
	const char *text = getenv("SLURM_JOB_CPUS_PER_NODE");
	int index = find_node();
	struct cores c;

	if (!text || index < 0 || cores_read(text, (uint32_t)index, &c) < 0) {
		slurm_error(
			"reeve: job %u: SLURM_NODELIST and SLURM_JOB_CPUS_PER_NODE do not say how many cores it has here",
			q->job);
		return;
	}
	q->ncpus = c.here;
	q->job_ncpus = c.total;
	q->nodes = c.nodes;
}

/* The Prolog's environment, which slurmd makes; see prolog_epilog of Slurm's documentation. */
static void read_prolog(struct slurm_question *q)
{
	q->gid = number_of("SLURM_JOB_GID");
	copy_variable(q->account, sizeof(q->account), "SLURM_JOB_ACCOUNT");
	copy_variable(q->partition, sizeof(q->partition), "SLURM_JOB_PARTITION");
	copy_variable(q->user, sizeof(q->user), "SLURM_JOB_USER");
}

/* A GPU that slurmd does not name is "?" and its number: the agent writes into the job's record that it is not measured. */
static void read_gpus(struct slurm_question *q)
{
	const char *numbers = getenv("SLURM_JOB_GPUS");
	_cleanup_free_ char *list = NULL;
	struct err err;

	if (!numbers)
		return;
	list = list_gpus(&err);
	if (!list)
		slurm_error("reeve: job %u: its GPUs are not measured: %s", q->job, err.text);
	if (gpu_files_list(list ? list : "", numbers, q->gpus, sizeof(q->gpus)) < 0)
		slurm_error("reeve: job %u: not all of its GPUs are measured: %s are too many",
			    q->job, numbers);
}

/* ---- in slurmstepd ---- */

/* Once for all tasks of the step. slurm_error() of slurmstepd goes to the error file of a batch job and to the terminal of srun. */
static void tell_user(const char *what, const char *why)
{
	if (!has_told_user)
		slurm_error("reeve: %s%s", what, why);
	has_told_user = true;
}

/* An error that a callback returns to slurmstepd ends it, and slurmctld drains the node; a task that is killed before its exec
 * is a job that failed. */
static void refuse_task(pid_t task, const char *what, const char *why)
{
	tell_user(what, why);
	if (task > 0)
		kill(task, SIGKILL);
}

/* unguarded=run or unguarded=refuse of the site. */
static void decide_without_agent(pid_t task, const char *why)
{
	if (site.runs_unguarded)
		tell_user("this job runs without Reeve's limits: ", why);
	else
		refuse_task(
			task,
			"nothing of this job runs, since nothing would hold it to its limits: ",
			why);
}

/* The agent answers with the path of the job's disk, which slurm_spank_user_init() makes $TMPDIR. */
/* The answer is needed where the environment of the tasks is made, in slurm_spank_user_init(): until then the agent and slurmstepd work
 * side by side. -errno: there is no connection. Without an agent: see slurm_spank_task_post_fork(). */
static int step_fd = -ENOTCONN;

static void begin_step(spank_t sp)
{
	struct slurm_question q = make_question(sp, SLURM_STEP);
	struct err err;

	step_fd = ask_agent_send(site.socket, &q, shorten_patience(PATIENCE_S), &err);
}

static void finish_step(spank_t sp)
{
	struct slurm_question q = make_question(sp, SLURM_STEP);
	struct slurm_answer a;
	struct err err;
	int r = step_fd < 0 ? step_fd : ask_agent_receive(step_fd, &a, &err);

	step_fd = -ENOTCONN;
	if (r == -ECONNRESET) /* the agent was killed or restarted meanwhile */
		r = ask_agent(site.socket, &q, PATIENCE_S, &a, &err);
	note_result(r);
	if (r >= 0)
		memcpy(tmpdir, a.tmpdir, sizeof(tmpdir));
}

int slurm_spank_init_post_opt(spank_t sp, int n_words, char **words)
{
	(void)n_words, (void)words;
	if (spank_context() == S_CTX_REMOTE)
		begin_step(sp);
	if (!is_submitting())
		return 0;
	if (!getenv("SLURM_JOB_ID") || spank_context() != S_CTX_LOCAL)
		return submit_limits(sp);
	warn_of_step_limits();
	return 0;
}

int slurm_spank_user_init(spank_t sp, int n_words, char **words)
{
	(void)n_words, (void)words;
	finish_step(sp);
	if (tmpdir[0] && spank_setenv(sp, "TMPDIR", tmpdir, 1) != ESPANK_SUCCESS)
		slurm_error("reeve: cannot set TMPDIR to the job's disk %s", tmpdir);
	return 0;
}

/* The task is stopped before its exec until this returns. */
int slurm_spank_task_post_fork(spank_t sp, int n_words, char **words)
{
	struct slurm_question q = make_question(sp, SLURM_TASK);
	struct slurm_answer a;
	struct err err;
	pid_t pid = 0;

	(void)n_words, (void)words;
	if (spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS)
		q.pid = pid;
	if (site_error.text[0])
		decide_without_agent(pid, site_error.text);
	else if (ask_with_patience(&q, PATIENCE_S, &a, &err) < 0)
		decide_without_agent(pid, err.text);
	else if (a.kind == SLURM_REFUSED)
		refuse_task(pid, "this job may not run: ", a.text);
	else if (a.kind == SLURM_UNKNOWN)
		decide_without_agent(pid, a.text);
	return 0;
}

/* Each task asks; the first answer with an end message is written, once for the step. */
int slurm_spank_task_exit(spank_t sp, int n_words, char **words)
{
	struct slurm_question q = make_question(sp, SLURM_EXIT);
	struct slurm_answer a;
	struct err err;
	int status = 0;

	(void)n_words, (void)words;
	if (spank_get_item(sp, S_TASK_EXIT_STATUS, &status) == ESPANK_SUCCESS)
		q.wait_status = status;
	if (ask_with_patience(&q, PATIENCE_S, &a, &err) >= 0 && a.kind == SLURM_ENDED)
		tell_user("", a.text);
	return 0;
}

/* ---- in Prolog and Epilog ---- */

/* The agent did not take the job, for `why`. The mark is written before a task of the job can ask an agent that was started meanwhile. */
static void mark_unbegun(uint32_t job, char what, const char *why)
{
	struct err err;

	slurm_error("reeve: job %u: %s", job, why);
	if (unbegun_mark(site.socket, job, what, &err) < 0)
		slurm_error("reeve: job %u: %s", job, err.text);
}

/* A Prolog that fails drains its node: that the agent is away is decided when a task is to start, in words that the user sees. */
int slurm_spank_job_prolog(spank_t sp, int n_words, char **words)
{
	struct slurm_question q = make_question(sp, SLURM_BEGIN);
	const char *text = getenv("SPANK_" CONTROL_VARIABLE);
	struct limits l;
	struct slurm_answer a;
	struct err err;

	read_site(n_words, words); /* Slurm does not call slurm_spank_init() here */
	read_prolog(&q);
	q.restarts = number_of("SLURM_JOB_RESTART_COUNT");
	read_cores(&q);
	read_gpus(&q);
	l = (struct limits){ site.default_vmem_bytes, site.default_jobfs_bytes, false };
	if (text && limits_decode(text, &l, &err) < 0)
		slurm_error("reeve: job %u: %s; it gets the site's defaults", q.job, err.text);
	if (limits_lower(&site, &l))
		slurm_error(
			"reeve: job %u: its limits are above this node's bounds and were lowered to them",
			q.job);
	q.vmem_bytes = l.vmem_bytes;
	q.jobfs_bytes = l.jobfs_bytes;
	q.vmem_refuses = l.refuses;
	if (ask_with_patience(&q, PATIENCE_S, &a, &err) < 0)
		mark_unbegun(q.job, SLURM_UNANSWERED, err.text);
	else if (a.kind == SLURM_REFUSED)
		mark_unbegun(q.job, SLURM_BEGIN_REFUSED, a.text);
	else
		unbegun_clear(site.socket, q.job); /* of its attempt before a requeue */
	return 0;
}

/* The answer comes when the job's disk is gone: slurmd reports the node free of the job only after that. */
int slurm_spank_job_epilog(spank_t sp, int n_words, char **words)
{
	struct slurm_question q = make_question(sp, SLURM_END);
	struct slurm_answer a;
	struct err err;

	read_site(n_words, words);
	read_prolog(&q);
	unbegun_clear(site.socket, q.job);
	if (ask_with_patience(&q, END_PATIENCE_S, &a, &err) < 0)
		slurm_error("reeve: job %u: %s", q.job, err.text);
	return 0;
}
