/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_swf - what a line of the Standard Workload Format is, and what it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <stdio.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/swf.h"
#include "tests/unit/rig/exact.h"

#define TAIL " 4 7200 2048 1 7 3 -1 -1 4 -1 -1"

static int parse_line(const char *line, struct history_job *ret)
{
	_cleanup_free_ char *copy = exact_copy(line, strlen(line));
	_cleanup_(swf_done) struct swf f = { .epoch_s = 1000 };

	return swf_parse_line(&f, copy, strlen(line), ret);
}

static void a_job_is_read_with_its_units(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(parse_line("17 5 10 3600 4 100.5 1024" TAIL, &j), HISTORY_OK);
	assert_int_equal(j.number, 17);
	assert_int_equal(j.submit_s, 1005);
	assert_int_equal(j.start_s, 1015);
	assert_int_equal(j.end_s, 4615);
	assert_int_equal(j.ncpus, 4);
	assert_int_equal(j.cpu_ms, 402000);
	assert_int_equal(j.mem_peak_bytes, 4 * 1024 * 1024);
	assert_int_equal(j.mem_bytes, 4 * 2048 * 1024);
	assert_int_equal(j.walltime_s, 7200);
	assert_string_equal(j.user, "u7");
	assert_string_equal(j.account, "g3");
}

static void an_unknown_wait_counts_as_none(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(parse_line("17 5 -1 3600 4 -1 -1" TAIL, &j), HISTORY_OK);
	assert_int_equal(j.start_s, 1005);
	assert_int_equal(j.cpu_ms, -1);
	assert_int_equal(j.mem_peak_bytes, -1);
}

static void every_impossible_row_has_its_reason(void **state)
{
	static const struct {
		const char *line;
		int why;
	} rows[] = {
		{ "", SWF_NO_JOB },
		{ "  \t\r", SWF_NO_JOB },
		{ "; a comment", SWF_NO_JOB },
		{ "17 5 10 0 4 -1 -1" TAIL, HISTORY_NO_RUN_TIME },
		{ "17 5 10 -1 4 -1 -1" TAIL, HISTORY_NO_RUN_TIME },
		{ "17 5 10 60 0 -1 -1" TAIL, HISTORY_NO_CORES },
		{ "17 5 10 60 -1 -1 -1" TAIL, HISTORY_NO_CORES },
		{ "17 5 -2 60 4 -1 -1" TAIL, HISTORY_OK },
		{ "17 5 10 60 4 -1 -1" TAIL " 9", HISTORY_EXTRA_FIELDS },
		{ "17 5 10 60", HISTORY_MISSING_FIELDS },
		{ "17 5 10 6o 4 -1 -1" TAIL, HISTORY_GARBAGE },
		{ "17 5 10 - 4 -1 -1" TAIL, HISTORY_GARBAGE },
		{ "17 5 10 60 4 -1 -1 4 7200 2048 1 -1 -1 -1 -1 4 -1 -1", HISTORY_OK },
		{ "17 5 10 99999999999 4 -1 -1" TAIL, HISTORY_OUT_OF_RANGE },
		{ "17 5 10 60 99999999999999999999999 -1 -1" TAIL, HISTORY_OUT_OF_RANGE },
		{ "99999999999999 5 10 60 4 -1 -1" TAIL, HISTORY_OUT_OF_RANGE },
	};
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_int_equal(parse_line(rows[i].line, &j), rows[i].why);
}

static void the_header_says_when_time_began(void **state)
{
	static const char header[] = "; UnixStartTime: 1027839845 \r";
	static const char job[] = "1 5 10 60 4 -1 -1" TAIL;
	_cleanup_(swf_done) struct swf f = SWF_INIT;
	struct history_job j;

	(void)state;
	assert_int_equal(swf_parse_line(&f, job, strlen(job), &j), HISTORY_NO_EPOCH);
	assert_int_equal(swf_parse_line(&f, header, strlen(header), &j), SWF_NO_JOB);
	assert_int_equal(swf_parse_line(&f, job, strlen(job), &j), HISTORY_OK);
	assert_int_equal(j.submit_s, 1027839850);
}

/* Names of users, groups and queues are numbers of any length; a queue without a number has that of its partition. */
static void every_digit_of_a_number_is_in_its_name(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(parse_line("17 5 0 1 4 -1 -1 2 0 3 1 1205 0 -1 90817 40 -1 -1", &j),
			 HISTORY_OK);
	assert_string_equal(j.user, "u1205");
	assert_string_equal(j.account, "g0");
	assert_string_equal(j.queue, "q90817");
	assert_int_equal(j.start_s, 1005);
	assert_int_equal(j.end_s, 1006);
	assert_int_equal(j.walltime_s, -1);	     /* 0 was not requested */
	assert_int_equal(j.mem_bytes, 2 * 3 * 1024); /* by the processors that were asked for */
	assert_int_equal(parse_line("17 5 0 1 4 -1 -1 0 -1 3 1 -1 -1 -1 -1 40 -1 -1", &j),
			 HISTORY_OK);
	assert_string_equal(j.user, "");
	assert_string_equal(j.account, "");
	assert_string_equal(j.queue, "p40");
	assert_int_equal(j.walltime_s, -1);
	assert_int_equal(j.mem_bytes, 4 * 3 * 1024); /* not said: by those that it had */
	assert_int_equal(parse_line("17 5 0 1 4 0 0" TAIL, &j), HISTORY_OK);
	assert_int_equal(j.cpu_ms, -1); /* nothing was measured: no process has a peak of 0 */
	assert_int_equal(j.mem_peak_bytes, -1);
	assert_int_equal(parse_line("17 5 0 1 4 0 -1" TAIL, &j), HISTORY_OK);
	assert_int_equal(j.cpu_ms, 0);
}

static void no_line_is_read_beyond_its_end(void **state)
{
	static const char *const lines[] = { "17 5 10 3600 4 100.5 1024" TAIL " ",
					     "; UnixStartTime: 1027839845 ",
					     "-1\t+2 -999999999999999999 1e5 0x3 .5 5." };
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		for (size_t size = 0; size <= strlen(lines[i]); size++) {
			_cleanup_free_ char *copy = exact_copy(lines[i], size);
			struct swf f = SWF_INIT;

			assert_int_not_equal(swf_parse_line(&f, copy, size, &j), HISTORY_OK);
			assert_int_equal(f.epoch_s == 1027839845,
					 i == 1 && size >= strlen(lines[i]) - 1);
			swf_done(&f);
		}
}

static void a_header_is_its_key_a_colon_and_a_number(void **state)
{
	static const struct {
		const char *line;
		bool is_read;
	} of[] = {
		{ "; Key: 5", true },	 { ";Key:5", true },
		{ "Key:5", true },	 { ";; \t\r;Key:\t5 \r", true },
		{ "; Key: +5.9", true }, { "; Key:", false },
		{ "; Key", false },	 { "; Ke", false },
		{ "; Key 5", false },	 { "; Keys: 5", false },
		{ "; aKey: 5", false },	 { "; Key: 5 6", false },
		{ "; Key: x", false },	 { "", false },
		{ ";", false },		 { "; Key:  ", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		_cleanup_free_ char *copy = exact_copy(of[i].line, strlen(of[i].line));
		int64_t n = 7;

		if (swf_parse_header(copy, strlen(of[i].line), "Key", &n) != of[i].is_read)
			fail_msg("'%s'", of[i].line);
		assert_int_equal(n, of[i].is_read ? 5 : 7);
	}
}

static void only_a_moment_that_can_be_is_the_epoch(void **state)
{
	static const char negative[] = "; UnixStartTime: -1", zero[] = "; UnixStartTime: 0";
	_cleanup_(swf_done) struct swf f = { .epoch_s = 9 };
	struct history_job j;

	(void)state;
	assert_int_equal(swf_parse_line(&f, negative, strlen(negative), &j), SWF_NO_JOB);
	assert_int_equal(f.epoch_s, 9);
	assert_int_equal(swf_parse_line(&f, zero, strlen(zero), &j), SWF_NO_JOB);
	assert_int_equal(f.epoch_s, 0);
	assert_int_equal(swf_parse_line(&f, "1 0 0 1 1 -1 -1" TAIL, 15 + strlen(TAIL), &j),
			 HISTORY_OK);
	assert_int_equal(j.submit_s, 0);
}

/* The fast way of reading a field and the slow one give the same, around the length where one takes over. */
static void each_field_is_read_whatever_its_length(void **state)
{
	static const char *const fields[] = { "0",
					      "-0",
					      "123456789012345678",
					      "-123456789012345678",
					      "1234567890123456789",
					      "-1152921504606846977",
					      "+5",
					      "7.5",
					      "000000000000000000000000012" };
	static const int64_t want[] = { 0,
					0,
					123456789012345678,
					-123456789012345678,
					HISTORY_AMOUNT_MAX,
					-HISTORY_AMOUNT_MAX,
					5,
					7,
					12 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		int64_t v[_SWF_FIELD_MAX] = { 0 };
		char line[1024] = "";

		for (int k = 0; k < _SWF_FIELD_MAX; k++)
			sprintf(line + strlen(line), "%s%s", k ? "\t " : "",
				k % 2 ? fields[i] : "3");
		assert_int_equal(swf_parse_fields(line, strlen(line), v), HISTORY_OK);
		for (int k = 0; k < _SWF_FIELD_MAX; k++)
			assert_int_equal(v[k], k % 2 ? want[i] : 3);
		strcat(line, " \r");
		assert_int_equal(swf_parse_fields(line, strlen(line), v), HISTORY_OK);
		strcat(line, "1");
		assert_int_equal(swf_parse_fields(line, strlen(line), v), HISTORY_EXTRA_FIELDS);
	}
}

/* Memory and CPU time of all processors together, beyond all numbers. */
static void peaks_beyond_the_numbers_are_not_recorded(void **state)
{
	static const struct {
		const char *line;
		int why;
	} rows[] = {
		/* of 1 processor: 2^50 KiB less one, 2^50, 2^53, and 2^60 */
		{ "1 0 0 1 1 -1 1125899906842623" TAIL, HISTORY_OK },
		{ "1 0 0 1 1 -1 1125899906842624" TAIL, HISTORY_OK },
		{ "1 0 0 1 1 -1 9007199254740992" TAIL, HISTORY_OK },
		{ "1 0 0 1 1 -1 1152921504606846976" TAIL, HISTORY_OK },
		/* 2^53 bytes of each of 1024 processors */
		{ "1 0 0 1 1024 -1 8796093022208" TAIL, HISTORY_OK },
		{ "1 0 0 1 1024 9007199254740992 -1" TAIL, HISTORY_OK },
		{ "1 0 0 1 1000000000 9007199254740992 -1" TAIL, HISTORY_OK },
		{ "1 0 0 1 1 -1 -1 1 -5 -1 1 -1 -1 -1 -1 -1 -1 -1", HISTORY_OK },
	};
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (parse_line(rows[i].line, &j) != rows[i].why)
			fail_msg("%s: %d", rows[i].line, parse_line(rows[i].line, &j));
	assert_int_equal(j.walltime_s, -1);
	assert_int_equal(j.mem_bytes, -1);
	assert_string_equal(j.queue, "");
	assert_int_equal(parse_line("\t 1 \t0\t0 1 2\t 0.0015 -1" TAIL, &j), HISTORY_OK);
	assert_int_equal(j.cpu_ms, 2);
	assert_string_equal(j.queue, "p4");
}

static void parts_of_a_job_are_left_out_where_its_whole_is_there(void **state)
{
	static const struct {
		const char *line;
		int why;
	} rows[] = {
		{ "7 0 0 60 4 -1 -1 4 60 -1 2 5 2 -1 1 0 -1 -1",
		  HISTORY_OK }, /* no whole yet */
		{ "1 0 0 60 4 -1 -1 4 60 -1 1 5 2 -1 1 0 -1 -1", HISTORY_OK },
		{ "1 0 0 20 4 -1 -1 4 60 -1 2 5 2 -1 1 0 -1 -1", HISTORY_PART },
		{ "1 0 0 20 4 -1 -1 4 60 -1 3 5 2 -1 1 0 -1 -1", HISTORY_PART },
		{ "1 0 0 20 4 -1 -1 4 60 -1 4 5 2 -1 1 0 -1 -1", HISTORY_PART },
		{ "1 0 0 20 4 -1 -1 4 60 -1 5 5 2 -1 1 0 -1 -1", HISTORY_OK },
		{ "268435455 0 0 9 4 -1 -1 4 60 -1 0 5 2 -1 1 0 -1 -1", HISTORY_OK },
		{ "268435455 0 0 9 4 -1 -1 4 60 -1 4 5 2 -1 1 0 -1 -1", HISTORY_PART },
		{ "268435456 0 0 9 4 -1 -1 4 60 -1 0 5 2 -1 1 0 -1 -1", HISTORY_OK },
		{ "268435456 0 0 9 4 -1 -1 4 60 -1 4 5 2 -1 1 0 -1 -1", HISTORY_OK },
		{ "-1 0 0 9 4 -1 -1 4 60 -1 4 5 2 -1 1 0 -1 -1", HISTORY_OUT_OF_RANGE },
	};
	_cleanup_(swf_done) struct swf f = { .epoch_s = 1000 };
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (swf_parse_line(&f, rows[i].line, strlen(rows[i].line), &j) != rows[i].why)
			fail_msg("%s", rows[i].line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_read_with_its_units),
		cmocka_unit_test(an_unknown_wait_counts_as_none),
		cmocka_unit_test(parts_of_a_job_are_left_out_where_its_whole_is_there),
		cmocka_unit_test(every_impossible_row_has_its_reason),
		cmocka_unit_test(the_header_says_when_time_began),
		cmocka_unit_test(no_line_is_read_beyond_its_end),
		cmocka_unit_test(every_digit_of_a_number_is_in_its_name),
		cmocka_unit_test(a_header_is_its_key_a_colon_and_a_number),
		cmocka_unit_test(only_a_moment_that_can_be_is_the_epoch),
		cmocka_unit_test(each_field_is_read_whatever_its_length),
		cmocka_unit_test(peaks_beyond_the_numbers_are_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
