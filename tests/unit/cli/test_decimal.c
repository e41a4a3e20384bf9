/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_decimal - every number is written as printf() writes it, ties and signs included.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/output/decimal.h"

static void assert_as_printf(double v, int decimals)
{
	char got[DECIMAL_TEXT_MAX] = "", want[64];

	int n = decimal_format(v, decimals, got);

	assert_int_equal(n, strlen(got));
	snprintf(want, sizeof(want), "%.*f", decimals, v);
	assert_string_equal(got, want);
}

static void ties_and_edges(void **state)
{
	static const double values[] = { 0,
					 -0.0,
					 0.5,
					 1.5,
					 2.5,
					 0.125,
					 0.375,
					 1e-7,
					 5e-7,
					 1.5e-6,
					 0.0000005,
					 0x1p-20,
					 0x1p-52,
					 0x1p-1074,
					 0x1p-130,
					 0.9999995,
					 999999.9999995,
					 0x1.fffffffffffffp32,
					 4294967296.5,
					 1,
					 1e9,
					 1.0 / 3 };

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		for (int d = 0; d <= DECIMAL_DIGITS_MAX; d++) {
			assert_as_printf(values[i], d);
			assert_as_printf(-values[i], d);
		}
}

/* Multiples of 2^-k are exact ties at k - 1 decimals and fewer; others are any bits. */
static void any_number(void **state)
{
	uint64_t seed = 1;
	double v;

	(void)state;
	for (int i = 0; i < 300000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		v = ldexp((double)(seed >> 11), -20 - (int)(seed & 63));
		assert_as_printf(v < 0x1p33 ? v : 0.5,
				 (int)((seed >> 7) % (DECIMAL_DIGITS_MAX + 1)));
		assert_as_printf((double)(seed >> 40) / 1024, (int)(seed >> 9) & 7);
	}
}

static void what_is_too_large_is_refused(void **state)
{
	char text[DECIMAL_TEXT_MAX] = "kept";

	(void)state;
	assert_int_equal(decimal_format(0x1p33, 6, text), -ERANGE);
	assert_int_equal(decimal_format(-0x1p33, 6, text), -ERANGE);
	assert_int_equal(decimal_format(INFINITY, 6, text), -ERANGE);
	assert_int_equal(decimal_format(NAN, 6, text), -ERANGE);
	assert_int_equal(decimal_format(1, DECIMAL_DIGITS_MAX + 1, text), -ERANGE);
	assert_int_equal(decimal_format(1, -1, text), -ERANGE);
	assert_string_equal(text, "kept");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ties_and_edges),
		cmocka_unit_test(any_number),
		cmocka_unit_test(what_is_too_large_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
