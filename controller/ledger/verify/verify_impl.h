/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify_impl - what verify.c and rebuild.c share. */
#pragma once
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_set.h"
#include "controller/ledger/verify/verify.h"

/* An attempt's figures in the columns of slices; cores x time is rounded half up. */
#define VERIFY_FIGURES                                                                         \
	" a.running_ns / 1000000, a.suspended_ns / 1000000,"                                   \
	" COALESCE(a.usage ->> '$.cpu_ns', 0) / 1000000, a.charge_requested_ms,"               \
	" a.charge_used_ms, (a.running_ns * j.ncpus + 500000) / 1000000,"                      \
	" (a.running_ns * j.ngpus + 500000) / 1000000"

struct verify {
	struct store *s;
	struct rollup_set *sums; /* recomputed, by day; verify.c zeroes what it has compared */
	struct rollup_set *months; /* the same by month */
	struct rollup_set *totals; /* by the days and months in the ledger */
	store_difference_fn fn;	   /* NULL: differences are counted only */
	void *ctx;
	struct store_verified n;
};

/* Counts every difference, also where no function wants to hear of it. */
static inline int store_verify_report(struct verify *v, const struct store_difference *d,
				      struct err *err)
{
	v->n.differences++;
	return v->fn ? v->fn(v->ctx, d, err) : 0;
}
/* Adds a row of rollups, or of months, to v->totals. */
int store_verify_add_total(struct verify *v, const struct store_difference *d,
			   const struct rollup *r, struct err *err);
/* Compares the table totals with v->totals. */
int store_verify_totals(struct verify *v, struct err *err);

/* Fills `sums` and `months` from the jobs and adjustments, in the transaction under way, and reports
 * the differences within the jobs. */
int store_verify_recompute(struct verify *v, struct err *err);
