/* SPDX-License-Identifier: GPL-2.0-or-later */
/* run_interval - writes the run intervals that usage/charges.h reads; for attempts/charge.c alone. */
#pragma once
#include "controller/ledger/store.h"

/* By how much one report raised the attempt's times, and the time between it and the report before. */
struct store_run_interval {
	int64_t job;
	int32_t attempt;
	int64_t from_ns, to_ns, running_ns, suspended_ns;
};
/* Lengthens the interval that ends at from_ns where both are even, that is without suspended time, else
 * begins a new one; in the transaction under way. Sets the times and sums of *gain. Where nothing ran
 * nothing is changed. */
int store_run_interval(struct store *s, struct store_run_interval *x,
		       struct sync_usage_delta *gain, struct err *err);
