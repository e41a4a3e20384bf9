/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known - what the ledger knows of an attempt before a report or a loss changes it: the row of the
 * attempt, the terms of its job and, on several nodes, the part of the node that reports. For the
 * ledger's own files, in the transaction under way.
 */
#pragma once
#include "controller/ledger/attempts/part.h"

struct store_known {
	char node[REQUEST_NAME_MAX];
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX],
		queue[REQUEST_NAME_MAX];
	int64_t mem_bytes;  /* reserved */
	int64_t walltime_s; /* requested */
	int64_t seq, closed, at_ns, given_ns, started_ns, ended_ns, job_attempt;
	int64_t eligible_ns; /* since when the job could have started */
	enum job_state state;
	enum charge_pool pool;
	struct tally_terms terms;
	struct tally_use use;
	struct usage usage;
	struct store_days days;
	int64_t old_charge_requested_ms, old_charge_used_ms;
	/* Of a job on several nodes: usage is the sum. */
	bool is_several;
	struct store_part_known part; /* what the node has that reports */
	struct job_end verdict;	      /* kind END_NONE: none yet */
};
/* The attempt that `key` names. 1; 0: there is none. */
int store_known_load(struct store *s, const struct report *key, struct store_known *ret,
		     struct err *err);
/* How the attempt ends with this report: as the report says, or by the verdict on a part. */
const struct job_end *store_known_end(const struct store_known *k, const struct report *rep);
