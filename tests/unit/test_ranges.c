/* test_ranges - a set kept as ranges is the same set, whatever is taken out in which order. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/ranges.h"

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

/* Against a plain table of booleans, for many random orders of taking and removing. */
static void what_is_taken_is_gone_and_nothing_else(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct ranges r = { 0 };
		bool is_in[WORLD];
		int64_t taken[4];

		memset(is_in, true, sizeof(is_in));
		assert_int_equal(ranges_parse("0-63", &r), 0);
		for (int step = 0; step < 90; step++) {
			int64_t n, number;

			seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;
			number = (int64_t)(seed >> 33) % WORLD;
			if (seed >> 60 < 10) {
				assert_int_equal(ranges_remove(&r, number), is_in[number]);
				is_in[number] = false;
			} else {
				n = (int64_t)ranges_take(&r, (seed >> 40) % 4, taken);
				for (int64_t k = 0, i = 0; k < n; k++) {
					while (!is_in[i])
						i++;
					assert_int_equal(taken[k], i); /* the lowest */
					is_in[i] = false;
				}
			}
			n = 0;
			for (int i = 0; i < WORLD; i++) {
				assert_int_equal(ranges_has(&r, i), is_in[i]);
				n += is_in[i];
			}
			assert_int_equal(ranges_count(&r), n);
		}
		ranges_done(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_read_and_print_back),
		cmocka_unit_test(what_is_taken_is_gone_and_nothing_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
