/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cover.c - divides a period into days, months and allocation periods. See cover.h. */
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/ranks/cover.h"

static void add_range(struct cover *c, enum totals_span span, int64_t from, int64_t to)
{
	if (from < to)
		c->of[c->n++] = (struct cover_range){ span, from, to };
}

static int64_t find_period(const struct cover_ledger *l, int64_t month)
{
	int64_t behind = (month - l->first) % l->months;

	return month - (behind < 0 ? behind + l->months : behind);
}

static void add_months(struct cover *c, const struct cover_ledger *l, int64_t from, int64_t to)
{
	int64_t first = find_period(l, from + l->months - 1), end = find_period(l, to);

	if (first >= end) {
		add_range(c, TOTALS_MONTH, from, to);
		return;
	}
	add_range(c, TOTALS_MONTH, from, first);
	add_range(c, TOTALS_PERIOD, first, end);
	add_range(c, TOTALS_MONTH, end, to);
}

struct cover cover_find(const struct cover_ledger *l, int64_t from_day, int64_t to_day)
{
	struct cover c = { .n = 0 };
	int64_t first, end, settled = calendar_month(l->last_day - COVER_SETTLED_DAYS);

	/* Before the first day there is nothing: its whole allocation period is as good. */
	if (from_day <= l->first_day)
		from_day = calendar_month_first(find_period(l, calendar_month(l->first_day)));
	if (to_day > l->last_day)
		to_day = l->last_day + 1;
	if (from_day >= to_day)
		return c;
	first = calendar_month(from_day - 1) + 1;
	end = calendar_month(to_day);
	if (end > settled)
		end = settled;
	if (first >= end) {
		add_range(&c, TOTALS_DAY, from_day, to_day);
		return c;
	}
	add_range(&c, TOTALS_DAY, from_day, calendar_month_first(first));
	add_months(&c, l, first, end);
	add_range(&c, TOTALS_DAY, calendar_month_first(end), to_day);
	return c;
}
