/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cover - of which sums a period is made: whole allocation periods and months that are over, and days. Pure. */
#pragma once
#include "controller/ledger/usage/totals/totals.h"

/* Months that ended so recently are read by days: what is reported late changes a day of them, not the sum of all. */
#define COVER_SETTLED_DAYS 7

struct cover_ledger {
	int64_t first_day, last_day; /* with usage */
	int64_t months, first;	     /* of an allocation period: struct store_totals */
};
struct cover_range {
	enum totals_span span;
	int64_t from, to; /* what they begin with: days or months, half open */
};
#define COVER_MAX 5
struct cover {
	struct cover_range of[COVER_MAX];
	int n;
};
/* The days from from_day to before to_day as far as the ledger has any. */
struct cover cover_find(const struct cover_ledger *l, int64_t from_day, int64_t to_day);
