/* parts - jobs on several nodes: what an attempt has of each of them. Part of the
 * contract of store.h; docs/protocol.md, "Jobs on several nodes", has the rules.
 *
 * Every part has a row, part 0 too. What the node of a part says of the attempt goes to that
 * row: reports by a `seq` of its own, so that repeats, gaps and late ones change nothing. The
 * attempt's time and end are those of part 0, its usage is the sum over the parts, at every
 * moment, also when the last word of a part comes after that of part 0.
 *
 * The first part that ends otherwise than by order while the attempt is open brings the job
 * down: its end is kept as the attempt's verdict, cancelling the job is wished, and where part
 * 0 then ends by that order the verdict is the job's end. A verdict that is a lost node queues
 * a job again that asked for it.
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/ledger/jobs/array.h"

/* A part as people see it. */
struct store_part_row {
	int32_t part;
	enum job_state state;
	struct store_part share;
	const char *cpus, *usage, *gpus, *end, *note; /* JSON; or NULL */
	int64_t started_ns, ended_ns;		      /* 0: not yet */
	int64_t running_ns, suspended_ns;
};
typedef int (*store_part_row_fn)(void *ctx, const struct store_part_row *p, struct err *err);
struct store_whose {
	int64_t job;
	int32_t attempt;
};
/* The parts of an attempt, part 0 first; none of one that is on one node. */
int store_parts(struct store *s, struct store_whose of, store_part_row_fn fn, void *ctx,
		struct err *err);

/* The nodes on which the job has something that is not closed, of any attempt: those to be
 * woken when something is wished of it, or became of it. */
int store_job_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		    struct err *err);
