/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limit.c - a limit was reached: kill, latch the reason, list the processes; see phase/limit.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/job/due.h"
#include "agent/job/phase/limit.h"
#include "agent/job/phase/attach.h"
#include "agent/job/phase/kill.h"
#include "agent/slurm/scontrol.h"
#include "common/log.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/utf8.h"

_Static_assert(CLOCK_NEVER == JOB_DUE_NEVER, "a clock that never ends is never due");

struct limit_hit {
	enum limit_kind limit;
	int64_t requested, reached;
};

/* ---- what all sources share: latch, name the processes, log ---- */

/* false: the job has an end already. Only the first reason counts: later ones are its consequences. */
static bool latch_limit(struct job *j, struct limit_hit h)
{
	struct job_end end = { .kind = END_LIMIT,
			       .exit_status = -1,
			       .reason = { .limit = h.limit,
					   .requested = h.requested,
					   .reached = h.reached,
					   .at_ns = node_realtime_ns() } };

	if (j->s.end.kind != END_NONE)
		return false;
	snprintf(end.reason.host, sizeof(end.reason.host), "%s", j->node->conf->node);
	state_end_set(&j->s, &end);
	return true;
}

/* A process chooses its name, in any bytes (prctl(2), PR_SET_NAME). */
static void copy_name(struct reason_proc *p, const char *comm)
{
	utf8_copy(p->comm, sizeof(p->comm), comm, sizeof(p->comm));
}

/* The processes with the largest address spaces, into the latched reason. n_procs counts all of them, also those that did not
 * fit into the list: the message says how many more there were. */
static void add_processes(struct node *n, struct job *j)
{
	struct vmem_process list[REASON_PROCS_MAX];
	struct reason *why = j->s.end.reason;
	size_t count = 0;

	if (!why || vmem_processes(n->vmem, j->work_id, list, REASON_PROCS_MAX, &count) < 0)
		return;
	why->n_procs = (int32_t)count;
	for (size_t i = 0; i < count && i < REASON_PROCS_MAX; i++) {
		why->procs[i].pid = (int32_t)list[i].pid;
		why->procs[i].bytes = (int64_t)list[i].bytes;
		copy_name(&why->procs[i], list[i].comm);
	}
}

/* The process that exceeded the limit may be gone before the job was listed: name it anyway. */
static void add_offender(struct job *j, const struct vmem_excess *x)
{
	struct reason *why = j->s.end.reason;

	if (!why || why->n_procs || !x->tgid)
		return;
	why->n_procs = 1;
	why->procs[0] = (struct reason_proc){ .pid = (int32_t)x->tgid, .bytes = -1 };
	copy_name(&why->procs[0], x->comm);
}

/* The process that the kernel's event names. `bytes` -1: not known. */
static void add_process(struct job *j, int32_t pid, int64_t bytes, const char *comm)
{
	struct reason *why = j->s.end.reason;

	if (!why || !pid)
		return;
	why->n_procs = 1;
	why->procs[0].pid = pid;
	why->procs[0].bytes = bytes;
	copy_name(&why->procs[0], comm);
}

/* Log the reason now; the end message and the report follow in PHASE_FINAL. */
static void log_limit(struct job *j)
{
	char text[REASON_TEXT_MAX];
	struct job_end end;

	state_end_get(&j->s, &end);
	log_job(LOG_NOTICE, j->s.job, "limit", "%s", reason_format(&end, text, sizeof(text)));
	if (job_is_slurms(j))
		scontrol_comment(j, text);
	job_act_after(j, 0);
}

static struct job *find_by_work(struct node *n, uint64_t cgroup_id)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->is_attached && j->work_id == cgroup_id)
			return j;
	return NULL;
}

static struct job *find_attached(struct node *n, int64_t id)
{
	for (struct job *j = n->jobs; j; j = j->next)
		if (j->is_attached && j->s.job == id)
			return j;
	return NULL;
}

/* ---- events: vmem, mem, jobfs ---- */

/* An address space without an entry in the vmem table is not counted, so its process must not run. */
static void latch_no_room(struct node *n, struct job *j, int64_t n_spaces)
{
	struct vmem_room room;

	if (!latch_limit(j, (struct limit_hit){ LIMIT_PIDS, j->s.request.res.pids, n_spaces }))
		return;
	vmem_room(n->vmem, &room);
	job_note(
		j,
		"a new process of the job found no room in the node's table of address spaces: "
		"the job had %" PRId64 ", all jobs %" PRIu64 " of %" PRIu64,
		n_spaces - 1, room.held_spaces, room.max_spaces);
	add_processes(n, j);
	log_limit(j);
}

/* The program gets ENOMEM, and may say no more than that it failed. */
static void note_refusal(struct job *j, const struct vmem_excess *x)
{
	char more[AMOUNT_TEXT_MAX], sum[AMOUNT_TEXT_MAX], limit[AMOUNT_TEXT_MAX];
	int64_t like = j->s.request.res.vmem_bytes;

	job_note(
		j,
		"vmem limit: %s of %s by process %u (%.16s) was refused with ENOMEM: the job would have "
		"had %s of %s",
		x->operation, amount_format_bytes_like((int64_t)x->requested_bytes, like, more),
		x->tgid, x->comm,
		amount_format_bytes_like((int64_t)x->reached_bytes, like, sum),
		amount_format_bytes_like(like, like, limit));
}

void limit_on_vmem(void *ctx, const struct vmem_excess *x)
{
	struct node *n = ctx;
	struct job *j = find_by_work(n, x->cgroup_id);

	if (!j)
		return;
	if (x->is_no_room) {
		job_kill_now(j);
		latch_no_room(n, j, (int64_t)x->reached_spaces);
		return;
	}
	if (x->is_survived || j->s.request.vmem_policy == VMEM_POLICY_DENY) {
		note_refusal(j, x);
		return;
	}
	job_kill_now(j);
	if (!latch_limit(j, (struct limit_hit){ LIMIT_VMEM, j->s.request.res.vmem_bytes,
						(int64_t)x->reached_bytes }))
		return;
	add_processes(n, j);
	add_offender(j, x);
	log_limit(j);
}

int64_t limit_mem_bytes(const struct job *j)
{
	int64_t requested = j->s.request.res.mem_bytes;

	return requested ? requested : j->s.mem_max_bytes;
}

/* With memory.oom.group the kernel has killed the whole job already; on a kernel without it cgroup.kill does
 * so here. */
void limit_on_oom(void *ctx, const struct events_oom *oom)
{
	struct node *n = ctx;
	struct job *j = find_attached(n, oom->job);

	if (!j)
		return;
	if (job_is_foreign(j)) { /* memory is Slurm's or PBS's to limit, and to end jobs for */
		job_note(j,
			 "out of memory under %s's limit: the kernel ended process %" PRId32
			 " (%.16s)",
			 n->ops->foreign, oom->pid, oom->comm);
		return;
	}
	job_kill_now(j);
	/* The limit that was reached is not the job's own, but one of the node or of a cgroup above the job. */
	if (oom->node_wide || (!oom->own_limit && oom->limit_bytes)) {
		job_fail(j,
			 "the node itself ran out of memory and the kernel ended process "
			 "%" PRId32 " (%.16s) of this job",
			 oom->pid, oom->comm);
		job_act_after(j, 0);
		return;
	}
	if (!latch_limit(
		    j, (struct limit_hit){ LIMIT_MEM, limit_mem_bytes(j),
					   oom->usage_bytes ? (int64_t)oom->usage_bytes : -1 }))
		return;
	add_process(j, oom->pid, oom->victim_rss_bytes ? (int64_t)oom->victim_rss_bytes : -1,
		    oom->comm);
	log_limit(j);
}

/* Names the refused call in the latched reason: the disk itself may have nothing of it. */
static void add_call(struct job *j, const struct guard_quota *q)
{
	static const char *const names[] = {
		[GUARD_BY_WRITE] = "a write", [GUARD_BY_FALLOCATE] = "an fallocate"
	};
	char asked[AMOUNT_TEXT_MAX];
	struct reason *why = j->s.end.reason;

	if (!why || q->call <= GUARD_BY_OTHER || q->call > GUARD_BY_FALLOCATE)
		return;
	if (q->asked_bytes && q->asked_bytes <= INT64_MAX)
		snprintf(why->text, sizeof(why->text), "%s of %s", names[q->call],
			 amount_format_bytes_like((int64_t)q->asked_bytes,
						  j->s.request.res.jobfs_bytes, asked));
	else
		snprintf(why->text, sizeof(why->text), "%s", names[q->call]);
}

/* At least the amount that the job would have had. The kernel has refused any amount above the limit; by now the dead job's deleted
 * files are gone, and of an allocation that is refused as a whole nothing was ever there. */
static int64_t find_reached(struct node *n, const struct job *j, const struct guard_quota *q,
			    int64_t limit)
{
	bool is_files = q->kind == GUARD_INODES;
	int64_t reached = limit;
	struct jobfs_usage u;

	if (n->jobfs && jobfs_usage(n->jobfs, &j->s.jobfs, &u, NULL) == 0 &&
	    (is_files ? u.files : u.bytes) > reached)
		reached = is_files ? u.files : u.bytes;
	if (q->call == GUARD_BY_FALLOCATE && q->asked_bytes <= INT64_MAX &&
	    (int64_t)q->asked_bytes > reached)
		reached = (int64_t)q->asked_bytes;
	return reached;
}

/* Also called by check_jobfs(), with an event that it makes up. */
void limit_on_quota(void *ctx, const struct guard_quota *q)
{
	struct node *n = ctx;
	struct job *j = find_attached(n, q->job);
	struct limit_hit h = { .limit = LIMIT_JOBFS };

	if (!j)
		return;
	job_kill_now(j);
	h.requested = j->s.request.res.jobfs_bytes;
	if (q->kind == GUARD_INODES)
		h = (struct limit_hit){ LIMIT_JOBFS_FILES, j->s.jobfs.limit_files, 0 };
	h.reached = find_reached(n, j, q, h.requested);
	if (!latch_limit(j, h))
		return;
	add_call(j, q);
	add_process(j, q->pid, -1, q->comm);
	log_limit(j);
}

/* ---- events that are noted and end nothing ---- */

void limit_on_denied(void *ctx, const struct guard_denied *d)
{
	struct job *j = find_attached(ctx, d->job);

	if (!j)
		return;
	if (d->deed == GUARD_DID_PTRACE)
		job_note(j,
			 "process %" PRId32 " (%.16s) tried to control process %" PRId32
			 " outside the job: refused",
			 d->pid, d->comm, d->target_pid);
	else
		job_note(j,
			 "process %" PRId32 " (%.16s) tried to change the project id of a "
			 "file: refused",
			 d->pid, d->comm);
}

/* Only root can move a process out of a job, so the job is not killed; but a note says that it happened. */
void limit_on_left(void *ctx, const struct guard_left *l)
{
	struct job *j = find_attached(ctx, l->job);

	if (j && job_is_slurms(j) && l->pid == l->moved_by_pid)
		return; /* slurmstepd leaves its step's cgroup to remove it */
	if (j && !job_has_ended(j))
		job_note(j,
			 "process %" PRId32 " (%.16s) was moved out of the job by process "
			 "%" PRId32 ": it is not held to the limits any more",
			 l->pid, l->comm, l->moved_by_pid);
}

/* ---- no event: checked with each sample ---- */

/* "max" of pids.events counts the forks that the kernel refused since the cgroup was made. */
static void check_pids(struct node *n, struct job *j)
{
	char text[64], path[MANAGER_PATH_MAX];
	int64_t refused;

	if (manager_read(job_cgroup(j, path), "pids.events", text, sizeof(text), NULL) < 0 ||
	    sscanf(text, "max %" SCNd64, &refused) != 1 || refused <= 0)
		return;
	if (n->conf->pids_action == CONFIG_PIDS_CONTAIN) {
		if (!j->s.note)
			job_note(j,
				 "the job reached its limit of %" PRId64
				 " processes and threads; further ones were refused",
				 j->s.request.res.pids);
		return;
	}
	job_kill_now(j);
	if (!latch_limit(j, (struct limit_hit){ LIMIT_PIDS, j->s.request.res.pids,
						j->s.request.res.pids + 1 }))
		return;
	add_processes(n, j);
	log_limit(j);
}

/* Where the kernel sends no event for a full disk, each sample checks it. */
static void check_jobfs(struct node *n, struct job *j)
{
	struct guard_quota q = { .job = j->s.job };
	struct jobfs_usage u;

	if (guard_holds(n->guard) & GUARD_QUOTA_EVENT || !n->jobfs ||
	    jobfs_usage(n->jobfs, &j->s.jobfs, &u, NULL) < 0)
		return;
	if (!u.bytes_full && !u.files_full)
		return;
	q.kind = u.bytes_full ? GUARD_BLOCKS : GUARD_INODES;
	limit_on_quota(n, &q);
}

void limit_check_sampled(struct node *n, struct job *j)
{
	if (j->phase != PHASE_RUNNING || j->s.end.kind != END_NONE)
		return;
	check_pids(n, j);
	if (j->s.end.kind == END_NONE)
		check_jobfs(n, j);
}

/* ---- walltime ---- */

/* No kill here: act_running() sends SIGTERM first (job_terminate()). When the grace after it is over,
 * this is called again, and kills. */
void limit_check_clock(struct node *n, struct job *j)
{
	int64_t limit_s = j->s.request.res.walltime_s, running_ns;

	if (j->phase != PHASE_RUNNING)
		return;
	if (j->is_killing) {
		job_kill_now(j);
		if (job_is_slurms(j))
			scontrol_cancel(j);
		return;
	}
	if (j->gone_ns) { /* nothing is left to be held to it */
		job_due_set(j, DUE_CLOCK, JOB_DUE_NEVER);
		return;
	}
	job_sync_clock(n, j);
	running_ns = clock_running_ns(&j->clock, node_now_ns());
	if (limit_s <= 0 || j->is_frozen || running_ns < limit_s * S_NS) {
		limit_arm_clock(n, j);
		return;
	}
	/* It ended in time while this agent was held up; the record of its end comes. */
	if (!job_is_foreign(j) && !job_has_processes(j)) {
		job_due_set(j, DUE_CLOCK, node_now_ns() + S_NS);
		return;
	}
	if (latch_limit(j, (struct limit_hit){ LIMIT_WALLTIME, limit_s, running_ns / S_NS })) {
		add_processes(n, j);
		log_limit(j);
	}
}

/* While a kill is under way DUE_CLOCK belongs to the grace between SIGTERM and SIGKILL (job_terminate()). */
void limit_arm_clock(struct node *n, struct job *j)
{
	(void)n;
	if (!j->is_killing)
		job_due_set(j, DUE_CLOCK,
			    clock_deadline_ns(&j->clock, j->s.request.res.walltime_s));
}

/* ---- the agent was away ---- */

/* The kernel side latched the excess: the next dispatch delivers it, or it was delivered and the agent died before it
 * could save the reason. */
void limit_read_latches(struct node *n, struct job *j)
{
	struct vmem_usage u;

	if (j->is_attached)
		vmem_dispatch(n->vmem, NULL); /* delivers what is latched */
	if (j->s.end.kind != END_NONE || !j->is_attached ||
	    vmem_read(n->vmem, j->work_id, &u, NULL) < 0 || !u.is_exceeded)
		return;
	if (u.is_no_room) {
		latch_no_room(n, j, (int64_t)u.n_processes + 1);
		return;
	}
	if (u.is_survived || j->s.request.vmem_policy == VMEM_POLICY_DENY)
		return;
	/* The peak does not include a refused amount. */
	latch_limit(j, (struct limit_hit){ LIMIT_VMEM, j->s.request.res.vmem_bytes,
					   (int64_t)(u.peak_bytes > u.limit_bytes
							     ? u.peak_bytes
							     : u.limit_bytes) });
	add_processes(n, j);
}
