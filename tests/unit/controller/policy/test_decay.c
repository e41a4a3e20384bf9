/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_decay - the laws of decaying usage, against numerical integration and exact halves. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/fairshare/decay.h"

#define S INT64_C(1000000000)
#define DAY (86400 * S)
#define WEEK (7 * DAY)
#define NOW (INT64_C(1763719200) * S)

static const struct decay_rule week = { WEEK, NULL, 0 }, none = { 0, NULL, 0 };

static void expect_near(double a, double b, double tolerance)
{
	if (fabs(a - b) > tolerance * fabs(b))
		fail_msg("%.17g is not %.17g", a, b);
}

static double decayed_value(const struct decay_rule *rule, struct decay_charge c, int64_t now)
{
	double v;

	assert_int_equal(decay_seen(rule, &c, now, &v), 0);
	return v;
}

static void one_half_life_leaves_exactly_one_half(void **state)
{
	static const int64_t lives[] = { S, 3600 * S, WEEK, 14 * DAY, 365 * DAY + 1 };
	struct decay d = { 1e12, NOW };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lives); i++)
		for (int k = 0; k < 10; k++)
			assert_true(decay_factor(k * lives[i], lives[i]) ==
				    1.0 / (double)(1 << k));
	assert_true(decay_read(&d, &week, NOW + WEEK) == 5e11); /* not 500074 millionths */
	assert_true(decay_read(&d, &none, NOW + 1000 * WEEK) == 1e12);
}

static void decays_compose(void **state)
{
	(void)state;
	for (int64_t a = 1; a < 400 * WEEK; a = a * 3 + 7)
		for (int64_t b = 1; b < 400 * WEEK; b = b * 5 + 3)
			expect_near(decay_factor(a, WEEK) * decay_factor(b, WEEK),
				    decay_factor(a + b, WEEK), 1e-12);
}

static void spread_charge_is_the_integral(void **state)
{
	static const int64_t lengths[] = { S, 600 * S, DAY, 3 * DAY, 30 * DAY, 300 * DAY };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
		struct decay_charge c = { 1000, NOW, NOW + lengths[i] };
		double sum = 0, step = (double)lengths[i] / 100000;

		/* Midpoints: the error falls with the square of the step. */
		for (int k = 0; k < 100000; k++)
			sum += exp2(-(step * (k + 0.5) + (double)DAY) / (double)WEEK);
		expect_near(decayed_value(&week, c, c.to_ns + DAY), sum / 100000 * 1000, 1e-8);
	}
}

/* The parts of a job, however it is reported, add up to the job. */
static void slices_sum_to_the_whole(void **state)
{
	(void)state;
	for (int n = 1; n <= 4096; n *= 4) {
		struct decay_charge whole = { 4096, NOW, NOW + 40 * DAY };
		struct decay d = { 0 };
		int64_t each = 40 * DAY / n;

		for (int i = 0; i < n; i++) {
			int64_t from = NOW + i * each;
			struct decay_charge c = { 4096.0 / n, from, from + each };

			assert_int_equal(decay_add(&d, &week, &c, from + each), 0);
		}
		expect_near(decay_read(&d, &week, NOW + 50 * DAY),
			    decayed_value(&week, whole, NOW + 50 * DAY), 1e-10);
	}
}

static void series_meets_the_formula(void **state)
{
	(void)state;
	for (double x = 0.2; x < 0.6; x += 0.001) {
		struct decay_charge c = { 1, 0, (int64_t)(x * (double)WEEK) };
		double y = (double)c.to_ns / (double)WEEK * 0.693147180559945309;

		expect_near(decayed_value(&week, c, c.to_ns), -expm1(-y) / y, 1e-14);
	}
	expect_near(decayed_value(&week, (struct decay_charge){ 1, 0, 1 }, 1), 1, 1e-15);
	expect_near(decayed_value(&week, (struct decay_charge){ 1, 0, 0 }, WEEK), 0.5, 1e-15);
	/* It ends before it begins: all of it at its end. */
	expect_near(decayed_value(&week, (struct decay_charge){ 1, WEEK, 0 }, WEEK), 0.5,
		    1e-15);
}

static void clock_that_steps_back_neither_fades_nor_grows(void **state)
{
	struct decay d = { 100, NOW };
	struct decay_charge late = { 10, NOW, NOW + DAY }, point = { 10, NOW, NOW };

	(void)state;
	assert_true(decay_read(&d, &week, NOW - WEEK) == 100);
	assert_true(decay_factor(-WEEK, WEEK) == 1);
	assert_int_equal(decay_add(&d, &week, &point, NOW - WEEK), 0);
	assert_int_equal(d.at_ns, NOW);
	assert_true(d.value == 110);
	assert_true(decay_read(&d, &week, NOW + WEEK) == 55);
	/* An interval from the future counts as if it ended now. */
	expect_near(decayed_value(&week, late, NOW), decayed_value(&week, late, NOW + DAY),
		    1e-15);
	expect_near(decay_factor(INT64_MAX, WEEK), 0, 1e-300);
	assert_true(decayed_value(&week, (struct decay_charge){ 1, INT64_MIN, INT64_MIN },
				  INT64_MAX) < 1e-300);
}

static void usage_before_a_reset_counts_nothing(void **state)
{
	const int64_t resets[] = { NOW, NOW + 10 * DAY };
	const struct decay_rule monthly = { 0, resets, 2 }, both = { WEEK, resets, 2 };
	struct decay d = { 0 };
	struct decay_charge across = { 100, NOW - 3 * DAY, NOW + DAY };

	(void)state;
	expect_near(decayed_value(&monthly, across, NOW + DAY), 25, 1e-15);
	assert_true(decayed_value(&monthly, across, NOW + 10 * DAY) == 0);
	expect_near(
		decayed_value(&both, across, NOW + DAY),
		decayed_value(&week, (struct decay_charge){ 25, NOW, NOW + DAY }, NOW + DAY),
		1e-15);
	assert_int_equal(decay_add(&d, &monthly, &across, NOW + DAY), 0);
	expect_near(decay_read(&d, &monthly, NOW + 10 * DAY - 1), 25, 1e-15);
	assert_true(decay_read(&d, &monthly, NOW + 10 * DAY) == 0);
	/* A charge that ends with the reset belongs before it. */
	assert_true(decayed_value(&monthly, (struct decay_charge){ 5, NOW - DAY, NOW }, NOW) ==
		    0);
	assert_true(decayed_value(&monthly, (struct decay_charge){ 5, NOW, NOW }, NOW) == 5);
}

static void refund_undoes_its_charge_and_no_more(void **state)
{
	struct decay d = { 0 };
	struct decay_charge a = { 1000, NOW, NOW + DAY }, b = { 50, NOW, NOW + 2 * DAY };

	(void)state;
	assert_int_equal(decay_add(&d, &week, &a, NOW + DAY), 0);
	assert_int_equal(decay_add(&d, &week, &b, NOW + 3 * DAY), 0);
	assert_int_equal(decay_refund(&d, &week, &a, NOW + 9 * DAY), 0);
	expect_near(d.value, decayed_value(&week, b, NOW + 9 * DAY), 1e-12);
	assert_int_equal(decay_refund(&d, &week, &a, NOW + 9 * DAY), 0);
	assert_true(d.value == 0);
}

static void bad_figures_change_nothing(void **state)
{
	const double bad[] = { -1, NAN, INFINITY, -INFINITY };
	const struct decay_rule negative = { -1, NULL, 0 };
	struct decay d = { 1e308, NOW };
	struct decay_charge huge = { 1.7e308, NOW, NOW };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct decay_charge c = { bad[i], NOW, NOW };

		assert_int_equal(decay_add(&d, &week, &c, NOW), -EINVAL);
	}
	assert_int_equal(decay_add(&d, &negative, &huge, NOW), -EINVAL);
	assert_int_equal(decay_add(&d, &week, &huge, NOW), -ERANGE);
	assert_true(d.value == 1e308 && d.at_ns == NOW);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_half_life_leaves_exactly_one_half),
		cmocka_unit_test(decays_compose),
		cmocka_unit_test(spread_charge_is_the_integral),
		cmocka_unit_test(slices_sum_to_the_whole),
		cmocka_unit_test(series_meets_the_formula),
		cmocka_unit_test(clock_that_steps_back_neither_fades_nor_grows),
		cmocka_unit_test(usage_before_a_reset_counts_nothing),
		cmocka_unit_test(refund_undoes_its_charge_and_no_more),
		cmocka_unit_test(bad_figures_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
