/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job.h - one attempt of a job on this node, from its first desired state to the acknowledged final report.
 *
 *	PREPARE   admit, choose cores, make jobfs
 *	UNIT      its unit is started; the launcher in it asks for the plan (handshake/handshake.c)
 *	RUNNING   the user's program runs, or is suspended, or is being ended
 *	FINAL     the unit has ended: final record, last figures, end message
 *	DRAIN     the controller still reads output (`reeve run`)
 *	CLEANUP   the job's directory is removed
 *	REPORT    the final report is in the spool
 *
 * The phase is saved before it is acted on (synced, where a power cut could otherwise start a job twice or lose its end), and each act is idempotent: an agent that dies at any point continues at
 * the saved phase. A job that cannot be saved is not started, but it is still ended (job/save.h). No act blocks:
 * what takes time completes in the event loop and calls job_enter_phase().
 */
#pragma once
#include "agent/enforce/clock.h"
#include "agent/node.h"

enum job_phase {
	PHASE_PREPARE,
	PHASE_UNIT,
	PHASE_RUNNING,
	PHASE_FINAL,
	PHASE_DRAIN,
	PHASE_CLEANUP,
	PHASE_REPORT,
	_PHASE_MAX,
};

enum job_pause { /* which part of suspending or resuming is in progress */
		 PAUSE_NONE,
		 PAUSE_FREEZING,
		 PAUSE_CPUS, /* new cores are being set */
		 PAUSE_THAWING,
};

enum job_due {
	DUE_ACT,    /* its phase is to be acted on */
	DUE_CLOCK,  /* walltime, or the grace between TERM and KILL, may be over */
	DUE_REPORT, /* that it starts or runs is to be reported, unless it ends before */
	_DUE_MAX
};
#define JOB_DUE_NEVER INT64_MAX

struct job_stream {
	int64_t acked; /* the controller has all before this */
	bool ended;    /* and knows that nothing follows */
	sd_event_source *watch;
};

struct handshake;
struct gpu_meter;
struct signed_start;

#define JOB_NOTE_MAX 256

struct job {
	struct job *next;
	struct node *node;
	struct state_attempt s; /* what survives the agent */
	enum job_phase phase;
	enum job_desired order;
	struct clock clock;
	uint64_t work_id; /* cgroup of the user's processes, inside that */
	int kill_fd;	  /* its cgroup.kill, opened beforehand; -1 */
	bool is_attached; /* vmem, events, guard and sampler have it */
	bool is_frozen;	  /* by the agent or by root */
	bool is_stopped; /* agent/pbs: since it was suspended all its processes were seen stopped */
	enum job_pause pause;
	bool is_told_to_wait; /* a note says why it does not start or resume yet */
	bool is_executed;     /* the launcher has become the user's program */
	bool is_begun;	      /* its clock is armed and its output watched */
	bool is_killing;      /* TERM or KILL was sent */
	bool is_removing;     /* jobfs removal is under way */
	bool is_stored;	      /* the store has a row of it */
	bool is_saved;	      /* for the act that is due, with `saved_end`; job/together.h */
	bool is_reported;     /* and so is the report that the act begins with */
	enum job_end_kind saved_end;
	bool is_commenting;	 /* agent/slurm: scontrol is writing the reason to slurmctld */
	bool has_foreign_status; /* this agent has received foreign_status */
	int foreign_status; /* of a job of Slurm or PBS: of its last task that ended, as wait(2) gives it */
	int64_t gone_ns; /* its processes were found gone, by CLOCK_BOOTTIME; 0: not so */
	int64_t waits_until_ns; /* deadline of DRAIN, or of waiting for a final record */
	int64_t reported_ns;	/* CLOCK_BOOTTIME of the last report */
	int64_t alive_ns; /* CLOCK_BOOTTIME of the last report that found it with processes */
	int64_t series_sent_ns; /* CLOCK_BOOTTIME of the last report with its series; 0: none */
	int64_t series_interval_ms; /* of its points; 0: none was added by this agent */
	int64_t report_seq;	    /* sequence number of that; 0: none by this agent */
	int64_t unsaved_ns; /* CLOCK_BOOTTIME since which it could not be saved; 0: it is */
	struct job_stream streams[2];
	struct signed_start *start; /* owned; stored with the first save; job/signed.h */
	struct handshake *handshake;
	uint64_t gpus;		  /* allocated to it, as bits; gpus/gpus.h */
	struct gpu_meter *meter;  /* owned; its use of them; NULL: none */
	int64_t due_ns[_DUE_MAX]; /* job/due.h; 0: not set */
};

const char *job_phase_name(enum job_phase phase);
int job_phase_parse(const char *name, enum job_phase *ret);

/* The table. */
struct job *job_new(struct node *n, int64_t id, int32_t attempt);
/* `attempt` 0: the one that has not ended; slurmd's cgroups do not name it. */
struct job *job_find(struct node *n, int64_t id, int32_t attempt);
/* Another program starts the jobs of this node and owns their processes (agent/foreign): Slurm, or PBS. */
static inline bool job_is_foreign(const struct job *j)
{
	return j->node->ops->foreign != NULL;
}
/* Engine=slurm; agent/slurm. */
static inline bool job_is_slurms(const struct job *j)
{
	return j->node->ops == &manager_slurm;
}
/* Engine=pbs; agent/pbs. */
static inline bool job_is_pbs(const struct job *j)
{
	return j->node->ops == &manager_pbs;
}
/* The attempt of this job that is in PHASE_RUNNING. */
struct job *job_find_running(struct node *n, int64_t id);
void job_free(struct job *j);
/* All jobs as a sync lists them, in the malloc()ed `*ret`, which may be an earlier list. One that is not stored yet is left out:
 * an agent that is restarted does not know it, and what was listed would count as lost. -ENOMEM leaves `*ret` as it was. */
int job_list(const struct node *n, struct sync_job **ret, size_t *ret_n);

/* Enter a phase: the job is saved, then the phase is acted on, from the event loop. */
void job_enter_phase(struct job *j, enum job_phase phase);
/* Save the job and act on its present phase again, from the event loop, `delay_ms` from now. */
void job_act_after(struct job *j, unsigned delay_ms);

/* A part of a job whose command runs on another node: on this node its unit only holds steps. */
bool job_is_sister(const struct job *j);

/* The state as reports and people see it. */
enum job_state job_state(const struct job *j);
bool job_has_ended(const struct job *j); /* PHASE_FINAL or later */
/* Is there any process in its cgroup? Also true where the kernel does not say (no cgroup.events). */
bool job_has_processes(const struct job *j);
/* Now, or when its processes were found gone: up to then it ran. CLOCK_BOOTTIME. */
int64_t job_now_ns(const struct job *j);
/* Record how the job ends: `kind` and the text of its end message. */
void job_latch_end(struct job *j, enum job_end_kind kind, const char *text);
/* Record END_FAILED with a reason, unless an end is recorded already. */
void job_fail(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A note for the job's report; it replaces the note before. */
void job_note(struct job *j, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Merge further figures into the usage of the job: counters and peaks only grow. */
void job_merge_usage(struct job *j, const struct usage *u);
/* Absolute path of the unit's cgroup, whether it exists or not. */
const char *job_cgroup(const struct job *j, char buf[static MANAGER_PATH_MAX]);
/* "DIR/JOB-ATTEMPT/NAME" in the job's jobfs; `name` "": the directory itself. NULL: the job has no directory. */
const char *job_file(const struct job *j, const char *name, char *buf, size_t size);
