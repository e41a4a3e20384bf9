/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting - queued jobs, as the queue and the share tree read them. Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"

struct store_waiting {
	int64_t job, submitted_ns;
	const char *cluster, *account, *user, *queue, *name, *qos; /* qos "": none */
	enum charge_pool pool;
	struct resources want; /* of all chunks together */
	const char *chunks;    /* as select_format() writes them; "": one chunk */
	bool is_scattered, is_exclusive;
	int64_t nice, site;  /* as store_set_priority() set them */
	int64_t due_ns;	     /* since when it is overdue (store_set_due()); 0: it is not */
	int64_t eligible_ns; /* since when nothing holds it back: it ages from then on */
	const char *held; /* what holds it: "user", "operator", "dependency"; NULL: nothing */
};
typedef int (*store_waiting_fn)(void *ctx, const struct store_waiting *w, struct err *err);
/* The queued jobs of a cluster (NULL: of all) that nothing holds back, in the order of their numbers. */
int store_waiting(struct store *s, const char *cluster, store_waiting_fn fn, void *ctx,
		  struct err *err);
/* Of these jobs (by number, each once) those that store_waiting() passes, in the same order. */
struct store_these {
	const char *cluster;
	const int64_t *jobs;
	size_t n;
};
int store_waiting_these(struct store *s, const struct store_these *these, store_waiting_fn fn,
			void *ctx, struct err *err);
/* The queued jobs of a cluster that are held or wait for other jobs to end, by number. */
int store_withheld(struct store *s, const char *cluster, store_waiting_fn fn, void *ctx,
		   struct err *err);

/* ---- jobs that start by a time, or not at all (`immediate_s` of a request) ---- */

/* jobs.start_by_ns of one that is to start in the first pass that considers it. */
#define STORE_START_NOW 1
struct store_start_by_ask {
	const char *cluster;
	int64_t now_ns;
};
/* The queued jobs whose time is over, the longest first, at most max. How many there are in ret. */
int store_start_by(struct store *s, const struct store_start_by_ask *ask, int64_t *ret, int max,
		   struct err *err);
/* The earliest such time of the queued jobs, but for STORE_START_NOW; 0: there is none. */
int store_start_by_next(struct store *s, int64_t *ret_ns, struct err *err);
/* Ends it as not started, with the reason. 1: it is ended; 0: it is not queued any more. */
int store_start_by_end(struct store *s, int64_t job, const char *text, int64_t now_ns,
		       struct err *err);
