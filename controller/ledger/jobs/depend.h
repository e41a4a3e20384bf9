/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depend - dependencies: jobs that wait until others have ended. Part of the contract of
 * store.h.
 *
 * A job may wait only for jobs that exist when it is submitted, so there are no circles. It may start
 * when all its dependencies are met. One that can never be met ends the job, then the jobs that wait
 * for it, and so on, in one transaction; controller/policy/priority/depend.h decides.
 *
 * Ends are found in the journal of events, whatever caused them: each event of a job is looked at once.
 * After a start of the controller all open dependencies are looked at.
 */
#pragma once
#include "controller/ledger/store.h"
#include "controller/policy/priority/depend.h"

/* A job that a new one would wait for. */
struct store_prospect {
	struct store_target target;
	uint32_t uid;
	char account[REQUEST_NAME_MAX];
	struct job_end end; /* END_NONE: it has not ended */
};
/* -ENOENT: there is no such job, or element. */
int store_depend_look(struct store *s, struct after a, struct store_prospect *ret,
		      struct err *err);

/* What became of a job that waited: it may start, or it was ended (`text`: the reason). */
struct store_resolved {
	int64_t job;
	const char *text; /* NULL: it may start */
};
typedef void (*store_resolved_fn)(void *ctx, const struct store_resolved *what);
/* Resolves ends since the last call, in one transaction; counts tasks of arrays, ends arrays. 1: the budget was used up, and the next
 * call continues; after a crash between two calls the first call after the start finds the rest. 0: all are resolved. */
struct store_resolve {
	int64_t now_ns;
	int64_t budget_ns; /* of CLOCK_MONOTONIC; at least one dependent is resolved. 0: no limit */
	store_resolved_fn
		fn; /* called inside the transaction, for the log and long polls; or NULL */
	void *ctx;
};
int store_resolve(struct store *s, const struct store_resolve *how, struct err *err);

/* The first thing a job waits for, in words. 1: there is one. */
int store_depend_words(struct store *s, int64_t job, char buf[static DEPEND_WORDS_MAX],
		       struct err *err);
