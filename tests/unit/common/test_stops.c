/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_stops.c - the name under which a stop of the event loop is counted, and which stops are logged. */
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
#include "common/stops/stops.h"

static const struct stops_row *find_row(const char *name)
{
	const struct stops_row *row;

	for (size_t i = 0; (row = stops_row(i)); i++)
		if (!strcmp(row->name, name))
			return row;
	return NULL;
}

/* The clock of this program: a busy machine changes nothing. */
static int64_t fake_ns = S_NS;

int clock_gettime(clockid_t which, struct timespec *ret)
{
	(void)which;
	ret->tv_sec = fake_ns / S_NS;
	ret->tv_nsec = fake_ns % S_NS;
	return 0;
}

static void spend_ms(int64_t ms)
{
	fake_ns += ms * MS_NS;
}

static void run_inner(int64_t ms)
{
	STOPS_IN("inner");
	assert_true(!strcmp(stops_now(), "inner"));
	spend_ms(ms);
}

/* `own`: before and behind what lies within. */
static void run_outer(int64_t own_ms, int64_t inner_ms)
{
	STOPS_IN("outer");
	spend_ms(own_ms / 2);
	for (int i = 0; i < 3; i++)
		run_inner(inner_ms / 3);
	assert_true(!strcmp(stops_now(), "outer"));
	spend_ms(own_ms / 2);
}

static int64_t count_of(const struct stops_row *row)
{
	int64_t n = 0;

	for (int i = 0; row && i <= STOPS_BOUNDS; i++)
		n += row->buckets[i];
	return n;
}

static void a_stop_counts_under_the_name_that_had_most_of_its_time(void **state)
{
	(void)state;
	stops_begin();
	run_outer(2, 12);
	stops_end();
	assert_true(count_of(find_row("inner")) == 1 && !find_row("outer"));
	assert_true(find_row("inner")->sum_ns == 14 * MS_NS); /* the whole dispatch */
	stops_begin();
	run_outer(12, 3);
	stops_end();
	assert_true(count_of(find_row("outer")) == 1 && count_of(find_row("inner")) == 1);
	assert_true(find_row("outer")->longest_ns == 15 * MS_NS);
	assert_int_equal(find_row("outer")->buckets[3], 1); /* above 10 ms, up to 25 ms */
}

static void what_has_no_name_counts_as_other(void **state)
{
	(void)state;
	stops_begin();
	spend_ms(2);
	run_inner(0);
	stops_end();
	assert_true(count_of(find_row("other")) == 1);
	assert_true(!strcmp(stops_now(), "other"));
}

static void names_without_a_row_count_as_other(void **state)
{
	static char names[200][8];
	const struct stops_row *row;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 200; i++) {
		snprintf(names[i], sizeof(names[i]), "n%d", i);
		stops_begin();
		stops_leave(stops_enter(names[i]));
		stops_end();
	}
	while ((row = stops_row(n)))
		n++;
	assert_true(n <= 128);
}

/* The lines of a stop of `ms`, to standard error. */
static void log_lines(int64_t ms, char *ret, size_t size)
{
	char path[] = "/tmp/test_stops.XXXXXX";
	int fd = mkstemp(path), before = dup(STDERR_FILENO);
	ssize_t n;

	assert_true(fd >= 0 && dup2(fd, STDERR_FILENO) >= 0);
	stops_begin();
	run_inner(ms);
	stops_end();
	dup2(before, STDERR_FILENO);
	n = pread(fd, ret, size - 1, 0);
	assert_true(n >= 0);
	ret[n] = '\0';
	close(before);
	close(fd);
	unlink(path);
}

static void a_long_stop_is_logged_with_its_name_once_in_ten_seconds(void **state)
{
	char text[400];

	(void)state;
	log_lines(20, text, sizeof(text));
	assert_true(!*text);
	log_lines(STOPS_LOG_NS / MS_NS + 5, text, sizeof(text));
	assert_true(strstr(text, "the event loop stood still for 0.205 s") &&
		    strstr(text, "inner had 0.20"));
	log_lines(STOPS_LOG_NS / MS_NS + 5, text, sizeof(text));
	assert_true(!*text);
	spend_ms(10000);
	log_lines(STOPS_LOG_NS / MS_NS + 5, text, sizeof(text));
	assert_true(strstr(text, "(and 1 more since the last such line)"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stop_counts_under_the_name_that_had_most_of_its_time),
		cmocka_unit_test(what_has_no_name_counts_as_other),
		cmocka_unit_test(a_long_stop_is_logged_with_its_name_once_in_ten_seconds),
		cmocka_unit_test(names_without_a_row_count_as_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
