/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_outage - time between outages, second by second as by the sums; overlaps count once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/policy/quota/outage.h"

#define SPANS 4
#define END 40

static int by_begin(const void *a, const void *b)
{
	const struct outage_span *x = a, *y = b;

	return x->from_ns < y->from_ns ? -1 : x->from_ns > y->from_ns;
}

static int is_out(const struct outage_list *o, int64_t at)
{
	for (size_t i = 0; i < o->n; i++)
		if (at >= o->of[i].from_ns && at < o->of[i].to_ns)
			return 1;
	return 0;
}

static int64_t count_plainly(const struct outage_list *o, int64_t from, int64_t to)
{
	int64_t n = 0;

	for (int64_t at = from; at < to; at++)
		n += !is_out(o, at);
	return n;
}

static void sums_are_those_of_each_moment(void **state)
{
	struct outage_span spans[SPANS];
	struct outage_list o = { spans, 0 };

	(void)state;
	srand(7);
	for (int round = 0; round < 2000; round++) {
		o.n = (size_t)(rand() % (SPANS + 1));
		for (size_t i = 0; i < o.n; i++) {
			spans[i].from_ns = rand() % END;
			spans[i].to_ns = spans[i].from_ns + 1 + rand() % 10;
		}
		qsort(spans, o.n, sizeof(*spans), by_begin);
		for (int64_t from = 0; from < END; from += 3) {
			int64_t to = from + rand() % END;
			int64_t n = count_plainly(&o, from, to), moment;

			assert_int_equal(outage_time_without(&o, from, to), n);
			moment = outage_moment_after(&o, from, n);
			assert_int_equal(count_plainly(&o, from, moment), n);
			assert_true(moment <= to);
		}
	}
}

static void the_edges_are_exact(void **state)
{
	struct outage_span week = { 100, 200 };
	const struct outage_list none = { NULL, 0 }, one = { &week, 1 };

	(void)state;
	assert_int_equal(outage_time_without(&none, 5, 25), 20);
	assert_int_equal(outage_time_without(&none, 25, 5), 0);
	assert_int_equal(outage_time_without(&one, 0, 100), 100);
	assert_int_equal(outage_time_without(&one, 0, 101), 100);
	assert_int_equal(outage_time_without(&one, 150, 250), 50);
	assert_int_equal(outage_time_without(&one, 120, 180), 0);
	assert_int_equal(outage_moment_after(&one, 90, 10), 100);
	assert_int_equal(outage_moment_after(&one, 90, 11), 201);
	assert_int_equal(outage_moment_after(&none, 90, INT64_MAX), INT64_MAX);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_those_of_each_moment),
		cmocka_unit_test(the_edges_are_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
