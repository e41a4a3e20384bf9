/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_log - what others can make happen as often as they like fills no log: one line in ten seconds, with a count. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/clock.h"
#include "common/log.h"

/* What `n` calls write, as text. */
static char *log_times(struct log_limit *l, int n)
{
	static char text[4096];
	int was = dup(STDERR_FILENO), ends[2];
	ssize_t size;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	for (int i = 0; i < n; i++)
		log_limited(l, LOG_WARNING, "a connection was refused");
	fflush(stderr);
	dup2(was, STDERR_FILENO);
	close(was);
	size = read(ends[0], text, sizeof(text) - 1);
	close(ends[0]);
	text[size < 0 ? 0 : size] = '\0';
	return text;
}

static void a_repeated_line_is_written_once_in_ten_seconds_with_a_count(void **state)
{
	struct log_limit l = { 0 }, other = { 0 };
	int64_t next_ns;

	(void)state;
	assert_string_equal(log_times(&l, 1000), "<4>reeve: a connection was refused\n");
	assert_in_range(l.next_ns - clock_ns(CLOCK_MONOTONIC), 5 * S_NS, 10 * S_NS);
	assert_string_equal(log_times(&l, 1), "");
	assert_string_equal(log_times(&other, 1), "<4>reeve: a connection was refused\n");
	l.next_ns = next_ns = clock_ns(CLOCK_MONOTONIC) - 1; /* ten seconds later */
	assert_string_equal(log_times(&l, 5),
			    "<4>reeve: a connection was refused (and 1000 more since the last "
			    "such line)\n");
	assert_true(l.next_ns > next_ns + 9 * S_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_repeated_line_is_written_once_in_ten_seconds_with_a_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
