/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_interval - writes the run intervals that usage/charges.h reads; for attempts/charge.c alone. */
#pragma once
#include "common/db/db.h"
#include "controller/ledger/store.h"

/* The run interval of an attempt that began last. */
struct store_run_last {
	bool is_known; /* it was read, or is known not to be there */
	bool is_there, is_even;
	int64_t from_ns, to_ns, running_ns;
};
/* By how much one report raised the attempt's times, and the time between it and the report before. */
struct store_run_interval {
	int64_t job;
	int32_t attempt;
	int64_t from_ns, to_ns, running_ns, suspended_ns;
	const struct store_run_last *last; /* of the attempt before this report */
	struct db_rows
		*rows; /* store_run_interval_rows(), to be written later; NULL: at once */
};
struct db_rows store_run_interval_rows(void);
/* Lengthens the interval that ends at from_ns where both are even, that is without suspended time, else
 * begins a new one; in the transaction under way. Sets the times and sums of *gain. Where nothing ran
 * nothing is changed. */
int store_run_interval(struct store *s, struct store_run_interval *x,
		       struct sync_usage_delta *gain, struct err *err);
