/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_shares - which texts are raw shares: numbers within what can be held, and "parent". */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare.h"

static void numbers_up_to_the_greatest_are_shares(void **state)
{
	static const struct {
		const char *text;
		int64_t shares;
	} rows[] = {
		{ "0", 0 }, { "1", 1 }, { "243", 243 }, { "2147483646", FAIRSHARE_SHARES_MAX }
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t shares = 77;

		assert_int_equal(fairshare_parse_shares(rows[i].text, &shares, NULL), 0);
		assert_int_equal(shares, rows[i].shares);
	}
}

static void parent_is_the_share_of_the_account(void **state)
{
	int64_t shares = 77;

	(void)state;
	assert_int_equal(fairshare_parse_shares("parent", &shares, NULL), 0);
	assert_int_equal(shares, FAIRSHARE_PARENT);
}

static void any_other_text_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = {
		"",    "-1",  "Parent", "parents",    "paren",
		"1.5", "1e3", " 1",	"2147483647", "99999999999999999999"
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct err err = { "" };
		int64_t shares = 77;

		assert_int_equal(fairshare_parse_shares(bad[i], &shares, &err), -EINVAL);
		assert_int_equal(shares, 77);
		assert_true(*err.text);
	}
}

static void too_large_a_number_is_told_the_bounds(void **state)
{
	struct err err = { "" };
	int64_t shares;

	(void)state;
	assert_int_equal(fairshare_parse_shares("2147483647", &shares, &err), -EINVAL);
	assert_string_equal(err.text, "shares are from 0 to 2147483646, or parent");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_up_to_the_greatest_are_shares),
		cmocka_unit_test(parent_is_the_share_of_the_account),
		cmocka_unit_test(any_other_text_is_refused_and_changes_nothing),
		cmocka_unit_test(too_large_a_number_is_told_the_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
