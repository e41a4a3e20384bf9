/* SPDX-License-Identifier: GPL-2.0-or-later */
/* day_sums - the usage of a period by day, by account and by user, from sums that were made when it was written. Part of the contract of store.h. */
#pragma once
#include "controller/ledger/store.h"

#define STORE_DAY_SUMS_MAX 92 /* days of a period */

struct store_day_sums;

struct store_day_sum {
	const char *name; /* of an account or a user */
	int64_t core_ms, gpu_ms, cpu_ms;
};
struct store_day_sums_ask {
	const char *cluster;	  /* NULL: all */
	int64_t from_day, to_day; /* half open, at most STORE_DAY_SUMS_MAX */
};
int store_day_sums(struct store *s, const struct store_day_sums_ask *ask,
		   struct store_day_sums **ret, struct err *err);
void store_day_sums_free(struct store_day_sums *d);

/* Of the i-th day; accounts by core time, the largest first; users by idle core time. NULL: there are not as many. Names are good
 * until the ledger is closed, rows until the next call. */
const struct store_day_sum *store_day_sums_day(const struct store_day_sums *d, int64_t i);
const struct store_day_sum *store_day_sums_account(struct store_day_sums *d, size_t i);
const struct store_day_sum *store_day_sums_user(struct store_day_sums *d, size_t i);
