/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share a bounded thing (common/fair.h): few never hold all of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/fair.h"

/* Connections of a large and of a small controller, consoles, KiB of bodies. */
static const struct fair_use kinds[] = {
	{ .max = 2048, .most = 512, .least = 4, .part = 8 },
	{ .max = 32, .most = 8, .least = 2, .part = 8 },
	{ .max = 512, .most = 32, .least = 2, .part = 8 },
	{ .max = 65536, .most = 24576, .least = 128, .part = 1 },
};

/* Takes, for a new user, one after the other as much as is allowed. */
static int64_t take_all(struct fair_use *u)
{
	for (u->used = 0; fair_has_room(u, 1); u->used++)
		u->all_used++;
	return u->used;
}

static void one_user_alone_gets_the_most(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct fair_use u = kinds[i];

		assert_int_equal(take_all(&u), u.most);
	}
}

static void a_few_who_take_all_they_can_leave_room_for_others(void **unused)
{
	static const int few[ARRAY_LEN(kinds)] = { 30, 8, 30, 6 };

	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct fair_use u = kinds[i];

		for (int n = 0; n < few[i]; n++)
			assert_true(take_all(&u) >= u.least);
		assert_true(u.max - u.all_used >= u.least);
		assert_true(take_all(&u) >= u.least);
	}
}

static void all_of_it_can_be_used_and_no_more(void **unused)
{
	(void)unused;
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		struct fair_use u = kinds[i];

		for (int64_t n = 0; n < u.max; n++)
			take_all(&u);
		assert_int_equal(u.all_used, u.max);
	}
}

static void much_at_once_is_judged_as_a_whole(void **unused)
{
	const struct fair_use half_gone = { .max = 100, .all_used = 50, .most = 40, .part = 4 };

	(void)unused;
	assert_true(fair_has_room(&half_gone, 10)); /* of 40 that are left then */
	assert_false(fair_has_room(&half_gone, 11));
	assert_true(fair_has_room(&(struct fair_use){ .max = 100, .most = 40, .part = 4 }, 40));
	assert_false(
		fair_has_room(&(struct fair_use){ .max = 100, .most = 40, .part = 4 }, 41));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_alone_gets_the_most),
		cmocka_unit_test(a_few_who_take_all_they_can_leave_room_for_others),
		cmocka_unit_test(all_of_it_can_be_used_and_no_more),
		cmocka_unit_test(much_at_once_is_judged_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
