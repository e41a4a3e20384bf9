/* SPDX-License-Identifier: GPL-2.0-or-later */
/* recover.c - after a restart of the agent: load the jobs from the store and find the units that run; see phase/recover.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/enforce/events_files.h"
#include "agent/enforce/final.h"
#include "agent/job/phase/end.h"
#include "agent/job/gpus/gpus.h"
#include "agent/job/phase/limit.h"
#include "agent/job/output.h"
#include "agent/job/phase/recover.h"
#include "agent/job/phase/attach.h"
#include "common/log.h"
#include "common/time_units.h"

/* A job with damaged state fails with that reason; its unit, if any, is ended. */
static void fail_damaged(struct job *j, const struct err *err)
{
	job_fail(j, "the agent's record of this job is damaged: %.150s", err->text);
	manager_name((struct manager_id){ j->s.job, j->s.attempt }, j->s.unit);
	j->phase = PHASE_FINAL;
}

/* An order that this version cannot read counts as "run". */
static void restore_order(struct job *j)
{
	const char *w = j->s.wanted;

	if (job_desired_parse(w, &j->order) < 0)
		j->order = DESIRED_RUN;
	/* The agent died while it resumed the job (job_save_row() writes "resume"): whether the kernel has the new cores
	 * is not known. Without cores the job counts as suspended, and begin_resume() chooses cores again. */
	if (!strcmp(w, "resume"))
		memset(&j->s.cpus, 0, sizeof(j->s.cpus));
}

/* Only within the same boot: CLOCK_BOOTTIME starts again with the next one. */
static void restore_clock(struct node *n, struct job *j)
{
	const struct state_clock *c = &j->s.clock;

	if (!c->started_ns || strcmp(c->boot, n->boot))
		return;
	clock_start(&j->clock, c->at_ns - c->running_ns - c->suspended_ns);
	j->clock.frozen_ns = c->suspended_ns;
	if (j->phase > PHASE_FINAL)
		clock_stop(&j->clock, c->at_ns);
}

/* A row that cannot be read becomes a failed job too, so that its unit is ended and the controller gets a
 * report. */
static int on_row(void *ctx, struct state_attempt *a, bool bad, const struct err *err)
{
	struct node *n = ctx;
	struct job *j = job_new(n, a->job, a->attempt);

	if (!j)
		return -ENOMEM;
	j->is_stored = true;
	if (!bad)
		state_attempt_take(&j->s, a);
	if (bad || job_phase_parse(j->s.step, &j->phase) < 0) {
		fail_damaged(j, err);
		return 0;
	}
	restore_order(j);
	restore_clock(n, j);
	job_gpus_recover(n, j);
	return 0;
}

/* The node was rebooted while the job was here: it is charged up to its last figures, and its directory is removed. */
static void end_lost(struct node *n, struct job *j)
{
	char text[160];

	snprintf(text, sizeof(text), "node %s was rebooted", n->conf->node);
	if (j->s.end.kind == END_NONE)
		job_latch_end(j, END_NODE_LOST, text);
	j->s.unit[0] = '\0';
	j->s.clock.ended_ns = node_realtime_ns();
	log_job(LOG_WARNING, j->s.job, "lost", "the node was rebooted while the job was here");
	j->phase = PHASE_CLEANUP;
}

/* Where the kernel keeps no account of it (tier 3): a job that was suspended and is frozen was so since its last figures were saved. One that is
 * not was resumed at a time that is not known, and the whole of it is charged. */
static void recover_frozen(struct job *j, const char *path)
{
	if (job_is_foreign(j) || j->s.state != JOB_SUSPENDED ||
	    events_files_read(path, "frozen") != 1)
		return;
	clock_freeze(&j->clock, j->s.clock.at_ns);
	j->is_frozen = true;
}

/* A job that cannot be attached keeps running under what the manager and the kernel enforce; a note says that
 * the agent does not guard it. */
static void attach_again(struct node *n, struct job *j)
{
	char path[MANAGER_PATH_MAX];
	struct err err;

	manager_path(n->ops->parent(n->manager), (struct manager_id){ j->s.job, j->s.attempt },
		     path);
	if (access(path, F_OK) < 0) {
		job_attach_remains(n, j); /* it has ended: FINAL reads its record */
		return;
	}
	recover_frozen(j, path);
	if (job_attach(n, j, 0, &err) < 0) {
		log_job(LOG_ERR, j->s.job, "adopt", "%s", err.text);
		job_note(j, "not guarded since the agent came back: %.180s", err.text);
		return;
	}
	job_sync_clock(n, j);
	if (vmem_origin(n->vmem) == VMEM_REBUILT)
		job_note(j,
			 "vmem was not guarded for a time: its kernel side had to be rebuilt");
	log_job(LOG_INFO, j->s.job, "adopt", "found again");
}

static bool is_frozen_by_root(const struct node *n, const struct job *j)
{
	struct events_freeze f;

	return j->is_attached && events_frozen(n->events, j->s.cgroup_id, &f, NULL) >= 0 &&
	       f.frozen;
}

/* The kernel keeps no account of what PBS stops. What its hook has said holds while the job's processes are still stopped: then it was suspended since
 * its last figures were saved. Otherwise PBS has continued it at a time that is not known, and the whole of it is charged. */
static void recover_suspended(struct node *n, struct job *j)
{
	char path[MANAGER_PATH_MAX], work[MANAGER_PATH_MAX + 16];

	if (!job_is_pbs(j) || j->s.state != JOB_SUSPENDED || !j->clock.start_ns)
		return;
	snprintf(work, sizeof(work), "%s/" JOB_WORK_CGROUP, job_cgroup(j, path));
	j->is_stopped = manager_is_stopped(work);
	j->is_frozen = j->is_stopped || is_frozen_by_root(n, j);
	if (j->is_frozen)
		clock_freeze(&j->clock, j->s.clock.at_ns);
	else
		log_job(LOG_NOTICE, j->s.job, "resume",
			"it was suspended, and runs: it counts as running since the agent went away");
}

/* Continues the job at its saved phase, except: after a reboot no unit and no record is left, so the job is lost; a job whose
 * unit is gone goes to FINAL, where its record is read. The phases before UNIT are repeated from the start. */
static void recover_job(struct node *n, struct job *j)
{
	bool is_here = !strcmp(j->s.clock.boot, n->boot) || !j->s.clock.boot[0];
	char path[MANAGER_PATH_MAX];

	if (j->phase > PHASE_PREPARE && j->phase < PHASE_CLEANUP && j->s.unit[0] && !is_here) {
		end_lost(n, j);
	} else if (j->phase == PHASE_RUNNING || j->phase == PHASE_UNIT) {
		if (j->s.unit[0])
			attach_again(n, j);
		recover_suspended(n, j);
		manager_path(n->ops->parent(n->manager),
			     (struct manager_id){ j->s.job, j->s.attempt }, path);
		/* A job of PBS has no cgroup between two tasks on nodes but its first: its hook tells of the end. */
		if (j->phase == PHASE_RUNNING && !job_is_pbs(j) && access(path, F_OK) < 0) {
			j->phase = PHASE_FINAL;
			j->gone_ns = node_now_ns();
		}
	} else if (j->phase == PHASE_FINAL) {
		job_attach_remains(n, j);
	}
	if (j->phase >= PHASE_RUNNING)
		request_shed(&j->s.request);
	job_output_watch(j);
	job_enter_phase(j, j->phase);
}

/* -ENOENT: the host has no cpuset controller, or the file is unreadable. */
static int read_cpulist(const char *path, const char *file, struct cpulist *ret)
{
	char text[CPULIST_TEXT_MAX];

	return manager_read(path, file, text, sizeof(text), NULL) < 0
		       ? -ENOENT
		       : cpulist_parse(text, ret, NULL);
}

/* Start of a process in CLOCK_BOOTTIME, proc(5) "starttime"; 0: it is gone. */
static int64_t read_start_ns(int32_t pid)
{
	char path[64], text[1024], *p;
	long long ticks = 0;

	snprintf(path, sizeof(path), "/proc/%d", pid);
	if (manager_read(path, "stat", text, sizeof(text), NULL) < 0)
		return 0;
	p = strrchr(text, ')'); /* the command may contain blanks */
	for (int field = 3; p && field <= 22; field++)
		p = strchr(p + 1, ' ');
	if (p)
		ticks = strtoll(p, NULL, 10);
	return ticks * (S_NS / sysconf(_SC_CLK_TCK));
}

/* Takes the oldest process of the job for its main one, and the start of that process for the start of the
 * job. Where no process can be read the clock starts now. */
static void find_start(struct job *j, const char *path)
{
	char procs[MANAGER_PATH_MAX + 32];
	_cleanup_fclose_ FILE *f = NULL;
	int64_t first_ns = 0;
	int32_t pid;

	snprintf(procs, sizeof(procs), "%s/work/cgroup.procs", path);
	f = fopen(procs, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		int64_t at_ns = read_start_ns(pid);

		if (at_ns && (!first_ns || at_ns < first_ns)) {
			first_ns = at_ns;
			j->s.pid = pid;
		}
	}
	if (!first_ns)
		first_ns = node_now_ns();
	clock_start(&j->clock, first_ns);
	j->s.clock.started_ns = node_realtime_ns() - (node_now_ns() - first_ns);
}

/* The directory that the lost database pointed to. */
static void find_jobfs(struct node *n, struct job *j)
{
	_cleanup_free_ struct jobfs_job *list = NULL;
	size_t count = 0;

	if (!n->jobfs || jobfs_list(n->jobfs, &list, &count, NULL, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		if (list[i].job == j->s.job && list[i].attempt == j->s.attempt)
			j->s.jobfs = list[i];
}

int job_recover_unknown(struct node *n, struct job *j)
{
	struct manager_id id = { j->s.job, j->s.attempt };
	char path[MANAGER_PATH_MAX], text[32], work[MANAGER_PATH_MAX + 8];

	manager_path(n->ops->parent(n->manager), id, path);
	snprintf(work, sizeof(work), "%s/work", path);
	if (j->s.jobfs.projid || !manager_is_populated(work))
		return 0;
	manager_name(id, j->s.unit);
	read_cpulist(path, "cpuset.cpus.effective", &j->s.cpus);
	read_cpulist(path, "cpuset.mems.effective", &j->s.mem_nodes);
	if (manager_read(path, "memory.max", text, sizeof(text), NULL) == 0)
		j->s.mem_max_bytes = strtoll(text, NULL, 10);
	find_jobfs(n, j);
	find_start(j, path);
	attach_again(n, j);
	job_sync_clock(n, j);
	job_note(j, "found again without the agent's record of it");
	return 1;
}

struct listing {
	struct node *node;
	int n_unknown;
};

/* Out of memory: the unit keeps running and is not listed, so the controller can neither adopt nor refuse it. */
static void note_found(struct node *n, struct manager_id id)
{
	struct manager_id *more =
		realloc(n->found, (n->n_found + 1) * sizeof(struct manager_id));

	if (!more)
		return;
	n->found = more;
	n->found[n->n_found++] = id;
}

static void on_cgroup(void *ctx, struct manager_id id)
{
	struct listing *l = ctx;

	if (job_find(l->node, id.job, id.attempt))
		return;
	l->n_unknown++;
	note_found(l->node, id);
	if (l->node->ops->foreign) {
		log_job(LOG_NOTICE, id.job, "unknown",
			"began under %s before this agent was started: Reeve does not enforce limits on it",
			l->node->ops->foreign);
		return;
	}
	log_job(LOG_WARNING, id.job, "unknown",
		"runs here, but the agent has no record of it; it goes on under systemd's and "
		"the kernel's limits until the controller says what it is");
}

/* True: the unit has ended, or has a job in the table meanwhile. Of one that has ended the final record and the directory are
 * removed here, since no job in the table does it. */
static bool is_over(struct node *n, struct manager_id id)
{
	char path[MANAGER_PATH_MAX];

	if (job_find(n, id.job, id.attempt))
		return true;
	manager_path(n->ops->parent(n->manager), id, path);
	if (access(path, F_OK) == 0)
		return false;
	final_remove(n->final_dir, id.job, id.attempt);
	job_sweep_jobfs(n);
	return true;
}

int job_recover_list_found(struct node *n, struct sync_job **ret, size_t *ret_n)
{
	struct sync_job *list = reallocarray(*ret, n->n_found + 1, sizeof(*list));
	size_t kept = 0;

	if (!list)
		return -ENOMEM;

	for (size_t i = 0; i < n->n_found; i++) {
		struct manager_id id = n->found[i];

		if (is_over(n, id))
			continue;
		list[kept] = (struct sync_job){ .job = id.job, .attempt = id.attempt };
		n->found[kept++] = id;
	}
	n->n_found = kept;
	*ret = list;
	*ret_n = n->ops->foreign
			 ? 0
			 : kept; /* jobs of Slurm and PBS are not the controller's to refuse */
	return 0;
}

void job_recover_drop_found(struct node *n, int64_t job)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->n_found; i++)
		if (n->found[i].job != job)
			n->found[kept++] = n->found[i];
	n->n_found = kept;
}

bool job_recover_is_found(const struct node *n, int64_t job)
{
	for (size_t i = 0; i < n->n_found; i++)
		if (n->found[i].job == job)
			return true;
	return false;
}

int job_recover_refuse(struct node *n, struct manager_id id)
{
	struct err err = { "" };

	for (size_t i = 0; i < n->n_found && !n->ops->foreign; i++) {
		if (n->found[i].job != id.job || n->found[i].attempt != id.attempt)
			continue;
		if (n->ops->signal(n->manager, id, SIGKILL, &err) < 0)
			log_job(LOG_ERR, id.job, "refused", "%s", err.text);
		return 1;
	}
	return 0;
}

/* For prof_prune(): the counts of cgroups that are no attached job's go. */
static bool is_work(void *ctx, uint64_t cgroup_id)
{
	for (struct job *j = ((struct node *)ctx)->jobs; j; j = j->next)
		if (j->is_attached && j->work_id == cgroup_id)
			return true;
	return false;
}

/* The prunes come last: each BPF map has pinned entries of the earlier agent, and only those that no job has
 * attached again may go. */
int job_recover_all(struct node *n, struct err *err)
{
	struct listing l = { .node = n };
	int r = state_load(n->db, on_row, n, err);

	if (r < 0)
		return r;
	for (struct job *j = n->jobs, *next; j; j = next) {
		next = j->next;
		recover_job(n, j);
	}
	if (vmem_origin(n->vmem) == VMEM_REBUILT)
		node_note(n,
			  "vmem was not guarded for a time before this start: its kernel side "
			  "had to be rebuilt");
	r = manager_list(n->ops->parent(n->manager), on_cgroup, &l, err);
	if (l.n_unknown)
		node_note(n, "%d jobs run here of which the agent has no record", l.n_unknown);
	job_gpus_hold(n);
	events_prune(n->events);
	guard_prune(n->guard);
	sample_prune(n->sampler);
	if (n->prof)
		prof_prune(n->prof, is_work, n);
	return r;
}
