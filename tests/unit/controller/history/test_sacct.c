/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sacct - what a line of sacct's 26 fields is, and what it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/sacct.h"
#include "tests/unit/rig/exact.h"

struct line {
	const char *raw, *user, *start, *end, *cpus, *memory, *tres, *limit;
};
static const struct line good = { "9",	"ann",	  "2016-02-29T23:00:00", "2016-03-01T01:00:00",
				  "12", "2000Mn", "cpu=12,gres/gpu=2",	 "1-06:00:00" };

static int parse_line(struct line l, struct history_job *ret)
{
	struct sacct f = { 0 };
	_cleanup_free_ char *copy = NULL;
	char text[512];

	snprintf(text, sizeof(text),
		 "%s|%s|c1|p|q|phys|g|1|%s|2|2016-02-29T22:00:00|x|%s|%s|e|0:0|COMPLETED|3|%s|"
		 "12|%s|t|%s|%s|n[1-3]|a|name",
		 l.raw, l.raw, l.user, l.start, l.end, l.cpus, l.memory, l.tres, l.limit);
	copy = exact_copy(text, strlen(text));
	return sacct_parse_line(&f, copy, strlen(text), ret);
}

static void a_job_is_read_with_its_units(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(parse_line(good, &j), HISTORY_OK);
	assert_int_equal(j.number, 9);
	assert_int_equal(j.submit_s, 1456783200);
	assert_int_equal(j.end_s - j.start_s, 7200);
	assert_int_equal(j.start_s - j.submit_s, 3600);
	assert_int_equal(j.ncpus, 12);
	assert_int_equal(j.ngpus, 2);
	assert_int_equal(j.mem_bytes, 3LL * 2000 << 20);
	assert_int_equal(j.walltime_s, 30 * 3600);
	assert_string_equal(j.user, "ann");
	assert_string_equal(j.account, "phys");
	assert_string_equal(j.cluster, "c1");
}

/* Clocks that were set back an hour at 1000000: times of the hour before come twice.
 */
static int64_t went_back(void *ctx, int64_t local_s, enum sacct_which which)
{
	(void)ctx;
	if (local_s >= 1000000)
		return local_s + 3600;
	return local_s < 1000000 - 3600 || which == SACCT_EARLIER ? local_s : local_s + 3600;
}

/* 1970-01-12T13:46:40 is 1000000. */
static void elapsed_says_which_of_two_hours_it_was(void **state)
{
	static const struct {
		const char *start, *end, *elapsed;
		int64_t start_s, end_s;
	} cases[] = {
		{ "12:00:00", "12:30:00", "00:30:00", 993600, 995400 },
		{ "12:56:40", "13:36:40", "00:40:00", 997000, 999400 }, /* both in the first */
		{ "12:56:40", "13:36:40", "01:40:00", 997000, 1003000 },
		{ "12:56:40", "14:00:00", "02:03:20", 997000, 1004400 },
		{ "12:56:40", "14:00:00", "01:03:20", 1000600, 1004400 },
		{ "13:36:40", "12:56:40", "00:20:00", 999400, 1000600 }, /* ends "before" */
		{ "14:00:00", "15:00:00", "01:00:00", 1004400, 1008000 },
	};
	struct sacct f = { .zone = went_back };
	struct history_job j;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text),
			 "7|7|c1|p|q|phys|g|1|ann|2|1970-01-12T11:00:00|x|1970-01-12T%s|"
			 "1970-01-12T%s|%s|0:0|COMPLETED|1|1|1|1Gn|t|cpu=1|1:00:00|n1|a",
			 cases[i].start, cases[i].end, cases[i].elapsed);
		assert_int_equal(sacct_parse_line(&f, text, strlen(text), &j), HISTORY_OK);
		assert_int_equal(j.start_s, cases[i].start_s);
		assert_int_equal(j.end_s, cases[i].end_s);
	}
}

static void memory_is_what_was_allocated_or_asked(void **state)
{
	struct line l = good;
	struct history_job j;

	(void)state;
	l.tres = "cpu=12,mem=62.50G,node=3";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, 125LL << 29);
	l.tres = "cpu=12";
	l.memory = "4Gc";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, 48LL << 30);
	l.memory = "2147486648Mn"; /* no limit was requested */
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, -1);
}

static void every_impossible_row_has_its_reason(void **state)
{
	const struct {
		size_t field;
		const char *value;
		int why;
	} rows[] = {
		{ offsetof(struct line, end), "2016-02-29T22:59:59", HISTORY_ENDS_TOO_SOON },
		{ offsetof(struct line, end), "2016-02-29T23:00:00", HISTORY_NO_RUN_TIME },
		{ offsetof(struct line, end), "2017-02-29T23:00:00", HISTORY_GARBAGE },
		{ offsetof(struct line, end), "2016-03-01 01:00:00", HISTORY_OK },
		{ offsetof(struct line, end), "Unknown", HISTORY_NOT_ENDED },
		{ offsetof(struct line, start), "Unknown", HISTORY_NOT_STARTED },
		{ offsetof(struct line, start), "2016-02-29T21:00:00", HISTORY_OK },
		{ offsetof(struct line, cpus), "0", HISTORY_OK },
		{ offsetof(struct line, cpus), "", HISTORY_OK },
		{ offsetof(struct line, user), "", HISTORY_OK },
		{ offsetof(struct line, user), "a b", HISTORY_OK },
		{ offsetof(struct line, raw), "9x", HISTORY_GARBAGE },
		{ offsetof(struct line, raw), "9.batch", SACCT_NO_JOB },
		{ offsetof(struct line, tres), "gres/gpu=many", HISTORY_GARBAGE },
	};
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct line l = good;

		memcpy((char *)&l + rows[i].field, &rows[i].value, sizeof(rows[i].value));
		assert_int_equal(parse_line(l, &j), rows[i].why);
	}
	assert_int_equal(sacct_parse_line(&(struct sacct){ 0 }, "1|2|3", 5, &j),
			 HISTORY_MISSING_FIELDS);
	assert_int_equal(sacct_parse_line(&(struct sacct){ 0 }, "", 0, &j), SACCT_NO_JOB);
}

/* Every day of 140 years, and the edges of the clock, as the C library counts them. */
static void times_are_those_of_the_calendar(void **state)
{
	static const char *const bad[] = { "1969-12-31T23:59:59", "2100-02-29T00:00:00",
					   "2023-04-31T00:00:00", "2023-12-32T00:00:00",
					   "2023-00-10T00:00:00", "2023-13-10T00:00:00",
					   "2023-01-00T00:00:00", "2023-01-01T24:00:00",
					   "2023-01-01T00:60:00", "2023-01-01T00:00:61",
					   "2023-01-01T00:00:0x", "2023-01-01T00:00:000",
					   "2023-01-01T00-00:00", "2023-01-01T00:00-00",
					   "2023-0101-T00:00:00", "20230-01-1T00:00:00" };
	struct line l = good;
	struct history_job j;
	char text[64];

	(void)state;
	l.start = "1970-01-01T00:00:00";
	for (time_t day = 1; day < 140 * 366; day++) {
		time_t at = day * 86400 + day % 86400;
		struct tm tm;

		gmtime_r(&at, &tm);
		strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
		l.end = text;
		parse_line(l, &j); /* its submission is later than its start: not judged here */
		assert_int_equal(j.end_s, at);
		assert_int_equal(j.start_s, 0);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		l.end = bad[i];
		if (parse_line(l, &j) != HISTORY_GARBAGE)
			fail_msg("%s", bad[i]);
	}
	l = good;
	l.end = "2016-12-31T23:59:60"; /* a leap second */
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.end_s, 1483228800);
}

static void limits_are_read_in_each_form_and_no_other(void **state)
{
	static const struct {
		const char *text;
		int64_t walltime_s;
	} of[] = {
		{ "30:00", 1800 },
		{ "1:02:03", 3723 },
		{ "59", 59 },
		{ "2-00:00:00", 172800 },
		{ "1-02:03:04", 93784 },
		{ "100:00:00", 360000 },
		{ "00:00:00", -1 },
		{ "", -1 },
		{ "UNLIMITED", -1 },
		{ "Partition_Limit", -1 },
		{ "1:", -1 },
		{ ":30", -1 },
		{ "1:2:3:4", -1 },
		{ "-1:00:00", -1 },
		{ "1-2-3:00", -1 },
		{ "1:00-2", -1 },
		{ "1 :00", -1 },
		{ "999999999", 999999999 },
		{ "1000000000", -1 },
		{ "1-", -1 },
	};
	struct line l = good;
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		l.limit = of[i].text;
		assert_int_equal(parse_line(l, &j), HISTORY_OK);
		if (j.walltime_s != of[i].walltime_s)
			fail_msg("%s: %lld", of[i].text, (long long)j.walltime_s);
	}
}

static void memory_is_read_in_each_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} of[] = {
		{ "8000", 8000LL << 20 },
		{ "1K", 1 << 10 },
		{ "3M", 3 << 20 },
		{ "2G", 2LL << 30 },
		{ "1T", 1LL << 40 },
		{ "1P", 1LL << 50 },
		{ "1.5G", 3LL << 29 },
		{ "0.25K", 256 },
		{ "62.50G", 125LL << 29 },
		{ "0", -1 },
		{ "1.0000001K", 1024 },
		{ "1.500000999K", 1536 },
		{ "", -1 },
		{ "G", -1 },
		{ "1X", -1 },
		{ "1GB", -1 },
		{ ".5G", -1 },
		{ "-1G", -1 },
		{ "2c", 24LL << 20 },
		{ "2n", 6LL << 20 },
		{ "1.5Gc", 18LL << 30 },
		{ "2147483648M", -1 },
		{ "2147483647K", 2147483647LL << 10 },
	};
	struct line l = good;
	struct history_job j;

	(void)state;
	l.tres = "cpu=12";
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		l.memory = of[i].text;
		parse_line(l, &j);
		if (j.mem_bytes != of[i].bytes)
			fail_msg("%s: %lld", of[i].text, (long long)j.mem_bytes);
	}
	l.tres = "mem=2147483648M"; /* allocated, not requested: as it is */
	parse_line(l, &j);
	assert_int_equal(j.mem_bytes, 1LL << 51);
}

static void gpus_are_those_of_the_models_and_the_rest_without(void **state)
{
	static const struct {
		const char *tres;
		int why;
		int64_t ngpus, a100, unnamed;
	} of[] = {
		{ "cpu=1,gres/gpu=3", HISTORY_OK, 3, 0, 3 },
		{ "gres/gpu=3,gres/gpu:a100=3", HISTORY_OK, 3, 3, 0 },
		{ "gres/gpu:A100=2,gres/gpu=3", HISTORY_OK, 3, 2, 1 },
		{ "gres/gpu:Z@[=1", HISTORY_OK, 1, 0, 1 },
		{ "gres/gpu:a100=2", HISTORY_OK, 2, 2, 0 },
		{ "gres/gpu:a100=2,gres/gpu=1", HISTORY_OK, 2, 2, 0 },
		{ "gres/gpu:a100=0", HISTORY_OK, 0, 0, 0 },
		{ "gres/gpumem=40", HISTORY_OK, 0, 0, 0 },
		{ "gres/gpu:=4", HISTORY_OK, 0, 0, 0 },
		{ "gres/gpu=-1", HISTORY_GARBAGE, 0, 0, 0 },
		{ "gres/gpu=1000000000", HISTORY_OK, 1000000000, 0, 1000000000 },
		{ "gres/gpu=1000000001", HISTORY_GARBAGE, 0, 0, 0 },
		{ "gres/gpu=", HISTORY_GARBAGE, 0, 0, 0 },
		{ "gres/gpu", HISTORY_GARBAGE, 0, 0, 0 },
	};
	struct line l = good;
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		l.tres = of[i].tres;
		if (parse_line(l, &j) != of[i].why)
			fail_msg("%s", of[i].tres);
		if (of[i].why != HISTORY_OK)
			continue;
		assert_int_equal(j.ngpus, of[i].ngpus);
		assert_int_equal(gpus_count(&j.gpus, "a100"), of[i].a100);
		assert_int_equal(j.gpus.n, (of[i].a100 > 0) + (of[i].unnamed > 0));
	}
}

/* Elapsed leaves out what was suspended; an elapsed that is longer, or not readable, says nothing. */
static void suspended_time_is_what_elapsed_leaves_out(void **state)
{
	static const struct {
		const char *elapsed;
		int64_t suspended_s;
	} of[] = { { "02:00:00", 0 }, { "01:59:59", 1 },   { "00:00:01", 7199 },
		   { "02:00:01", 0 }, { "unreadable", 0 }, { "", 0 } };
	struct sacct f = { 0 };
	struct history_job j;
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		snprintf(
			text, sizeof(text),
			"7|7|c1|p|q|phys|g|1|ann|2|1970-01-12T11:00:00|x|1970-01-12T11:00:00|"
			"1970-01-12T13:00:00|%s|0:0|COMPLETED|1|1|1|1Gn|t|cpu=1|1:00:00|n1|a\r",
			of[i].elapsed);
		assert_int_equal(sacct_parse_line(&f, text, strlen(text), &j), HISTORY_OK);
		assert_int_equal(j.suspended_s, of[i].suspended_s);
		assert_string_equal(j.queue, "p");
		assert_string_equal(j.qos, "q");
		assert_int_equal(j.nodes, 1);
	}
	snprintf(text, sizeof(text),
		 "7|7|c1|p|q|phys|g|1|ann|2|1970-01-12T11:00:00|x|1970-01-12T11:00:00|"
		 "1970-01-12T13:00:00|00:00:00|0:0|COMPLETED|1|1|1|1Gn|t|cpu=1|1:00:00|n1|a");
	assert_int_equal(sacct_parse_line(&f, text, strlen(text), &j), HISTORY_NO_RUN_TIME);
	assert_int_equal(sacct_parse_line(&f, "\r", 1, &j), SACCT_NO_JOB);
}

static void no_line_is_read_beyond_its_end(void **state)
{
	static const char line[] =
		"9_3|9|c1|p|q|phys|g|1|ann|2|2016-02-29T22:00:00|x|2016-02-29T23:00:00|"
		"2016-03-01T01:00:00|02:00:00|0:0|COMPLETED|3|12|12|2000Mn|t|"
		"cpu=12,gres/gpu:a100=2,mem=4G|1-06:00:00|n[1-3]|a|name";
	struct history_job j;

	(void)state;
	for (size_t size = 0; size < sizeof(line); size++) {
		_cleanup_free_ char *copy = exact_copy(line, size);
		struct sacct f = { 0 };

		sacct_parse_line(&f, copy, size, &j);
	}
}

static const struct {
	int field;
	const char *value;
	int why;
} changed_fields[] = {
	{ 0, "JobIDRaw", HISTORY_OK },
	{ 1, "", HISTORY_GARBAGE },
	{ 1, "1.0", SACCT_NO_JOB },
	{ 2, "a b", HISTORY_OK },
	{ 3, "a b", HISTORY_OK },
	{ 4, "a b", HISTORY_OK },
	{ 5, "a b", HISTORY_OK },
	{ 6, "a b", HISTORY_OK },
	{ 8, "a b", HISTORY_OK },
	{ 10, "x", HISTORY_OK },
	{ 12, "x", HISTORY_GARBAGE },
	{ 12, "None", HISTORY_NOT_STARTED },
	{ 13, "x", HISTORY_GARBAGE },
	{ 13, "None", HISTORY_GARBAGE },
	{ 17, "x", HISTORY_OK },
	{ 17, "-1", HISTORY_OK },
	{ 16, "RUNNING", HISTORY_NOT_ENDED },
	{ 16, "SUSPENDED", HISTORY_NOT_ENDED },
	{ 16, "COMPLETING", HISTORY_NOT_ENDED },
	{ 16, "RESIZING", HISTORY_OK }, /* the part before the job was resized */
	{ 16, "REQUEUED", HISTORY_OK },
	{ 16, "CANCELLED by 1001", HISTORY_OK },
	{ 18, "x", HISTORY_OK },
	{ 18, "1000000001", HISTORY_OUT_OF_RANGE },
	{ 19, "x", HISTORY_OK },
	{ 22, "mem=1024P", HISTORY_OUT_OF_RANGE },
	{ 22, "mem=1023.99P", HISTORY_OK },
	{ 22, "mem=1099511627776P", HISTORY_OUT_OF_RANGE },
	{ 22, "mem=10995116277760K", HISTORY_OK }, /* too many digits: not recorded */
	{ 22,
	  "gres/gpu:a=1,gres/gpu:b=1,gres/gpu:c=1,gres/gpu:d=1,gres/gpu:e=1,"
	  "gres/gpu:f=1,gres/gpu:g=1,gres/gpu:h=1,gres/gpu:i=1",
	  HISTORY_OK },
	{ 22,
	  "gres/gpu:a=1,gres/gpu:b=1,gres/gpu:c=1,gres/gpu:d=1,gres/gpu:e=1,"
	  "gres/gpu:f=1,gres/gpu:g=1,gres/gpu:h=1,gres/gpu:i=1,gres/gpu:j=1",
	  HISTORY_OUT_OF_RANGE },
	{ 22,
	  "gres/gpu:a=1,gres/gpu:b=1,gres/gpu:c=1,gres/gpu:d=1,gres/gpu:e=1,"
	  "gres/gpu:f=1,gres/gpu:g=1,gres/gpu:h=1,gres/gpu:i=1,gres/gpu=10",
	  HISTORY_OUT_OF_RANGE },
	{ 22, "gres/gpu:a b=1", HISTORY_OK },
	{ 23, "x", HISTORY_OK },
};

/* Each field is the only one that is changed. */
static void each_field_has_its_own_fault(void **state)
{
	struct sacct f = { 0 };
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < sizeof(changed_fields) / sizeof(*changed_fields); i++) {
		static const char *const plain[] = { "7",
						     "7",
						     "c",
						     "p",
						     "q",
						     "acc",
						     "g",
						     "1",
						     "ann",
						     "2",
						     "2016-02-29T22:00:00",
						     "x",
						     "2016-02-29T23:00:00",
						     "2016-03-01T01:00:00",
						     "02:00:00",
						     "0:0",
						     "COMPLETED",
						     "3",
						     "12",
						     "12",
						     "1Gn",
						     "t",
						     "cpu=12",
						     "1:00:00",
						     "n1",
						     "name" };
		char text[1024] = "";

		for (int k = 0; k < 26; k++)
			sprintf(text + strlen(text), "%s%s", k ? "|" : "",
				k == changed_fields[i].field ? changed_fields[i].value
							     : plain[k]);
		if (sacct_parse_line(&f, text, strlen(text), &j) != changed_fields[i].why)
			fail_msg("%s: %d", text, sacct_parse_line(&f, text, strlen(text), &j));
	}
}

static void memory_of_each_core_is_bounded_like_all(void **state)
{
	struct line l = good;
	struct history_job j;

	(void)state;
	l.tres = "cpu=12";
	l.cpus = "1000000000";
	l.memory = "2147483647Mc"; /* beyond 2^63 in all */
	assert_int_equal(parse_line(l, &j), HISTORY_OUT_OF_RANGE);
	l.cpus = "12";
	l.memory = "n";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, -1);
	l.memory = "1.1234567M"; /* six digits of a fraction are read */
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, (1LL << 20) + 123456 * (1LL << 20) / 1000000);
	l.memory = "1.5x";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, -1);
	l.memory = "1.G";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.mem_bytes, 1LL << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_line_is_read_beyond_its_end),
		cmocka_unit_test(a_job_is_read_with_its_units),
		cmocka_unit_test(elapsed_says_which_of_two_hours_it_was),
		cmocka_unit_test(memory_is_what_was_allocated_or_asked),
		cmocka_unit_test(every_impossible_row_has_its_reason),
		cmocka_unit_test(times_are_those_of_the_calendar),
		cmocka_unit_test(limits_are_read_in_each_form_and_no_other),
		cmocka_unit_test(memory_is_read_in_each_unit),
		cmocka_unit_test(gpus_are_those_of_the_models_and_the_rest_without),
		cmocka_unit_test(suspended_time_is_what_elapsed_leaves_out),
		cmocka_unit_test(each_field_has_its_own_fault),
		cmocka_unit_test(memory_of_each_core_is_bounded_like_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
