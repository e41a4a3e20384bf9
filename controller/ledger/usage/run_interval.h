/* run_interval - how run intervals (usage/charges.h) are written: for attempts/charge.c alone. */
#pragma once
#include "controller/ledger/store.h"

/* What one report gained, and over which time. */
struct store_run_interval {
	int64_t job;
	int32_t attempt;
	int64_t from_ns, to_ns, running_ns, suspended_ns;
};
/* Lengthens the stretch that ends at from_ns where both are even, else begins one, in the
 * transaction under way; the times and sums of *gain are set. Nothing ran: nothing is changed.
 */
int store_run_interval(struct store *s, struct store_run_interval *x,
		       struct sync_usage_delta *gain, struct err *err);
