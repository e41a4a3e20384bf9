/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_names - the numbers of names are those of their first use, however many there are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>
#include "controller/simulate/names.h"

#define MANY 50000 /* a table that compares each with all others takes minutes */

static void expect_number(struct sim_names *s, const char *name, uint32_t want)
{
	uint32_t number = UINT32_MAX;

	assert_int_equal(sim_names_number(s, name, &number), 0);
	assert_int_equal(number, want);
}

static void a_name_has_the_number_of_its_first_use(void **state)
{
	static const char *const names[] = { "b", "a", "ab", "ba", "", "B", "aa" };
	struct sim_names s = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 7; i++)
			expect_number(&s, names[i], i);
	assert_int_equal(s.n, 7);
	for (uint32_t i = 0; i < 7; i++)
		assert_string_equal(s.texts[i], names[i]);
	sim_names_done(&s);
	assert_int_equal(s.n, 0);
	expect_number(&s, "a", 0); /* it begins again */
	sim_names_done(&s);
}

static void many_names_keep_their_numbers_while_the_table_grows(void **state)
{
	struct sim_names s = { 0 };
	char name[16];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "u%u", i);
		expect_number(&s, name, i);
		snprintf(name, sizeof(name), "u%u", i / 2);
		expect_number(&s, name, i / 2);
	}
	assert_int_equal(s.n, MANY);
	for (uint32_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "u%u", i);
		assert_string_equal(s.texts[i], name);
	}
	sim_names_done(&s);
}

static void a_name_of_the_greatest_length_is_kept_whole(void **state)
{
	char longest[REQUEST_NAME_MAX], other[REQUEST_NAME_MAX];
	struct sim_names s = { 0 };

	(void)state;
	for (size_t i = 0; i + 1 < sizeof(longest); i++)
		longest[i] = other[i] = 'x';
	longest[sizeof(longest) - 1] = other[sizeof(other) - 1] = '\0';
	other[sizeof(other) - 2] = 'y';
	expect_number(&s, longest, 0);
	expect_number(&s, other, 1);
	expect_number(&s, longest, 0);
	sim_names_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_the_number_of_its_first_use),
		cmocka_unit_test(many_names_keep_their_numbers_while_the_table_grows),
		cmocka_unit_test(a_name_of_the_greatest_length_is_kept_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
