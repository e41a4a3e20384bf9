/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify - checks the rollups against the jobs, and rebuilds them from the jobs. Part of the contract
 * of store.h.
 *
 * store_verify() recomputes every rollup, by day, by month and in the totals, from imported jobs, attempts with their
 * slices, and adjustments, and compares. It also checks that
 * - the slices of an attempt sum to its figures, and its run intervals to its running time;
 * - what the parts of a job on several nodes used is what the job used, and no part stays open after
 *   the job's end;
 * - each imported job was charged rate x time.
 * It reads one state of the ledger and changes nothing.
 */
#pragma once
#include "controller/ledger/store.h"

/* One figure that differs: of a rollup (job 0), or of a job. Of a total (usage/totals/totals.h) the names that it is not of are "*". */
struct store_difference {
	const char *cluster, *account, *user, *figure;
	const char *pool; /* of a rollup; else NULL */
	int64_t job;
	int64_t day; /* of a rollup: a day of calendar.h */
	int64_t stored, recomputed;
	bool is_month;	/* the rollup is that of the month that begins on `day` */
	bool is_period; /* the rollup is that of the allocation period that begins on `day` */
};
typedef int (*store_difference_fn)(void *ctx, const struct store_difference *d,
				   struct err *err);
struct store_verified {
	int64_t jobs, attempts, adjustments, rollups, differences;
};
/* 0 however many differences there are. */
int store_verify(struct store *s, store_difference_fn fn, void *ctx, struct store_verified *ret,
		 struct err *err);

/* The part of store_verify() about jobs on several nodes, in the transaction under way. *ret: how many
 * differences were reported. */
int store_verify_parts(struct store *s, store_difference_fn fn, void *ctx, int64_t *ret,
		       struct err *err);

/* Replaces every rollup by what is recomputed, in one transaction. Reports the differences within
 * jobs, which a rebuild does not mend. -ENOTSUP: the zone changes, and the ledger has attempts, which
 * cannot be cut at another zone's midnights; -EINVAL: no such zone. */
struct store_rebuild {
	const char *zone;	/* whose days the rollups are of from now on; NULL: as before */
	store_difference_fn fn; /* NULL: differences are counted only */
	void *ctx;
	/* Called in the transaction, before anything is summed up; NULL: nothing is. */
	int (*before)(void *before_ctx, struct err *err);
	void *before_ctx;
};
int store_rebuild(struct store *s, const struct store_rebuild *how, struct store_verified *ret,
		  struct err *err);
