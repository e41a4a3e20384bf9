/* SPDX-License-Identifier: GPL-2.0-or-later */
/* window.c - the monthly allowance over its window: parsing, sums, percentage and mode; see
 * window.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/policy/quota/window.h"

#define PLACES 6
#define STOP_MONTH 6 /* times the month's allowance */
#define STOP_TOTAL 2 /* times the allowances of the period */

static const char *const rule_names[] = { "sliding", "three-consecutive-months" };
static const char *const mode_names[] = { "normal", "low-priority", "stopped" };

_Static_assert(ARRAY_LEN(rule_names) == _WINDOW_RULE_MAX, "a name a rule");
_Static_assert(ARRAY_LEN(mode_names) == _WINDOW_MODE_MAX, "a name a mode");

const char *window_rule_name(enum window_rule r)
{
	return r < _WINDOW_RULE_MAX ? rule_names[r] : "none";
}

const char *window_mode_name(enum window_mode m)
{
	return m < _WINDOW_MODE_MAX ? mode_names[m] : "none";
}

int window_rule_parse(const char *text, enum window_rule *ret, struct err *err)
{
	for (enum window_rule r = 0; r < _WINDOW_RULE_MAX; r++) {
		if (strcmp(text, rule_names[r]))
			continue;
		*ret = r;
		return 0;
	}
	return err_set(err, -EINVAL, "unknown rule '%.40s'; the rules are %s and %s", text,
		       rule_names[0], rule_names[1]);
}

/* ---- text ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

int window_month_parse(const char *text, int *ret_month, struct err *err)
{
	static const char shape[] = "dddd-dd";
	int year = 0, month = 0;
	size_t i;

	for (i = 0; shape[i] && text[i]; i++) {
		if (shape[i] == '-' ? text[i] != '-' : !is_digit(text[i]))
			break;
		if (i < 4)
			year = year * 10 + (text[i] - '0');
		else if (i > 4)
			month = month * 10 + (text[i] - '0');
	}
	if (shape[i] || text[i] || year < 1 || month < 1 || month > 12)
		return err_set(err, -EINVAL, "'%.40s' is not a month; write it like 2024-02",
			       text);
	*ret_month = year * 12 + month - 1;
	return 0;
}

const char *window_month_format(int month, char buf[static WINDOW_MONTH_TEXT_MAX])
{
	snprintf(buf, WINDOW_MONTH_TEXT_MAX, "%04d-%02d", month / 12, month % 12 + 1);
	return buf;
}

static int bad_amount(const char *text, const char *why, struct err *err)
{
	return err_set(err, -EINVAL,
		       "'%.40s' is not an amount of core-hours: %s; write it like 50000 or "
		       "0.25",
		       text, why);
}

int window_amount_parse(const char *text, int64_t *ret, struct err *err)
{
	const char *p = text;
	int64_t v = 0;
	int places = -1; /* decimal places read so far; -1: the point was not read yet */

	if (*p == '-')
		return bad_amount(text, "it is negative", err);
	for (; is_digit(*p) || (*p == '.' && places < 0 && p > text && is_digit(p[1])); p++) {
		if (*p == '.') {
			places = 0;
			continue;
		}
		if (places >= PLACES && *p != '0')
			return bad_amount(text, "it has more than six decimal places", err);
		if (places >= PLACES)
			continue;
		v = v * 10 + (*p - '0');
		places += places >= 0;
		if (v > WINDOW_AMOUNT_MAX)
			return bad_amount(text, "it is more than 10^10", err);
	}
	if (*p || p == text)
		return bad_amount(text, "it is not a plain decimal number", err);
	for (int i = places < 0 ? 0 : places; i < PLACES; i++)
		if (__builtin_mul_overflow(v, (int64_t)10, &v))
			return bad_amount(text, "it is more than 10^10", err);
	if (v > WINDOW_AMOUNT_MAX)
		return bad_amount(text, "it is more than 10^10", err);
	*ret = v;
	return 0;
}

const char *window_amount_format(int64_t amount, char buf[static WINDOW_AMOUNT_TEXT_MAX])
{
	uint64_t v = amount < 0 ? -(uint64_t)amount : (uint64_t)amount;
	int n = snprintf(buf, WINDOW_AMOUNT_TEXT_MAX, "%s%llu.%06llu", amount < 0 ? "-" : "",
			 (unsigned long long)(v / (uint64_t)WINDOW_UNIT),
			 (unsigned long long)(v % (uint64_t)WINDOW_UNIT));

	while (buf[n - 1] == '0')
		buf[--n] = '\0';
	if (buf[n - 1] == '.')
		buf[--n] = '\0';
	return buf;
}

/* ---- the rules ---- */

static int check_period(const struct window_period *p, struct err *err)
{
	char text[WINDOW_MONTH_TEXT_MAX];

	if (!p->n)
		return err_set(err, -EINVAL, "the accounting period has no months");
	for (size_t i = 0; i < p->n; i++) {
		const struct window_month *m = &p->months[i];

		if (i && m->month != m[-1].month + 1)
			return err_set(err, -EINVAL, "%s is missing, or out of order",
				       window_month_format(m[-1].month + 1, text));
		if (m->allowance < 0 || m->allowance > WINDOW_AMOUNT_MAX || m->used < 0 ||
		    m->used > WINDOW_AMOUNT_MAX)
			return err_set(err, -EINVAL, "%s has an amount out of bounds",
				       window_month_format(m->month, text));
	}
	return 0;
}

static int refuse_month(const struct window_period *p, int month, struct err *err)
{
	char asked[WINDOW_MONTH_TEXT_MAX], from[WINDOW_MONTH_TEXT_MAX],
		to[WINDOW_MONTH_TEXT_MAX];

	return err_set(err, -ENOENT, "%s is outside the accounting period %s to %s",
		       window_month_format(month, asked),
		       window_month_format(p->months[0].month, from),
		       window_month_format(p->months[p->n - 1].month, to));
}

/* The month; outside the period one without allowance or usage. */
static struct window_month month_at(const struct window_period *p, int month)
{
	int first = p->months[0].month;

	if (month < first || month - first >= (int)p->n)
		return (struct window_month){ .month = month };
	return p->months[month - first];
}

/* Sums the months [first, last], with what was used up to w->month; at most three, so that
 * nothing can overflow (WINDOW_AMOUNT_MAX). Stores the sums if they leave less available than
 * the stored ones; w->first > w->last: none are stored yet. */
static void keep_tightest(const struct window_period *p, int first, int last, struct window *w)
{
	int begin = p->months[0].month, end = p->months[p->n - 1].month;
	int64_t allowance = 0, used = 0;

	for (int month = first; month <= last; month++) {
		struct window_month m = month_at(p, month);

		allowance += m.allowance;
		used += month <= w->month ? m.used : 0;
	}
	if (w->first <= w->last && allowance - used >= w->available)
		return;
	w->first = first < begin ? begin : first;
	w->last = last > end ? end : last;
	w->sum_allowance = allowance;
	w->sum_used = used;
	w->available = allowance - used;
}

/* w->share: the numerator of the percentage of the rule. */
static void apply_rule(const struct window_period *p, struct window *w)
{
	int begin = p->months[0].month, end = p->months[p->n - 1].month;

	w->first = 0;
	w->last = -1;
	if (w->rule == WINDOW_SLIDING) {
		keep_tightest(p, w->month - 1, w->month + 1, w);
		w->share = w->available - w->next.allowance;
		return;
	}
	if (p->n < 3)
		keep_tightest(p, begin, end, w);
	for (int first = w->month - 2; first <= w->month; first++)
		if (first >= begin && first + 2 <= end)
			keep_tightest(p, first, first + 2, w);
	w->share = w->available;
}

static int add_totals(const struct window_period *p, struct window *w)
{
	for (size_t i = 0; i < p->n; i++) {
		const struct window_month *m = &p->months[i];

		if (__builtin_add_overflow(w->total_allowance, m->allowance,
					   &w->total_allowance) ||
		    __builtin_add_overflow(w->total_used, m->month <= w->month ? m->used : 0,
					   &w->total_used))
			return -ERANGE;
	}
	w->stop_month = STOP_MONTH * w->current.allowance;
	return __builtin_mul_overflow(w->total_allowance, STOP_TOTAL, &w->stop_total) ? -ERANGE
										      : 0;
}

static bool is_below_minus_100(const struct window *w)
{
	return w->has_percentage && w->share < -w->current.allowance;
}

/* C division truncates towards 0; the subtraction makes it round down for negative shares. */
static void set_percentage(struct window *w)
{
	int64_t m = w->current.allowance, hundredfold = w->share * 100;

	w->has_percentage = m > 0;
	if (!w->has_percentage)
		return;
	w->percentage = hundredfold / m - (hundredfold % m < 0);
	if (is_below_minus_100(w))
		w->percentage = -101;
}

/* The stops first, then low priority: the order of window.h. Comparisons are exact; the rounded
 * percentage decides nothing. */
static void set_mode(struct window *w)
{
	if (w->current.used > w->stop_month) {
		w->mode = WINDOW_STOPPED;
		w->why = "used this month > 6 x the month's allowance";
	} else if (w->total_used > w->stop_total) {
		w->mode = WINDOW_STOPPED;
		w->why = "used in the period > 2 x the period's allowance";
	} else if (w->available < 0) {
		w->mode = WINDOW_LOW_PRIORITY;
		w->why = "the window is consumed: available < 0";
	} else if (w->rule == WINDOW_SLIDING && is_below_minus_100(w)) {
		w->mode = WINDOW_LOW_PRIORITY;
		w->why = "below -100 %";
	} else {
		w->mode = WINDOW_NORMAL;
		w->why = w->available ? "the window is not consumed"
				      : "the window is consumed to the last, not beyond";
	}
}

/* What the previous and this month used beyond their own allowances. */
static void set_borrowed(struct window *w)
{
	int64_t over = w->previous.used + w->current.used - w->previous.allowance -
		       w->current.allowance;

	w->borrowed = over < 0 ? 0 : over < w->next.allowance ? over : w->next.allowance;
}

int window_compute(const struct window_period *p, int month, enum window_rule rule,
		   struct window *ret, struct err *err)
{
	struct window w = { .month = month, .rule = rule };
	int r = check_period(p, err);

	if (r < 0)
		return r;
	if (rule >= _WINDOW_RULE_MAX)
		return err_set(err, -EINVAL, "unknown rule");
	if (month < p->months[0].month || month > p->months[p->n - 1].month)
		return refuse_month(p, month, err);
	w.previous = month_at(p, month - 1);
	w.current = month_at(p, month);
	w.next = month_at(p, month + 1);
	r = add_totals(p, &w);
	if (r < 0)
		return err_set(err, r, "the allowances or usages of the period are too large");
	apply_rule(p, &w);
	set_borrowed(&w);
	set_percentage(&w);
	set_mode(&w);
	*ret = w;
	return 0;
}
