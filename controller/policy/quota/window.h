/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window - a monthly allowance that slides over its neighbours: how much may be used now.
 *
 * Pure, exact integers, no division but for the percentage shown. Source: RWTH "Resource
 * Quotas" (the sliding window of three months, the low-priority mode, the two stops).
 *
 * Units: an amount is in micro-core-hours (1 core-hour = 1000000), 0 to WINDOW_AMOUNT_MAX. The
 * rules are ratios and sums, so a caller may use another unit for all amounts (the ledger's
 * milli-core-seconds) and gets its answers in that unit.
 *
 * Months are a sequence: year * 12 + month - 1. The accounting period is what the array spans,
 * first to last; a month outside has neither allowance nor usage (no transfer into the
 * first month, no borrowing in the last). An allowance may differ from month to month; one that
 * is changed within a month counts from that month's first day.
 * Usage of later months than the one asked for has not happened yet and is not looked at.
 *
 * Rules, by name:
 * "sliding"  available = M_prev + M_cur + M_next - used_prev - used_cur
 *            percentage = (M_prev + M_cur - used_prev - used_cur) / M_cur
 * "three-consecutive-months"
 *            in no three consecutive months of the period (all of it, when it is shorter) more
 *            than their allowances together: available = the least, over those that hold this
 *            month, of their allowances - what was used in them. The rule publishes no
 *            percentage; shown is available / M_cur.
 *
 * Percentage shown: whole percent, rounded *down*, and -101 for all below -100. Down is the
 * rounding by which the source's words hold: 200 only when nothing was used, negative as soon
 * as the next month is borrowed from, -101 as soon as it is below -100. Above there is no
 * bound: 200 is what equal allowances give; after a larger month it may be more. With a zero
 * allowance there is no percentage.
 *
 * Mode, by exact comparison: "stopped" (no submission) when the month's usage > 6 x its
 * allowance, or the period's usage so far > 2 x all its allowances; else "low-priority" when
 * the quota is consumed: available < 0, or (sliding) below -100 %; else "normal". With equal
 * allowances inside the period the two conditions of low-priority are one; where they are not
 * (last month: nothing to borrow) the first that is reached decides. A month whose allowance is
 * zero is stopped by any usage: that is more than six times nothing.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define WINDOW_UNIT INT64_C(1000000)
#define WINDOW_AMOUNT_MAX (INT64_C(10000000000) * WINDOW_UNIT) /* 10^10 core-hours */

#define WINDOW_MONTH_TEXT_MAX 16
/* "2024-02", years 0001 to 9999. -EINVAL. */
int window_month_parse(const char *text, int *ret_month, struct err *err);
const char *window_month_format(int month, char buf[static WINDOW_MONTH_TEXT_MAX]);

/* "1000", "0.5": core-hours with at most six places. -EINVAL: a sign, anything else, or above
 * WINDOW_AMOUNT_MAX. */
int window_amount_parse(const char *text, int64_t *ret, struct err *err);
#define WINDOW_AMOUNT_TEXT_MAX 32
/* Exact, no needless zeros: "1000", "-0.5". */
const char *window_amount_format(int64_t amount, char buf[static WINDOW_AMOUNT_TEXT_MAX]);

enum window_rule {
	WINDOW_SLIDING,
	WINDOW_THREE_MONTHS,
	_WINDOW_RULE_MAX,
};
const char *window_rule_name(enum window_rule r);
/* -EINVAL: names those there are. */
int window_rule_parse(const char *text, enum window_rule *ret, struct err *err);

enum window_mode {
	WINDOW_NORMAL,
	WINDOW_LOW_PRIORITY,
	WINDOW_STOPPED,
	_WINDOW_MODE_MAX,
};
const char *window_mode_name(enum window_mode m); /* "normal" "low-priority" "stopped" */

struct window_month {
	int month;
	int64_t allowance, used;
};

struct window_period {
	const struct window_month *months; /* consecutive, in order */
	size_t n;
};

struct window {
	int month;
	enum window_rule rule;
	struct window_month previous, current, next; /* zeros where outside the period */
	int first, last; /* months whose sums are `available`: the sliding three, or
				the tightest three of the other rule */
	int64_t sum_allowance, sum_used;     /* of those, used up to this month */
	int64_t total_allowance, total_used; /* of the period; used up to this month */
	int64_t available;		     /* sum_allowance - sum_used; may be negative */
	int64_t borrowed; /* of the next month's allowance, used this month or before */
	bool has_percentage;
	int64_t percentage;		/* as shown */
	int64_t share;			/* exact percentage = 100 * share / current.allowance */
	int64_t stop_month, stop_total; /* used above these: stopped */
	enum window_mode mode;
	const char *why; /* one phrase: which comparison decided the mode */
};

/* -ENOENT: the month is outside the period, which is named; -EINVAL: no months, a gap or
 * disorder, an amount out of bounds; -ERANGE: sums beyond int64. */
int window_compute(const struct window_period *p, int month, enum window_rule rule,
		   struct window *ret, struct err *err);
