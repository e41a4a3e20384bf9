/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_round_robin - a user who submits thousands of jobs delays only themselves. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "controller/api/submit/round_robin.h"

struct thing {
	struct round_robin_entry entry;
	uint32_t uid;
	int number;
};

static struct thing things[20000];

static void add_thing(struct round_robin *l, int i, uint32_t uid)
{
	things[i] = (struct thing){ .uid = uid, .number = i };
	assert_int_equal(round_robin_add(l, uid, &things[i].entry), 0);
}

static void the_first_entry_of_another_user_is_second(void **state)
{
	struct round_robin l = { 0 };

	(void)state;
	for (int i = 0; i < 10000; i++)
		add_thing(&l, i, 1);
	add_thing(&l, 10000, 2);
	assert_int_equal(((struct thing *)round_robin_take(&l))->number, 0);
	assert_int_equal(((struct thing *)round_robin_take(&l))->number, 10000);
	for (int i = 1; i < 10000; i++)
		assert_int_equal(((struct thing *)round_robin_take(&l))->number, i);
	assert_null(round_robin_take(&l));
	assert_true(round_robin_is_empty(&l));
}

/* In any order of arrivals: no entry is lost, each user's own order is kept, and no user is
 * passed twice by the same other user while they wait. */
static void each_waiting_user_is_served_once_before_any_twice(void **state)
{
	enum { USERS = 7 };
	int waiting[USERS] = { 0 }, last[USERS], since[USERS][USERS] = { 0 };
	struct round_robin l = { 0 };
	uint64_t seed = 3;
	int n = 0, taken = 0;

	(void)state;
	for (int u = 0; u < USERS; u++)
		last[u] = -1;
	while (taken < 20000) {
		struct thing *t = NULL;

		seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
		if (n < 20000 && (seed >> 33) % 5 < 3) {
			uint32_t u = (uint32_t)((seed >> 40) % 13 % USERS);

			add_thing(&l, n++, u);
			if (waiting[u]++ == 0)
				for (int v = 0; v < USERS; v++)
					since[u][v] = 0;
			continue;
		}
		t = (struct thing *)round_robin_take(&l);
		if (!t)
			continue;
		taken++;
		assert_true(t->number > last[t->uid]);
		last[t->uid] = t->number;
		waiting[t->uid]--;
		for (int v = 0; v < USERS; v++) {
			since[t->uid][v] = 0;
			if (v != (int)t->uid && waiting[v])
				assert_in_range(++since[v][t->uid], 1, 1);
		}
	}
	assert_true(round_robin_is_empty(&l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_entry_of_another_user_is_second),
		cmocka_unit_test(each_waiting_user_is_served_once_before_any_twice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
