/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ranges - a set kept as ranges is the same set, whatever is taken out in which order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/ledger/jobs/ranges.h"

static void texts_read_and_print_back(void **state)
{
	static const char *const good[] = { "", "0", "0-999999999", "1,3,5-7,9", "0-1,3-4" };
	static const char *const bad[] = { "a",	  "-1",	 "1-",	  "1,", ",1",	 "2-1",
					   "1,2", "3,1", "1-3,3", "1 ", "1-3,4", "1--2" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		struct ranges r = { 0 };
		_cleanup_free_ char *text = NULL;

		assert_int_equal(ranges_parse(good[i], &r), 0);
		text = ranges_format(&r);
		assert_string_equal(text, good[i]);
		ranges_done(&r);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct ranges r = { 0 };

		if (ranges_parse(bad[i], &r) != -EINVAL)
			fail_msg("'%s' was taken", bad[i]);
	}
}

#define WORLD 64

struct world {
	struct ranges r;
	bool is_in[WORLD];
};

static void remove_one(struct world *w, int64_t number)
{
	assert_int_equal(ranges_remove(&w->r, number), w->is_in[number]);
	w->is_in[number] = false;
}

static void take_lowest(struct world *w, size_t max)
{
	int64_t taken[4], n = (int64_t)ranges_take(&w->r, max, taken);

	for (int64_t k = 0, i = 0; k < n; k++) {
		while (!w->is_in[i])
			i++;
		assert_int_equal(taken[k], i);
		w->is_in[i] = false;
	}
}

static void expect_same(const struct world *w)
{
	int64_t n = 0;

	for (int i = 0; i < WORLD; i++) {
		assert_int_equal(ranges_has(&w->r, i), w->is_in[i]);
		n += w->is_in[i];
	}
	assert_int_equal(ranges_count(&w->r), n);
}

/* Against a plain table of booleans, for many random orders of taking and removing. */
static void a_range_that_is_removed_leaves_all_others(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct world w = { 0 };

		memset(w.is_in, true, sizeof(w.is_in));
		assert_int_equal(ranges_parse("0-63", &w.r), 0);
		for (int step = 0; step < 90; step++) {
			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			if (seed >> 60 < 10)
				remove_one(&w, (int64_t)(seed >> 33) % WORLD);
			else
				take_lowest(&w, (seed >> 40) % 4);
			expect_same(&w);
		}
		ranges_done(&w.r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_read_and_print_back),
		cmocka_unit_test(a_range_that_is_removed_leaves_all_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
