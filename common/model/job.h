/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job - states of a job, how it ended, and its end message.
 *
 * Pure. The same sentence (reason_format) goes to the job's error file, the journal, the
 * controller and `reeve job`.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/model/gpu_use.h"
#include "common/model/request.h"
#include "common/model/usage.h"

enum job_state {
	JOB_QUEUED,
	JOB_STARTING, /* allocated and sent to a node, not yet running */
	JOB_RUNNING,
	JOB_SUSPENDED,
	JOB_ENDING, /* being killed or cleaned up */
	JOB_ENDED,
	_JOB_STATE_MAX,
};
const char *job_state_name(enum job_state s); /* "queued" ... */
int job_state_parse(const char *name, enum job_state *ret);

/* What the controller wants of a job on a node. The numbers are stored: jobs.want of the ledger. */
enum job_desired { DESIRED_RUN, DESIRED_SUSPEND, DESIRED_CANCEL, _DESIRED_MAX };
const char *job_desired_name(enum job_desired d); /* "run" "suspend" "cancel" */
/* -EINVAL: none of them. */
int job_desired_parse(const char *name, enum job_desired *ret);

enum job_end_kind {
	END_NONE,	/* not ended */
	END_EXITED,	/* by itself; exit_status */
	END_SIGNALED,	/* by a signal that Reeve did not send; signal */
	END_LIMIT,	/* killed by Reeve for exceeding `reason.limit` */
	END_CANCELLED,	/* by user or operator */
	END_FAILED,	/* could not be started; reason.text says why */
	END_NODE_LOST,	/* the node went away (rebooted) under it */
	END_DEPENDENCY, /* a job that it waited for did not end as it had to */
	_END_MAX,
};
const char *job_end_kind_name(enum job_end_kind k); /* "exited" "signaled" "limit" ... */
int job_end_kind_parse(const char *name, enum job_end_kind *ret);

enum limit_kind {
	LIMIT_NONE,
	LIMIT_NCPUS,
	LIMIT_VMEM,
	LIMIT_MEM,
	LIMIT_JOBFS,
	LIMIT_JOBFS_FILES, /* inodes */
	LIMIT_WALLTIME,
	LIMIT_PIDS,
	LIMIT_NGPUS,
	_LIMIT_MAX,
};
const char *limit_kind_name(enum limit_kind k); /* "vmem" ... */
int limit_kind_parse(const char *name, enum limit_kind *ret);

#define REASON_PROCS_MAX 10
#define REASON_TEXT_MAX 2048
#define REASON_NODE_TEXT_MAX                                                                   \
	256 /* reason.text of a node: controllers before this one read no more */

struct reason_proc {
	int32_t pid;
	int64_t bytes; /* virtual size for vmem, resident for mem; -1: not known */
	char comm[16];
};

struct reason {
	enum limit_kind limit;
	int64_t requested,
		reached; /* bytes, seconds or count as the limit has it; -1 unknown */
	int64_t at_ns;	 /* real time */
	char host[REQUEST_NAME_MAX];
	int32_t n_procs; /* processes of the job at that moment; procs[] holds the largest */
	struct reason_proc procs[REASON_PROCS_MAX];
	/* END_FAILED, END_CANCELLED, END_NODE_LOST: the words. END_LIMIT: the call that was refused, "" if there
	 * was none. */
	char text[768];
};

struct job_end {
	enum job_end_kind kind;
	int32_t exit_status; /* of the main process; -1 unknown */
	int32_t signal;	     /* 0: none */
	struct reason reason;
};

/* One sentence and, when there are processes, a table of pid, size and command below it:
 * "vmem limit exceeded on n1 at 2026-11-21 10:12:03 UTC: requested 1.00 GiB, reached 1.25 GiB
 *  (+256 MiB); the job was killed.", or "... reached 1.25 GiB by a write of 300 MiB; ..." Ends without newline. Never fails; cut at size. */
const char *reason_format(const struct job_end *end, char *buf, size_t size);
/* The first line of it alone. */
const char *reason_format_line(const struct job_end *end, char *buf, size_t size);
/* Raises the peaks of *u to the amount that a limit's end states as reached: the kernel's count at that moment, or the amount it would have
 * counted if it had not refused it. */
void job_end_raise_peaks(const struct job_end *end, struct usage *u);
/* What `reeve run` exits with: the status; 128+signal; 137 for a limit other than walltime,
 * 143 for walltime and cancel, 125 for a failure to start or a lost node. */
int job_end_exit_code(const struct job_end *end);

/* What an agent reports of one attempt of a job. Cumulative, so that repeats, gaps and late
 * arrivals are harmless; `seq` grows with every report of the attempt, across agent restarts
 * and boots. */
struct report {
	int64_t job;
	int32_t attempt;
	int64_t seq;
	int64_t at_ns; /* real time on the node; for people only */
	enum job_state state;
	int64_t started_ns, ended_ns;	  /* real time, 0: not yet */
	int64_t running_ns, suspended_ns; /* by the monotonic clock, cumulative */
	struct usage usage;
	struct job_end end; /* kind END_NONE until state is JOB_ENDED */
	char cpus[256];	    /* its cores, as a list: "2-5,8" */
	char note[256];	    /* e.g. an interval in which a limit was not guarded */
	/* Its GPUs, at most GPU_USE_MAX. The encoder only reads them; the decoder allocates them,
	 * report_done() frees them. */
	struct gpu_use *gpus;
	int32_t n_gpus;
	/* How its use went (model/series/series.h), encoded; malloc()ed, report_done() frees it. NULL: not in this report. */
	void *series;
	size_t series_size;
};
void report_done(struct report *r);
