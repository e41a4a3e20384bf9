/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_batch - both documents of POST /v1/slurm/jobs (docs/protocol.md): what reeve-slurm tells of the jobs of a
 * cluster of Slurm, and how far the controller has them.
 *
 * The one declaration, for reeve-slurm, which encodes the batch, and for the controller, which decodes it. It includes
 * nothing of common/model/job.h: the words of <slurm/slurm.h> are the same as there (JOB_RUNNING).
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"
#include "common/model/request.h"

struct err;

#define SLURM_BATCH_MAX 1000	       /* jobs of one document */
#define SLURM_BATCH_PRESENT_MAX 100000 /* attempts that slurmctld has running */
#define SLURM_BATCH_WANTED_MAX 200     /* of one answer */
#define SLURM_BATCH_NODES_MAX 1024     /* bytes of a list of nodes: a longer one is cut */
#define SLURM_BATCH_TIME_MAX (INT64_C(1) << 33) /* year 2242 */
#define SLURM_BATCH_NO_TASK (-1)

/* The states of Slurm's jobs. SUSPENDED and those before it have not ended. The numbers are stored: slurm_attempts.state. */
enum slurm_batch_state {
	SLURM_BATCH_PENDING,
	SLURM_BATCH_RUNNING,
	SLURM_BATCH_SUSPENDED,
	SLURM_BATCH_COMPLETED,
	SLURM_BATCH_CANCELLED,
	SLURM_BATCH_FAILED,
	SLURM_BATCH_TIMEOUT,
	SLURM_BATCH_NODE_FAIL,
	SLURM_BATCH_PREEMPTED,
	SLURM_BATCH_BOOT_FAIL,
	SLURM_BATCH_DEADLINE,
	SLURM_BATCH_OUT_OF_MEMORY,
	SLURM_BATCH_REQUEUED,
	SLURM_BATCH_REVOKED, /* of a federation: another cluster runs it */
	SLURM_BATCH_UNKNOWN,
	_SLURM_BATCH_STATE_MAX,
};
const char *slurm_batch_state_name(enum slurm_batch_state s); /* "completed" ... */

/* Which daemon said it. */
enum slurm_batch_source {
	SLURM_BATCH_SLURMCTLD,
	SLURM_BATCH_SLURMDBD,
	_SLURM_BATCH_SOURCE_MAX
};

/* One attempt of a job. Times are Slurm's: whole seconds of real time, 0: none. What is not known: 0, "" or -1. */
struct slurm_batch_job {
	int64_t job; /* the whole id: in a federation bits 26 to 31 name the cluster it was submitted on */
	int64_t attempt; /* restarts + 1; 0: not known (slurmdbd does not keep it) */
	int64_t uid;	 /* -1: not known */
	enum slurm_batch_state state;
	char user[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX],
		qos[REQUEST_NAME_MAX], name[REQUEST_NAME_MAX];
	char nodes[SLURM_BATCH_NODES_MAX]; /* "n[1-3]" */
	char node[REQUEST_NAME_MAX];	   /* the first of them */
	char gpu_model[REQUEST_NAME_MAX];
	int64_t ncpus, n_nodes, ngpus, mem_bytes; /* of all nodes */
	int64_t walltime_s;			  /* 0: none, or unlimited */
	int64_t submit_s, start_s, end_s, suspended_s;
	int64_t exit_status, signal;
	int64_t array_job, array_task; /* array_job 0: of no array */
	int64_t het_job, het_offset;   /* het_job 0: of no heterogeneous job */
	bool by_agent; /* of the ledger's own rows: an agent reported it, in milliseconds */
};

/* An attempt that slurmctld has, running or suspended. */
struct slurm_batch_present {
	int64_t job, attempt;
};

struct slurm_batch {
	char cluster[REQUEST_NAME_MAX];
	enum slurm_batch_source source;
	int64_t at_s; /* when Slurm said it, by Slurm's clock */
	/* Of slurmdbd: all that had ended before this time was sent, this document included. 0: nothing is said. */
	int64_t mark_s;
	/* Of slurmctld, in the last document of a round: `present` has every attempt that it has. */
	bool is_whole;
	int64_t age_ms;	  /* with is_whole: since slurmctld was asked, 1 or more; 0: not said */
	int64_t asked_ns; /* of the sender, CLOCK_MONOTONIC, for age_ms; 0: not said */
	struct slurm_batch_job *jobs;
	struct slurm_batch_present *present;
	size_t n_jobs, n_present;
};

/* The answer. */
struct slurm_batch_answer {
	int64_t mark_s; /* as it is committed; 0: there is none yet */
	int64_t n_changed;
	struct slurm_batch_present
		*wanted; /* attempts that slurmctld lost: what does slurmdbd say? */
	size_t n_wanted;
};

/* Whole documents, owned by the caller. -ENOMEM. */
int slurm_batch_encode(const struct slurm_batch *b, json_t **ret, struct err *err);
int slurm_batch_encode_answer(const struct slurm_batch_answer *a, json_t **ret,
			      struct err *err);
/* -EINVAL names the key that is wrong ("jobs[3].start_s"); -ENOMEM. */
int slurm_batch_decode(const json_t *doc, struct slurm_batch **ret, struct err *err);
int slurm_batch_decode_answer(const json_t *doc, struct slurm_batch_answer *ret,
			      struct err *err);
struct slurm_batch *slurm_batch_free(struct slurm_batch *b);
DEFINE_CLEANUP(struct slurm_batch *, slurm_batch_free)
void slurm_batch_answer_done(struct slurm_batch_answer *a);
