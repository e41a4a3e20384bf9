/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota - reads the sums and the active jobs that quotas and limits count; part of store.h's contract.
 * Charges are milli-unit-seconds; what counts against a quota is the charge with its adjustments. */
#pragma once
#include "controller/ledger/store.h"

struct store_quota_span {
	const char *account; /* this one alone, without the accounts below it */
	const char *cluster; /* NULL or "": all clusters */
	enum charge_pool pool;
	int64_t from_day, to_day; /* half open */
};
struct store_quota_sum {
	const char *user; /* by user, else NULL */
	int64_t day;	  /* by day; by month: the first day of the month; else 0 */
	int64_t charge_ms, core_ms, gpu_ms;
};
typedef int (*store_quota_sum_fn)(void *ctx, const struct store_quota_sum *s, struct err *err);
/* One sum for each day of the span that has any. */
int store_quota_days(struct store *s, const struct store_quota_span *span,
		     store_quota_sum_fn fn, void *ctx, struct err *err);
/* One sum for each whole month, from that of from_day to that of the day before to_day. Reads a
 * thirtieth of the rows. */
int store_quota_months(struct store *s, const struct store_quota_span *span,
		       store_quota_sum_fn fn, void *ctx, struct err *err);
/* One sum for each user, over the span. */
int store_quota_users(struct store *s, const struct store_quota_span *span,
		      store_quota_sum_fn fn, void *ctx, struct err *err);

/* A job that is queued, or allocated and not ended. */
struct store_quota_job {
	int64_t job;
	const char *cluster, *account, *user, *queue, *qos; /* qos "": none */
	enum job_state state;
	enum job_desired want;
	enum charge_pool pool;
	struct fraction rate;
	struct resources held; /* ncpus, ngpus, mem_bytes (as reserved), walltime_s */
	int64_t running_ns;    /* of the attempt that runs */
	int64_t charge_ms;     /* of that attempt so far; it is in the sums already */
	int64_t n;	       /* of an array: its tasks without a row; else 1 */
	bool is_withheld; /* held, or waits for other jobs, or an array: not scheduled itself */
};
typedef int (*store_quota_job_fn)(void *ctx, const struct store_quota_job *j, struct err *err);
/* All active jobs, in the order of their numbers. */
int store_quota_active(struct store *s, store_quota_job_fn fn, void *ctx, struct err *err);

/* Writes to the journal what a quota did to a job at its submission; store_quota_noted() reads it, ""
 * where nothing was written. */
struct store_quota_note {
	int64_t job, now_ns;
	const char *text;
};
int store_quota_note(struct store *s, const struct store_quota_note *n, struct err *err);
#define STORE_QUOTA_NOTE_MAX 512
int store_quota_noted(struct store *s, int64_t job, char ret[static STORE_QUOTA_NOTE_MAX],
		      struct err *err);
