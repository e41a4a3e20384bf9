/* SPDX-License-Identifier: GPL-2.0-or-later */
/* part - one part of an attempt on several nodes (attempts/multinode.h), as reports and lists of
 * its node change it. For the ledger's own files; all in the transaction under way.
 */
#pragma once
#include "common/time_units.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/store_sqlite.h"

struct store_part_known {
	int64_t job;
	int32_t attempt, part;
	char node[REQUEST_NAME_MAX];
	enum job_state state;
	enum store_closed closed;
	int64_t seq, at_ns, started_ns, ended_ns, running_ns, suspended_ns;
	struct usage usage; /* of this node alone */
};
/* The part that the node has. 1; 0: it has none. */
int store_part_load(struct store *s, const struct report *key, const char *node,
		    struct store_part_known *ret, struct err *err);
/* Usage as it is on disk; "": none. */
int store_usage_decode(const char *text, struct usage *ret, struct err *err);
/* What all parts used: the others' as they are on disk, and p's. */
int store_part_sum(struct store *s, const struct store_part_known *p, struct usage *ret,
		   struct err *err);
/* Merges the report into *p, and writes p. */
int store_part_take(struct store *s, struct store_part_known *p, const struct report *rep,
		    struct err *err);

/* What one node has of an attempt. */
struct store_place {
	int32_t part; /* 0: what the attempt's own row stands for */
	enum job_state state;
	enum store_closed closed;
	bool is_several; /* the attempt is on several nodes */
};
struct store_at {
	int64_t job;
	int32_t attempt;
	const char *node;
};
/* 1; 0: it was never allocated to this node. */
int store_place_find(struct store *s, const struct store_at *at, struct store_place *ret,
		     struct err *err);
/* Writes that its node's list shows it in that state. */
int store_place_show(struct store *s, const struct store_at *at, const struct store_place *p,
		     enum job_state state, struct err *err);
/* Writes since when its node's list lacks it; 0: it does not. */
int store_place_miss(struct store *s, const struct store_at *at, const struct store_place *p,
		     int64_t since_ns, struct err *err);
/* 1: all parts other than 0 run, or did. */
int store_parts_run(struct store *s, const struct store_at *at, struct err *err);

/* A part other than 0 has ended, by the word of its node or of the controller. Where it was not
 * cancelled its end becomes the attempt's verdict and the job is cancelled. 1: that is so now; 0: the
 * attempt has a verdict, or is over, or the part was cancelled. */
struct store_part_end {
	struct store_at at;
	int64_t now_ns;
	const struct job_end *end;
};
int store_part_ended(struct store *s, const struct store_part_end *f, struct err *err);
/* Part 0 has ended by itself with a failure: perhaps because another part has just failed (an MPI
 * program ends when it misses a rank), whose report has not come yet. Then the others are cancelled,
 * and the report of part 0 is not acknowledged, so that its node sends it again, until they have
 * ended or STORE_FIRST_WAIT_NS has passed. 0: the report counts now; STORE_WAITS: later;
 * STORE_WAITS_FROM_NOW: later, and it is the first one that has to wait. */
#define STORE_FIRST_WAIT_NS (10 * S_NS)
enum { STORE_WAITS = 1, STORE_WAITS_FROM_NOW = 2 };
int store_part_0_waits(struct store *s, const struct store_part_end *f, struct err *err);
/* The job's end, from the end of part 0 and the attempt's verdict (END_NONE: it has none). Returns
 * one of both. */
const struct job_end *store_part_judge(const struct job_end *first,
				       const struct job_end *verdict);
/* The end of an attempt or a part that is lost; its text is l->text, then `more`. */
void store_loss_end(const struct store_loss *l, const char *more, struct job_end *ret);
/* Ends the part of that number in its row alone. */
int store_part_write_loss(struct store *s, const struct store_loss *l,
			  const struct job_end *end, struct err *err);
/* Ends a part whose node is lost, or has lost it. 1: the job is cancelled for it now. */
int store_part_lose(struct store *s, const struct store_loss *l, struct err *err);

/* What open parts of a cluster's jobs (NULL: of all) have in use, in the order of job, attempt and
 * part. */
struct store_parts_in_use {
	struct store_part_in_use *of;
	size_t n;
};
int store_parts_in_use(struct store *s, const char *cluster, struct store_parts_in_use *ret,
		       struct err *err);
/* Of up to STORE_SOME jobs, as store_some() has their numbers. */
int store_parts_in_use_these(struct store *s, const struct db_ints *jobs,
			     struct store_parts_in_use *ret, struct err *err);
static inline void store_parts_in_use_done(struct store_parts_in_use *p)
{
	free(p->of);
}

/* Writes the rows of the parts of an allocation on several nodes, which begins with its first node. */
int store_parts_allocate(struct store *s, const struct store_allocation *g, struct err *err);
