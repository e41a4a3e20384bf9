/* sync - the documents of POST /v1/node/sync (docs/protocol.md), made and read.
 *
 * No time, no network: uplink.c does that. What the node is comes from the caller as plain
 * structs; what the controller wants goes back through callbacks.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/admit/admit.h"
#include "agent/report/spool.h"
#include "agent/report/sync_steps.h"
#include "common/model/job.h"
#include "common/wire/sync.h"

struct err;

struct sync_job {
	int64_t job;
	int32_t attempt;
	enum job_state state;
};

struct sync_gpu { /* a device of agent/gpu/gpu.h, as the controller shows it */
	const char *uuid, *model, *product, *vendor;
	int64_t mem_bytes;
	int numa_node; /* -1: not told */
	bool is_simulated, is_partitioned;
	bool is_drained; /* not clean, and no job holds it: not given for now */
};

struct sync_node {
	const char *node, *boot, *version;
	struct admit_capacity capacity, free;
	const char *topology;		  /* "1 socket, 1 NUMA node, 2 cores, 2 threads" */
	const char *node_type, *features; /* NULL or "": not told */
	const struct sync_gpu *gpus;	  /* whole ones and parts; what is free is in `free` */
	size_t n_gpus;
	bool draining;
	int tier;
	const char *const *notes; /* NULL-terminated sentences; NULL: none */
	const struct sync_job *jobs;
	size_t n_jobs;
	const struct sync_job *found; /* run here, but there is no record of them; no state */
	size_t n_found;
	const struct sync_step *steps;
	size_t n_steps;
};

struct sync_chunk {
	int64_t job, step; /* 0: of the job's own output */
	int32_t attempt;
	enum sync_stream stream;
	int64_t offset;	  /* of data[0] in the stream */
	const void *data; /* valid until the next call for a chunk */
	size_t size;	  /* 0 with `end`: nothing more */
	bool end;	  /* the stream is complete with this chunk */
};

struct sync_order {
	int64_t job;
	int32_t attempt;
	enum job_desired want;
	const struct request *request; /* NULL: the node is known to have it */
	const char *credential;	       /* what its user signed of it; NULL: nothing */
	const char *reason;	       /* of a cancel; "" */
	const char *bad; /* a request came but cannot be read: why. The job must be reported
			  * ended, END_FAILED, with these words. Else NULL. */
};

/* What an answer may cause. Each may come again and again: they must be idempotent. All are
 * called from inside the event loop, acks first. Pointers are valid during the call only. */
struct sync_handlers {
	void (*on_want)(void *ctx, const struct sync_order *order);
	/* The final report of this attempt is committed: it may be forgotten. (Interim acks
	 * stay between spool and uplink.) */
	void (*on_settled)(void *ctx, int64_t job, int32_t attempt);
	/* Never given to this node: kill it and forget it. Already out of the spool. */
	void (*on_refused)(void *ctx, int64_t job, int32_t attempt, const char *why);
	/* chunk.offset: the controller has all before it; data is NULL. */
	void (*on_output_ack)(void *ctx, const struct sync_chunk *ack);
	struct sync_step_handlers steps;
};

/* The request document without reports and output; sync_add_* fill them in. NULL: out of
 * memory. Caller owns it. */
json_t *sync_encode(const struct sync_node *node);
int sync_add_output(json_t *doc, const struct sync_chunk *chunk, struct err *err);

/* Reads a whole answer, then acts: acks and refusals in the spool in one transaction, then the
 * callbacks. -EINVAL with the path of the bad key: nothing was done, except that one bad
 * request inside `jobs` is given to on_want with `bad`. A store that fails keeps nothing that
 * is wanted from being done. Else how many acknowledgements (of reports and of output) were in
 * it. */
int sync_apply(const json_t *answer, struct spool *spool, const struct sync_handlers *handlers,
	       void *ctx, struct err *err);
