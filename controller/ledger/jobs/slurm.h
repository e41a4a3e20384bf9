/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm - jobs that Slurm starts and agents report: their numbers in the ledger, and their rows.
 *
 * Slurm's job id is unique in its cluster alone, and begins again at 1 after 67,043,328. In the ledger such a job has the number
 *
 *	origin << 40 | generation << 26 | id
 *
 * with the origin of its cluster, as imported jobs have it (import/import.h). A number in a sync document is Slurm's id; store_ingest() puts
 * ledger numbers in their place, and what is answered to the node is translated back with store_slurm_id().
 *
 * Jobs of PBS come the same way, and have the number origin << 40 | PBS's (common/model/pbs/id.h), which leaves no room for a generation: the next one
 * has an origin of its own, "CLUSTER #2".
 *
 * An id that comes again is another job, of the next generation, when it has another owner, or when the job on record has ended and
 * this one started later without being its next attempt. The attempt is Slurm's count of restarts + 1: a job that Slurm requeues keeps
 * its number. A slurmctld that dies before it has saved a start starts the same attempt again: that run is of the next generation, and
 * gets Slurm's row; the run before stays as its agent reported it.
 *
 * A job on several nodes has a part on each node that ran a task of it (attempts/multinode.h); part 0, whose time is the job's, is that of
 * the node that reported first. What the job requested is counted for all its nodes, as its Prolog has them. A part that ends
 * otherwise than by a limit does not end the job: Slurm decides that.
 *
 * Where reeve-slurm follows the cluster (slurm/batch.h), the row is made of what slurmctld says: the amounts of all nodes. So an
 * agent's first report waits for it, for STORE_SLURM_FOLLOWED_NS at most.
 */
#pragma once
#include "common/model/pbs/id.h"
#include "common/time_units.h"
#include "common/wire/sync.h"
#include "controller/ledger/store.h"

struct err;
struct slurm_batch_job;

#define STORE_SLURM_FROM (INT64_C(1) << 40) /* the numbers of other jobs are smaller */
#define STORE_SLURM_GENERATIONS (1 << 14)

static inline bool store_is_slurm(int64_t job)
{
	return job >= STORE_SLURM_FROM;
}

/* Slurm's id of a job with such a number. */
static inline int64_t store_slurm_id(int64_t job)
{
	return job & SYNC_SLURM_ID_MAX;
}

/* PBS's number of a job with such a number. */
static inline int64_t store_pbs_id(int64_t job)
{
	return job & PBS_NUMBER_MAX;
}

static inline int64_t store_slurm_number(int64_t origin, int32_t generation, int64_t id)
{
	return origin << 40 | (int64_t)generation << SYNC_SLURM_ID_BITS | id;
}

#define STORE_SLURM_NOTE_MAX 384
/* reeve-slurm follows a cluster as long as it was heard of within this. */
#define STORE_SLURM_FOLLOWED_NS (5 * MIN_NS)

/* Fills in the price of a new job, and what its owner is to know of it ("": nothing). */
typedef int (*store_slurm_price_fn)(void *ctx, struct store_new *job,
				    char note[static STORE_SLURM_NOTE_MAX], struct err *err);

/* What sync_from has of a node of a Slurm cluster. */
struct store_slurm {
	struct sync *doc; /* the document that is stored: its numbers are translated in place */
	bool is_pbs;
	store_slurm_price_fn price;
	void *ctx;
};

/* What a node says of a job, with the number of its cluster. */
struct store_slurm_case {
	const struct sync_slurm_job *told;
	const char *cluster, *node;
	enum job_state state;
	bool has_ended; /* `state` is what it was before */
	bool is_pbs;
	int64_t origin, now_ns;
	const struct store_slurm *how;
	/* The same as Slurm itself has it, of all its nodes; NULL: an agent says it. */
	const struct slurm_batch_job *row;
	bool is_unstarted; /* of such a row: the job never ran, and gets no attempt */
	bool is_another;   /* of such a row: the job on record by this id is another one */
};

/* The number of the origin of a cluster, made where there is none. All of these in the transaction under way. */
int store_slurm_origin(struct store *s, const char *cluster, int64_t *ret, struct err *err);
/* The number of the job that the ledger knows by this id, of its last generation. 0: it knows none. */
int store_slurm_find(struct store *s, int64_t origin, int64_t id, int64_t *ret,
		     struct err *err);
/* The same by the name of the cluster, also outside a transaction. */
int store_slurm_known(struct store *s, const char *cluster, int64_t id, int64_t *ret,
		      struct err *err);
/* The same for PBS's number of a job. */
int store_pbs_known(struct store *s, const char *cluster, int64_t id, int64_t *ret,
		    struct err *err);
/* Finds the job that the node speaks of, or makes it, and its attempt. One whose node has run no task yet is not made: another node of
 * the job may. *ret_job 0: there is none. */
int store_slurm_adopt(struct store *s, const struct store_slurm_case *c, int64_t *ret_job,
		      struct err *err);
/* The request and the terms of a new job, and what its owner is to know of them ("": nothing). *ret refers to *ret_request, which
 * needs request_done(), also after an error. Writes nothing. */
int store_slurm_describe(const struct store_slurm_case *c, struct request *ret_request,
			 struct store_new *ret, char note[static STORE_SLURM_NOTE_MAX],
			 struct err *err);
/* When it was submitted, and when it was allocated to its node: not in the future, and at most 366 days ago. */
int64_t store_slurm_submitted(const struct store_slurm_case *c);
int64_t store_slurm_given(const struct store_slurm_case *c);
/* Once for each job and node: a line that `reeve job` shows. */
int store_slurm_note(struct store *s, const struct store_slurm_case *c, int64_t job,
		     const char *text, struct err *err);
/* All of them, one sentence after the other. 1: there is one. */
#define STORE_SLURM_NOTED_MAX 1024
int store_slurm_noted(struct store *s, int64_t job, char ret[static STORE_SLURM_NOTED_MAX],
		      struct err *err);

/* First of an exchange of a node of a Slurm cluster: makes the jobs that are new, and translates the numbers of from->slurm->doc. What
 * belongs to no job of this node is taken out of the document: it would be refused, and a refusal kills the job. */
int store_slurm_take(struct store *s, const struct sync_from *from, struct sync_result *out,
		     struct err *err);
