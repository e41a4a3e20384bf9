/* SPDX-License-Identifier: GPL-2.0-or-later */
/* known - what the ledger knows of an attempt before a report or a loss changes it: the row of the
 * attempt, the terms of its job and, on several nodes, the part of the node that reports. For the
 * ledger's own files, in the transaction under way.
 */
#pragma once
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/usage/run_interval.h"

struct store_known {
	char node[REQUEST_NAME_MAX];
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX],
		queue[REQUEST_NAME_MAX];
	int64_t mem_bytes;  /* reserved */
	int64_t walltime_s; /* requested */
	int64_t seq, closed, at_ns, given_ns, started_ns, ended_ns, job_attempt;
	int64_t eligible_ns;		 /* since when the job could have started */
	enum job_state state, job_state; /* of the attempt, and in the job's row */
	int64_t job_started_ns, job_ended_ns;
	enum charge_pool pool;
	struct tally_terms terms;
	struct tally_use use;
	struct usage usage;
	struct store_days days;
	int64_t old_charge_requested_ms, old_charge_used_ms;
	/* Of a job on several nodes: usage is the sum. */
	bool is_several;
	struct store_part_known part; /* what the node has that reports */
	struct store_run_last last;   /* the last run interval */
	struct job_end verdict;	      /* kind END_NONE: none yet */
};
/* The attempt that `key` names. 1; 0: there is none. */
int store_known_load(struct store *s, const struct report *key, struct store_known *ret,
		     struct err *err);
/* The attempts of `n` reports of different jobs, STORE_SOME at most, by one query; ret[i].is_loaded where there is one. */
struct store_known_some {
	bool is_loaded;
	struct store_known known;
};
/* Sends the query of store_known_load_some() ahead. */
int store_known_ask_some(struct store *s, const struct report *reports, size_t n,
			 struct err *err);
int store_known_load_some(struct store *s, const struct report *reports, size_t n,
			  struct store_known_some *ret, struct err *err);
/* How the attempt ends with this report: as the report says, or by the verdict on a part. */
const struct job_end *store_known_end(const struct store_known *k, const struct report *rep);
