/* verify_impl - what verify.c and rebuild.c share. */
#pragma once
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup_set.h"
#include "controller/ledger/verify/verify.h"

struct verify {
	struct store *s;
	struct rollup_set *sums; /* recomputed, by day; verify.c zeroes what it has compared */
	struct rollup_set *months; /* the same by month */
	store_difference_fn fn;	   /* NULL: differences are counted only */
	void *ctx;
	struct store_verified n;
};

/* Fills `sums` and `months` from the jobs and adjustments, in the transaction under way, and reports
 * the differences within the jobs. */
int store_verify_recompute(struct verify *v, struct err *err);
