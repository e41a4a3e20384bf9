/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_window - the published examples of the sliding window, and its laws over small worlds.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/policy/quota/window.h"

#define H WINDOW_UNIT
#define JAN (2012 * 12)

/* A period from January 2012. */
static struct window_period make_period(struct window_month *m, size_t n)
{
	for (size_t i = 0; i < n; i++)
		m[i].month = JAN + (int)i;
	return (struct window_period){ m, n };
}

static struct window compute_window(const struct window_period *p, int month,
				    enum window_rule rule)
{
	struct window w;

	assert_int_equal(window_compute(p, month, rule, &w, NULL), 0);
	return w;
}

static void published_examples(void **state)
{
	struct window_month m[4] = { { 0, 50000 * H, 0 },
				     { 0, 50000 * H, 70000 * H },
				     { 0, 50000 * H, 0 },
				     { 0, 50000 * H, 0 } };
	struct window_month view[] = { { 0, 1000 * H, 800 * H },
				       { 0, 1000 * H, 0 },
				       { 0, 1000 * H, 0 } };
	struct window_period p = make_period(m, 4), v = make_period(view, 3);
	struct window w;

	(void)state;
	assert_int_equal(compute_window(&p, JAN + 2, WINDOW_SLIDING).available, 80000 * H);
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).borrowed, 0);
	m[1].used = 120000 * H;
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).borrowed, 20000 * H);
	assert_int_equal(compute_window(&p, JAN + 2, WINDOW_SLIDING).available, 30000 * H);
	/* "restored again in April", which has no month behind it here: its own and March's. */
	assert_int_equal(compute_window(&p, JAN + 3, WINDOW_SLIDING).available, 100000 * H);
	m[1].used = 200000 * H; /* no more than there is */
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).borrowed, 50000 * H);
	m[1].used = 0;
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).available, 150000 * H);

	w = compute_window(&v, JAN + 1, WINDOW_SLIDING);
	assert_int_equal(w.available, 2200 * H);
	assert_true(w.has_percentage);
	assert_int_equal(w.percentage, 120);
	assert_int_equal(w.mode, WINDOW_NORMAL);
	assert_int_equal(w.previous.allowance - w.previous.used, 200 * H);
}

static void percentage_runs_from_200_to_minus_100_and_then_says_minus_101(void **state)
{
	static const struct {
		int64_t used;
		int percentage;
		enum window_mode mode;
	} steps[] = {
		{ 0, 200, WINDOW_NORMAL },
		{ 1, 199, WINDOW_NORMAL }, /* 200 only when nothing was used */
		{ 1000 * H, 100, WINDOW_NORMAL },
		{ 2000 * H, 0, WINDOW_NORMAL },
		{ 2000 * H + 1, -1,
		  WINDOW_NORMAL }, /* negative: borrowed from the next month */
		{ 2999 * H, -100, WINDOW_NORMAL },
		{ 3000 * H, -100, WINDOW_NORMAL },
		{ 3000 * H + 1, -101, WINDOW_LOW_PRIORITY },
		{ 5000 * H, -101, WINDOW_LOW_PRIORITY },
		{ 6000 * H, -101, WINDOW_LOW_PRIORITY },
		{ 6000 * H + 1, -101, WINDOW_STOPPED },
	};
	struct window_month m[12];
	struct window_period p;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
		struct window w;

		for (int k = 0; k < 12; k++)
			m[k] = (struct window_month){ 0, 1000 * H, 0 };
		p = make_period(m, 12);
		m[5].used = steps[i].used;
		w = compute_window(&p, JAN + 5, WINDOW_SLIDING);
		assert_int_equal(w.percentage, steps[i].percentage);
		assert_int_equal(w.mode, steps[i].mode);
		assert_int_equal(w.available, 3000 * H - steps[i].used);
	}
}

static void total_stop_is_above_twice_the_period_so_far(void **state)
{
	struct window_month m[4] = {
		{ 0, 10, 40 }, { 0, 10, 40 }, { 0, 10, 0 }, { 0, 10, 1000 }
	};
	struct window_period p = make_period(m, 4);
	struct window w = compute_window(&p, JAN + 2, WINDOW_SLIDING);

	(void)state;
	assert_int_equal(w.total_used, 80); /* April has not happened yet */
	assert_int_equal(w.mode, WINDOW_LOW_PRIORITY);
	m[2].used = 1;
	w = compute_window(&p, JAN + 2, WINDOW_SLIDING);
	assert_int_equal(w.mode, WINDOW_STOPPED);
	assert_int_equal(w.stop_total, 80);
	assert_int_equal(w.stop_month, 60);
}

static void edges_of_the_period_neither_lend_nor_transfer(void **state)
{
	struct window_month m[2] = { { 0, 100, 30 }, { 0, 100, 0 } }, one = { JAN, 100, 150 };
	struct window_period p = make_period(m, 2), single = { &one, 1 };
	struct window w = compute_window(&p, JAN, WINDOW_SLIDING);

	(void)state;
	assert_int_equal(w.available, 170); /* no month before */
	assert_int_equal(w.percentage, 70);
	assert_int_equal(w.first, JAN);
	w = compute_window(&p, JAN + 1, WINDOW_SLIDING);
	assert_int_equal(w.available, 170); /* no month after */
	assert_int_equal(w.percentage, 170);
	assert_int_equal(w.last, JAN + 1);
	/* Nothing to borrow: consumed long before -100 %. */
	w = compute_window(&single, JAN, WINDOW_SLIDING);
	assert_int_equal(w.available, -50);
	assert_int_equal(w.percentage, -50);
	assert_int_equal(w.mode, WINDOW_LOW_PRIORITY);
}

static void zero_allowance_has_no_percentage(void **state)
{
	struct window_month m[3] = { { 0, 100, 30 }, { 0, 0, 0 }, { 0, 100, 0 } };
	struct window_period p = make_period(m, 3);
	struct window w = compute_window(&p, JAN + 1, WINDOW_SLIDING);

	(void)state;
	assert_false(w.has_percentage);
	assert_int_equal(w.available, 170);
	assert_int_equal(w.mode, WINDOW_NORMAL);
	m[1].used = 1; /* more than six times nothing */
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).mode, WINDOW_STOPPED);
	m[1].used = 0;
	m[0].used = 201;
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).mode, WINDOW_LOW_PRIORITY);
}

/* The definitions once more, by plain sums over an array with empty margins. */
static void sliding_sums_hold_in_every_small_world(void **state)
{
	static const int64_t values[] = { 0, 1, 3, 10 };

	(void)state;
	for (int world = 0; world < 1 << 16; world++) {
		int64_t a[6] = { 0 }, u[6] = { 0 };
		struct window_month m[4];
		struct window_period p = make_period(m, 4);

		for (int i = 0; i < 4; i++) {
			m[i].allowance = a[i + 1] = values[world >> (4 * i) & 3];
			m[i].used = u[i + 1] = values[world >> (4 * i + 2) & 3];
		}
		for (int i = 1; i <= 4; i++) {
			struct window w = compute_window(&p, JAN + i - 1, WINDOW_SLIDING);
			int64_t share = a[i - 1] + a[i] - u[i - 1] - u[i];

			assert_int_equal(w.available, share + a[i + 1]);
			assert_int_equal(w.sum_allowance - w.sum_used, w.available);
			assert_int_equal(w.has_percentage, a[i] > 0);
			if (w.has_percentage && share >= -a[i])
				/* The largest whole percent that is not above. */
				assert_true(w.percentage * a[i] <= share * 100 &&
					    (w.percentage + 1) * a[i] > share * 100);
			else if (w.has_percentage)
				assert_int_equal(w.percentage, -101);
			if (w.mode == WINDOW_NORMAL)
				assert_true(w.available >= 0 && u[i] <= 6 * a[i]);
		}
	}
}

/* Using exactly what is available never leaves normal, one unit more always does. */
static void available_is_the_edge_of_normal(void **state)
{
	(void)state;
	for (int used = 0; used <= 300; used++) {
		for (enum window_rule r = 0; r < _WINDOW_RULE_MAX; r++) {
			struct window_month m[6];
			struct window_period p = make_period(m, 6);
			struct window w;

			for (int i = 0; i < 6; i++)
				m[i].allowance = 100, m[i].used = 0;
			m[2].used = used;
			w = compute_window(&p, JAN + 3, r);
			assert_int_equal(w.available, 300 - used);
			m[3].used = w.available;
			w = compute_window(&p, JAN + 3, r);
			assert_int_equal(w.available, 0);
			assert_int_equal(w.mode, WINDOW_NORMAL);
			m[3].used++;
			assert_int_equal(compute_window(&p, JAN + 3, r).mode,
					 WINDOW_LOW_PRIORITY);
		}
	}
}

static void three_months_rule_looks_back_two_months(void **state)
{
	struct window_month m[6];
	struct window_period p = make_period(m, 6), two = { m, 2 };
	struct window w;

	(void)state;
	for (int i = 0; i < 6; i++)
		m[i].allowance = 100, m[i].used = 0;
	m[1].used = 250;
	assert_int_equal(compute_window(&p, JAN + 1, WINDOW_THREE_MONTHS).available, 50);
	assert_int_equal(compute_window(&p, JAN + 2, WINDOW_THREE_MONTHS).available, 50);
	/* The sliding rule has forgotten February by April; this one has not. */
	w = compute_window(&p, JAN + 3, WINDOW_THREE_MONTHS);
	assert_int_equal(w.available, 50);
	assert_int_equal(w.first, JAN + 1);
	assert_int_equal(w.last, JAN + 3);
	assert_int_equal(w.percentage, 50);
	assert_int_equal(compute_window(&p, JAN + 3, WINDOW_SLIDING).available, 300);
	assert_int_equal(compute_window(&p, JAN + 4, WINDOW_THREE_MONTHS).available, 300);
	/* First and last month: three months, all inside the period. */
	assert_int_equal(compute_window(&p, JAN, WINDOW_THREE_MONTHS).available, 300);
	assert_int_equal(compute_window(&p, JAN + 5, WINDOW_THREE_MONTHS).available, 300);
	/* A period that is shorter is one window. */
	assert_int_equal(compute_window(&two, JAN + 1, WINDOW_THREE_MONTHS).available, -50);
}

/* An account that stays within `available` month by month exceeds no three consecutive months. */
static void three_months_rule_bounds_every_three_months(void **state)
{
	(void)state;
	for (int plan = 0; plan < 3 * 3 * 3 * 3 * 3 * 3; plan++) {
		struct window_month m[6];
		struct window_period p = make_period(m, 6);
		int digits = plan;

		for (int i = 0; i < 6; i++)
			m[i].allowance = 10 * (i + 1), m[i].used = 0;
		for (int i = 0; i < 6; i++, digits /= 3) {
			struct window w = compute_window(&p, JAN + i, WINDOW_THREE_MONTHS);

			assert_true(w.available >= 0);
			m[i].used = w.available * (digits % 3) / 2;
		}
		for (int i = 0; i + 2 < 6; i++)
			assert_true(m[i].used + m[i + 1].used + m[i + 2].used <= 30 * (i + 2));
	}
}

static void faults_are_named_and_nothing_is_written(void **state)
{
	struct window_month m[3] = { { JAN, 1, 0 }, { JAN + 1, 1, 0 }, { JAN + 3, 1, 0 } };
	struct window_period p = { m, 3 }, none = { m, 0 }, ok = { m, 2 };
	struct window w = { .month = 42 };
	struct err err;

	(void)state;
	assert_int_equal(window_compute(&p, JAN, WINDOW_SLIDING, &w, &err), -EINVAL);
	assert_non_null(strstr(err.text, "2012-03"));
	assert_int_equal(window_compute(&none, JAN, WINDOW_SLIDING, &w, &err), -EINVAL);
	assert_int_equal(window_compute(&ok, JAN + 2, WINDOW_SLIDING, &w, &err), -ENOENT);
	assert_string_equal(err.text,
			    "2012-03 is outside the accounting period 2012-01 to 2012-02");
	assert_int_equal(window_compute(&ok, JAN - 1, WINDOW_SLIDING, &w, &err), -ENOENT);
	m[0].used = -1;
	assert_int_equal(window_compute(&ok, JAN, WINDOW_SLIDING, &w, &err), -EINVAL);
	m[0].used = WINDOW_AMOUNT_MAX + 1;
	assert_int_equal(window_compute(&ok, JAN, WINDOW_SLIDING, &w, &err), -EINVAL);
	assert_int_equal(w.month, 42);
}

static void largest_amounts_do_not_overflow(void **state)
{
	static struct window_month m[600];
	struct window_period p = make_period(m, 600), some = { m, 400 };
	struct window w;

	(void)state;
	for (int i = 0; i < 600; i++)
		m[i].allowance = 1, m[i].used = WINDOW_AMOUNT_MAX;
	w = compute_window(&some, JAN + 300, WINDOW_SLIDING);
	assert_int_equal(w.available, 3 - 2 * WINDOW_AMOUNT_MAX);
	assert_int_equal(w.percentage, -101);
	for (int i = 0; i < 600; i++)
		m[i].allowance = WINDOW_AMOUNT_MAX, m[i].used = 0;
	assert_int_equal(compute_window(&some, JAN + 300, WINDOW_SLIDING).percentage, 200);
	assert_int_equal(window_compute(&p, JAN, WINDOW_SLIDING, &w, NULL), -ERANGE);
}

static void months_and_amounts_are_strict(void **state)
{
	static const char *const bad_months[] = { "",	      "2024",	 "2024-13", "2024-00",
						  "2024-1",   "24-01",	 "0000-01", "2024/01",
						  "2024-01 ", "2024-011" };
	static const char *const bad_amounts[] = { "",
						   "-1",
						   "+1",
						   "1.",
						   ".5",
						   "1e3",
						   "nan",
						   "1,5",
						   " 1",
						   "0.0000001",
						   "0x1",
						   "1.2.3",
						   "10000000000.000001",
						   "99999999999999999999" };
	char text[WINDOW_AMOUNT_TEXT_MAX];
	int month;
	int64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad_months); i++)
		assert_int_equal(window_month_parse(bad_months[i], &month, NULL), -EINVAL);
	for (size_t i = 0; i < ARRAY_LEN(bad_amounts); i++)
		assert_int_equal(window_amount_parse(bad_amounts[i], &v, NULL), -EINVAL);
	assert_int_equal(window_month_parse("2024-12", &month, NULL), 0);
	assert_string_equal(window_month_format(month + 1, text), "2025-01");
	assert_int_equal(month, 2024 * 12 + 11);
	assert_int_equal(window_month_parse("0001-01", &month, NULL), 0);
	assert_string_equal(window_month_format(month, text), "0001-01");
	assert_int_equal(window_month_parse("9999-12", &month, NULL), 0);
	assert_string_equal(window_month_format(month, text), "9999-12");
	assert_int_equal(window_amount_parse("12.3456780", &v, NULL), 0);
	assert_int_equal(v, 12345678);
	assert_string_equal(window_amount_format(-v, text), "-12.345678");
	assert_string_equal(window_amount_format(100 * H, text), "100");
	assert_string_equal(window_amount_format(0, text), "0");
	assert_string_equal(window_amount_format(-H / 2, text), "-0.5");
	assert_int_equal(window_amount_parse("10000000000", &v, NULL), 0);
	assert_int_equal(v, WINDOW_AMOUNT_MAX);
}

static void every_rule_of_a_window_has_a_name(void **state)
{
	enum window_rule r;

	(void)state;
	for (enum window_rule i = 0; i < _WINDOW_RULE_MAX; i++) {
		assert_int_equal(window_rule_parse(window_rule_name(i), &r, NULL), 0);
		assert_int_equal(r, i);
	}
	assert_int_equal(window_rule_parse("slide", &r, NULL), -EINVAL);
	assert_string_equal(window_mode_name(WINDOW_LOW_PRIORITY), "low-priority");
}

static void each_mode_says_which_comparison_decided(void **state)
{
	static const struct {
		enum window_rule rule;
		int64_t next_allowance, used_before, used;
		enum window_mode mode;
		const char *why;
	} rows[] = {
		{ WINDOW_SLIDING, 100, 0, 299, WINDOW_NORMAL, "the window is not consumed" },
		{ WINDOW_SLIDING, 100, 0, 300, WINDOW_NORMAL,
		  "the window is consumed to the last, not beyond" },
		{ WINDOW_SLIDING, 100, 0, 301, WINDOW_LOW_PRIORITY,
		  "the window is consumed: available < 0" },
		/* The next month has so much that the window is not consumed. */
		{ WINDOW_SLIDING, 1000, 0, 300, WINDOW_NORMAL, "the window is not consumed" },
		{ WINDOW_SLIDING, 1000, 0, 301, WINDOW_LOW_PRIORITY, "below -100 %" },
		{ WINDOW_THREE_MONTHS, 1000, 0, 301, WINDOW_NORMAL,
		  "the window is not consumed" },
		{ WINDOW_SLIDING, 1000, 0, 600, WINDOW_LOW_PRIORITY, "below -100 %" },
		{ WINDOW_SLIDING, 1000, 0, 601, WINDOW_STOPPED,
		  "used this month > 6 x the month's allowance" },
		{ WINDOW_SLIDING, 100, 500, 100, WINDOW_LOW_PRIORITY,
		  "the window is consumed: available < 0" },
		{ WINDOW_SLIDING, 100, 500, 101, WINDOW_STOPPED,
		  "used in the period > 2 x the period's allowance" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_month m[3];
		struct window_period p = make_period(m, 3);
		struct window w;

		m[0].allowance = m[1].allowance = 100;
		m[2].allowance = rows[i].next_allowance;
		m[0].used = rows[i].used_before;
		m[1].used = rows[i].used;
		m[2].used = 0;
		w = compute_window(&p, JAN + 1, rows[i].rule);
		assert_int_equal(w.mode, rows[i].mode);
		assert_string_equal(w.why, rows[i].why);
	}
}

static void borrowed_is_what_both_months_used_beyond_their_own(void **state)
{
	static const struct {
		int64_t before, used, borrowed;
	} rows[] = { { 0, 0, 0 },     { 0, 200, 0 },  { 0, 201, 1 },  { 100, 101, 1 },
		     { 150, 60, 10 }, { 0, 290, 90 }, { 0, 291, 90 }, { 200, 500, 90 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_month m[3];
		struct window_period p = make_period(m, 3);

		m[0].allowance = m[1].allowance = 100;
		m[2].allowance = 90;
		m[0].used = rows[i].before;
		m[1].used = rows[i].used;
		m[2].used = 0;
		assert_int_equal(compute_window(&p, JAN + 1, WINDOW_SLIDING).borrowed,
				 rows[i].borrowed);
	}
}

/* The rule of three months once more: of all windows of three months inside the period that have the month, the first one that leaves least. */
static void the_tightest_three_months_decide_in_every_small_world(void **state)
{
	(void)state;
	for (int world = 0; world < 1 << 15; world++) {
		struct window_month m[5];
		size_t n = (size_t)(1 + world % 5);
		struct window_period p = make_period(m, n);

		for (int i = 0; i < 5; i++) {
			m[i].allowance = (world >> (3 * i) & 1) * 5 + i;
			m[i].used = (world >> (3 * i + 1) & 3) * 4;
		}
		for (int at = 0; at < (int)n; at++) {
			struct window w = compute_window(&p, JAN + at, WINDOW_THREE_MONTHS);
			int64_t best = INT64_MAX;
			int from = 0, to = (int)n - 1;

			for (int first = 0; first < (int)n; first++) {
				int64_t left = 0;
				int last = n < 3 ? (int)n - 1 : first + 2;

				if (last >= (int)n || first > at || last < at ||
				    (n < 3 && first))
					continue;
				for (int i = first; i <= last; i++)
					left += m[i].allowance - (i <= at ? m[i].used : 0);
				if (left >= best)
					continue;
				best = left;
				from = first;
				to = last;
			}
			assert_int_equal(w.available, best);
			assert_int_equal(w.first, JAN + from);
			assert_int_equal(w.last, JAN + to);
			assert_int_equal(w.sum_allowance - w.sum_used, best);
		}
	}
}

static void an_amount_ends_at_ten_thousand_millions(void **state)
{
	static const struct {
		const char *text, *why; /* NULL: read */
	} of[] = {
		{ "10000000000.000000", NULL },
		{ "0.0000010", NULL },
		{ "9999999999.999999", NULL },
		{ "10000000000.0000001", "more than six decimal places" },
		{ "10000000000.000001", "more than 10^10" },
		{ "10000000001", "more than 10^10" },
		{ "9999999999999999", "more than 10^10" },
		{ "10000000000000000", "more than 10^10" },
		{ "10000000000000001", "more than 10^10" },
		{ "-0", "it is negative" },
		{ "1x", "not a plain decimal number" },
		{ "", "not a plain decimal number" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct err err = { "" };
		int64_t v = 7;

		assert_int_equal(window_amount_parse(of[i].text, &v, &err),
				 of[i].why ? -EINVAL : 0);
		if (of[i].why && !strstr(err.text, of[i].why))
			fail_msg("%s: %s", of[i].text, err.text);
		assert_true(!of[i].why || v == 7);
	}
}

static void each_fault_of_a_period_has_its_words(void **state)
{
	struct window_month m[2] = { { JAN, 0, 0 }, { JAN + 1, 0, 0 } };
	struct window_period p = { m, 2 };
	struct window w;
	struct err err = { "" };

	(void)state;
	assert_int_equal(window_compute(&p, JAN, _WINDOW_RULE_MAX, &w, &err), -EINVAL);
	assert_string_equal(err.text, "unknown rule");
	assert_int_equal(window_compute(&(struct window_period){ m, 0 }, JAN, 0, &w, &err),
			 -EINVAL);
	assert_string_equal(err.text, "the accounting period has no months");
	m[1].allowance = WINDOW_AMOUNT_MAX + 1;
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), -EINVAL);
	assert_string_equal(err.text, "2012-02 has an amount out of bounds");
	m[1].allowance = -1;
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), -EINVAL);
	m[1].allowance = WINDOW_AMOUNT_MAX;
	m[1].used = WINDOW_AMOUNT_MAX;
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), 0);
	assert_string_equal(window_rule_name(_WINDOW_RULE_MAX), "none");
	assert_string_equal(window_mode_name(WINDOW_NORMAL), "normal");
	assert_string_equal(window_mode_name(WINDOW_STOPPED), "stopped");
	assert_string_equal(window_mode_name(_WINDOW_MODE_MAX), "none");
}

/* What may be used in a period adds up to the largest number at most. */
static void sums_of_a_period_are_refused_beyond_the_numbers(void **state)
{
	static struct window_month m[1000];
	const size_t most = INT64_MAX / WINDOW_AMOUNT_MAX; /* 922 */
	struct window_period p = make_period(m, 1000);
	struct window w;
	struct err err = { "" };

	(void)state;
	for (int i = 0; i < 1000; i++)
		m[i].used = WINDOW_AMOUNT_MAX;
	p.n = most;
	assert_int_equal(window_compute(&p, JAN + (int)most - 1, 0, &w, &err), 0);
	assert_int_equal(w.total_used, (int64_t)most * WINDOW_AMOUNT_MAX);
	p.n = most + 1;
	assert_int_equal(window_compute(&p, JAN + (int)most, 0, &w, &err), -ERANGE);
	assert_string_equal(err.text, "the allowances or usages of the period are too large");
	for (int i = 0; i < 1000; i++) {
		m[i].used = 0;
		m[i].allowance = WINDOW_AMOUNT_MAX;
	}
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), -ERANGE);
	p.n = most / 2; /* the total stop is twice the sum */
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), 0);
	assert_int_equal(w.stop_total, 2 * (int64_t)(most / 2) * WINDOW_AMOUNT_MAX);
	p.n++;
	assert_int_equal(window_compute(&p, JAN, 0, &w, &err), -ERANGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(published_examples),
		cmocka_unit_test(percentage_runs_from_200_to_minus_100_and_then_says_minus_101),
		cmocka_unit_test(total_stop_is_above_twice_the_period_so_far),
		cmocka_unit_test(edges_of_the_period_neither_lend_nor_transfer),
		cmocka_unit_test(zero_allowance_has_no_percentage),
		cmocka_unit_test(sliding_sums_hold_in_every_small_world),
		cmocka_unit_test(available_is_the_edge_of_normal),
		cmocka_unit_test(each_mode_says_which_comparison_decided),
		cmocka_unit_test(borrowed_is_what_both_months_used_beyond_their_own),
		cmocka_unit_test(three_months_rule_looks_back_two_months),
		cmocka_unit_test(three_months_rule_bounds_every_three_months),
		cmocka_unit_test(faults_are_named_and_nothing_is_written),
		cmocka_unit_test(largest_amounts_do_not_overflow),
		cmocka_unit_test(months_and_amounts_are_strict),
		cmocka_unit_test(every_rule_of_a_window_has_a_name),
		cmocka_unit_test(the_tightest_three_months_decide_in_every_small_world),
		cmocka_unit_test(an_amount_ends_at_ten_thousand_millions),
		cmocka_unit_test(each_fault_of_a_period_has_its_words),
		cmocka_unit_test(sums_of_a_period_are_refused_beyond_the_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
