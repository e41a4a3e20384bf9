/* SPDX-License-Identifier: GPL-2.0-or-later */
/* multinode - jobs on several nodes: what an attempt has on each of them, its parts. Part of the
 * contract of store.h; docs/protocol.md, "Jobs on several nodes", has the rules.
 *
 * Every part has a row, part 0 (the first node's) too. What the node of a part reports of the attempt
 * goes to that row, with a `seq` of its own, so that repeated and late reports change nothing. The
 * attempt's time and end are those of part 0. Its usage is at every moment the sum over the parts,
 * also when the final report of a part comes after that of part 0.
 *
 * When a part ends while the attempt is open and was not cancelled, its end becomes the attempt's
 * verdict and the job is cancelled on its other nodes. Where part 0 then ends as cancelled, the
 * verdict is the job's end. A verdict of a lost node queues a job again whose request asks for it.
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
int store_list_parts(struct store *s, struct store_whose of, store_part_row_fn fn, void *ctx,
		     struct err *err);

/* The nodes on which an attempt or a part of the job is open: those to be woken when its desired state
 * or its state has changed. */
int store_job_nodes(struct store *s, int64_t job, store_node_name_fn fn, void *ctx,
		    struct err *err);
