/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_waits - how long jobs waited in the queue, counted by day, size and bucket (controller/policy/efficiency/waits.h), so that
 * no page reads jobs. Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"
#include "controller/policy/efficiency/waits.h"

struct store_wait {
	const char *cluster;
	int64_t day; /* on which the job started */
	int64_t ncpus, wait_s;
};
/* Counts one job that started, in the transaction under way; what is counted is written before its commit. */
int store_wait_count(struct store *s, const struct store_wait *w, struct err *err);
int store_wait_write(struct store *s, struct err *err);
/* The transaction has ended: what was not written never will be. */
void store_wait_forget(struct store *s);
/* The same for jobs that were counted before: `jobs` of a size and a bucket that started on a day. */
struct store_wait_sum {
	int64_t day;
	int size, bucket;
	int64_t jobs;
};
int store_wait_add(struct store *s, const char *cluster, const struct store_wait_sum *w,
		   struct err *err);

struct store_waits {
	int64_t jobs[WAITS_SIZES][WAITS_BUCKETS];
};
struct store_waits_ask {
	const char *cluster; /* NULL: all */
	int64_t from_day, to_day;
};
int store_waits(struct store *s, const struct store_waits_ask *ask, struct store_waits *ret,
		struct err *err);
