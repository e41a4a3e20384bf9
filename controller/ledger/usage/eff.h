/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff - efficiency: what jobs requested beside what they used. Part of the contract of store.h.
 *
 * Covers the jobs that Reeve ran and imported ones alike. A job belongs to the period in which it
 * ended.
 */
#pragma once
#include <jansson.h>
#include "controller/history/history.h"
#include "controller/ledger/store.h"
#include "controller/policy/efficiency/eff.h"

#define STORE_EFF_FIRST_DAY                                                                    \
	(-1000000) /* no job has a day before this one, or after the last one */
#define STORE_EFF_LAST_DAY 1000000

struct store_eff_filter {
	const int64_t *jobs; /* these numbers, running ones too; NULL: all that have ended */
	size_t n_jobs;
	const char *cluster, *account, *user; /* NULL: any */
	int64_t from_day, to_day; /* of calendar.h, half open; not used with `jobs` */
	int64_t latest; /* only among this many last submitted jobs, without history; 0: all */
};

struct store_eff_attempt {
	const char *cluster, *account, *user;
	struct eff_attempt a;
	const struct history_job
		*history; /* an imported job as its history recorded it; else NULL */
};
/* Calls fn for each attempt that ran; the attempts of one job follow each other. fn may change the price
 * in *e; names and history are good until it returns. */
typedef int (*store_eff_fn)(void *ctx, struct store_eff_attempt *e, struct err *err);
int store_eff(struct store *s, const struct store_eff_filter *f, store_eff_fn fn, void *ctx,
	      struct err *err);

/* ---- sums ---- */

enum store_eff_by {
	STORE_EFF_BY_JOB,
	STORE_EFF_BY_USER,
	STORE_EFF_BY_ACCOUNT,
	STORE_EFF_BY_CLUSTER,
	_STORE_EFF_BY_MAX
};
extern const char *const store_eff_by_words[]; /* "job" ...; then NULL */

/* Equal rows are in the order of STORE_EFF_SORT_KEY: jobs by number, the latest first; names by the
 * alphabet. */
enum store_eff_sort {
	STORE_EFF_SORT_KEY,
	STORE_EFF_SORT_WASTE,  /* most idle core time first; unmeasured last */
	STORE_EFF_SORT_CHARGE, /* largest first */
	STORE_EFF_SORT_CPU,    /* least used first; unmeasured last */
	STORE_EFF_SORT_MEM,
	STORE_EFF_SORT_WALLTIME,
	STORE_EFF_SORT_GPU, /* most idle GPU time first; unmeasured, and those without, last */
	_STORE_EFF_SORT_MAX
};
extern const char *const store_eff_sort_words[]; /* "key" "waste" "charge" ...; then NULL */

struct store_eff_ask {
	struct store_eff_filter filter;
	enum store_eff_by by;
	enum store_eff_sort sort;
	size_t limit; /* rows at most; above 0 */
	store_eff_fn
		price; /* called before an attempt is added; NULL: the ledger's price counts */
	void *price_ctx;
};

struct store_eff_row {
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
	int64_t job;		    /* 0, as names are "": the rows are not by it */
	struct resources requested; /* of a job's last attempt */
	struct eff_sum sum;
};
struct store_eff_rows {
	struct store_eff_row *rows;
	size_t n;
	size_t left_out; /* beyond the limit */
};
/* *ret needs store_eff_rows_done() after 0. */
int store_eff_sums(struct store *s, const struct store_eff_ask *ask, struct store_eff_rows *ret,
		   struct err *err);
void store_eff_rows_done(struct store_eff_rows *r);

/* Encodes the answer of GET /v1/eff: docs/protocol.md. Percentages are exact decimals, as texts. */
int store_eff_encode(const struct store_eff_rows *found, json_t **ret, struct err *err);
