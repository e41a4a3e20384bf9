/* SPDX-License-Identifier: GPL-2.0-or-later */
/* listed - what a node has open in the ledger, read at once, so that its list of jobs is compared without a query for each of them. For the
 * ledger's own files, in the transaction under way.
 */
#pragma once
#include "controller/ledger/store_sqlite.h"

/* An attempt, or of one on several nodes the part that the node has. */
struct store_listed {
	int64_t job, missing_ns; /* missing_ns: since when its list lacks it; 0: it does not */
	int32_t attempt, part;
	enum job_state state;
	bool is_shown; /* in a list of the node, or in a report */
};

/* Sends the query of store_listed_load() ahead. */
int store_listed_ask(struct store *s, const char *node, struct err *err);
/* *ret is malloc()ed, in the order of jobs and attempts. */
int store_listed_load(struct store *s, const char *node, struct store_listed **ret,
		      size_t *ret_n, struct err *err);
/* The ledger has it open, and as the node lists it: nothing is to be written. */
bool store_listed_is_known(const struct store_listed *rows, size_t n, const struct sync_job *j);
