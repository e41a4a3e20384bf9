/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps - what is started inside running jobs (`reeve exec`): who wants which step on
 * which node, and what became of it. Part of the contract of store.h.
 *
 * Steps of a job are numbered from 1. A step is wanted until its node shows it running, runs
 * until its node says how it ended, and is over with its node's part of the job at the latest.
 */
#pragma once
#include "controller/ledger/store.h"

#define STORE_STEPS_MAX SYNC_STEP_MAX /* of a job, all in all */
#define STORE_STEPS_OPEN_MAX 1000     /* of a job, that have not ended */
/* Output of all steps of an attempt, of which no more than STORE_OUTPUT_MAX of one stream. */
#define STORE_STEPS_OUTPUT_MAX (256LL << 20)

struct store_steps_new {
	int64_t job, now_ns;
	const char *const *nodes;
	size_t n_nodes;
	const char *spec; /* JSON: argv, env, workdir */
};
#define STORE_STEPS_NOT_RUNNING 1  /* the job neither runs nor is suspended, or is cancelled */
#define STORE_STEPS_NOT_ITS_NODE 2 /* *ret_first is then the index of that node */
#define STORE_STEPS_TOO_MANY 3
#define STORE_STEPS_TOO_OPEN 4
#define STORE_STEPS_TOO_MUCH                                                                   \
	5 /* beyond what the user may have in the ledger: jobs/stored.h                       \
	   */
/* One step for each of the nodes, all or none; *ret_first is the number of the first one's.
 * -ENOENT: no such job. */
int store_steps_add(struct store *s, const struct store_steps_new *n, int64_t *ret_first,
		    struct err *err);

/* The nodes that the job has now, in the order of its parts, by commas. malloc()ed. */
int store_steps_nodes(struct store *s, int64_t job, char **ret, struct err *err);

/* On disk as numbers. */
enum store_step_state { STORE_STEP_WANTED, STORE_STEP_RUNS, STORE_STEP_ENDED };
enum store_step_want { STORE_STEP_RUN, STORE_STEP_CANCEL };
struct store_step {
	int64_t job, step;
	int32_t attempt;
	const char *node;
	enum store_step_state state;
	bool is_cancelled;	 /* it is to end */
	int exit_status, signal; /* of one that ended; -1: not known; 0: none */
	const char *text;	 /* why it did not start, or is not known; or "" */
};
typedef int (*store_step_fn)(void *ctx, const struct store_step *t, struct err *err);
/* In the order of their numbers, from the first one behind `after` on; at most `limit`. */
struct store_steps_range {
	int64_t job, after, limit;
};
int store_steps(struct store *s, struct store_steps_range range, store_step_fn fn, void *ctx,
		struct err *err);
/* Those of a node that have not ended, in the order of job and number. */
int store_steps_open(struct store *s, const char *node, store_step_fn fn, void *ctx,
		     struct err *err);
/* What it was asked to run. malloc()ed. -ENOENT. */
int store_steps_spec(struct store *s, int64_t job, int64_t step, char **ret, struct err *err);

/* Where a step is and whose: for its console. */
struct store_step_place {
	struct sync_step_id id;
	uint32_t uid;
	const char *node,
		*address; /* the node's, as it was last heard from; valid in the callback */
	enum store_step_state state;
	bool is_interactive; /* it was started with a console */
	bool is_pty;
	bool keeps; /* it continues when its terminal is lost */
};
typedef int (*store_step_place_fn)(void *ctx, const struct store_step_place *p,
				   struct err *err);
/* Of a job and a number; the attempt of `at` does not count. -ENOENT: no such step. */
int store_steps_place(struct store *s, struct sync_step_id at, store_step_place_fn fn,
		      void *ctx, struct err *err);

/* Output of steps that follow one another, in the order in which it came. */
struct store_steps_span {
	int64_t job, first, last;
	int64_t since; /* what has come after this; 0: all of it */
};
struct store_steps_chunk {
	int64_t step;
	enum sync_stream stream;
	const void *data;
	size_t size;
};
typedef int (*store_steps_chunk_fn)(void *ctx, const struct store_steps_chunk *c,
				    struct err *err);
/* About 256 KiB at most. span->since becomes that from which to read on. 1: the steps have
 * ended, and this was the last of it. -ENOENT: one of them is none. */
int store_steps_output(struct store *s, struct store_steps_span *span, store_steps_chunk_fn fn,
		       void *ctx, struct err *err);

/* The step is to end. STORE_TOO_LATE: it has. -ENOENT: no such step. */
int store_steps_cancel(struct store *s, int64_t job, int64_t step,
		       char ret_node[REQUEST_NAME_MAX], struct err *err);

/* In the transaction under way: what the node says of its steps, sorted as sync.h says. Ends
 * are added to out->step_acks. A step that runs there and is not listed any more has ended. */
int store_steps_take(struct store *s, const struct sync *in, int64_t now_ns,
		     struct sync_result *out, struct err *err);
/* In the transaction under way: ends the steps of a job on nodes that it has no more. */
int store_steps_close(struct store *s, int64_t job, int64_t now_ns, struct err *err);
