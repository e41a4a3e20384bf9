/* test_sacct - what a line of sacct's 26 fields is, and what it is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "controller/history/sacct.h"

struct line {
	const char *raw, *user, *start, *end, *cpus, *memory, *tres, *limit;
};
static const struct line good = { "9",	"ann",	  "2016-02-29T23:00:00", "2016-03-01T01:00:00",
				  "12", "2000Mn", "cpu=12,gres/gpu=2",	 "1-06:00:00" };

static int parse_line(struct line l, struct history_job *ret)
{
	const struct sacct f = { 0 };
	char text[512];

	snprintf(text, sizeof(text),
		 "%s|%s|c1|p|q|phys|g|1|%s|2|2016-02-29T22:00:00|x|%s|%s|e|0:0|COMPLETED|3|%s|"
		 "12|%s|t|%s|%s|n[1-3]|a|name",
		 l.raw, l.raw, l.user, l.start, l.end, l.cpus, l.memory, l.tres, l.limit);
	return sacct_parse_line(&f, text, strlen(text), ret);
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
	const struct sacct f = { went_back, NULL };
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
		{ offsetof(struct line, end), "2016-03-01 01:00:00", HISTORY_GARBAGE },
		{ offsetof(struct line, end), "Unknown", HISTORY_NOT_ENDED },
		{ offsetof(struct line, start), "Unknown", HISTORY_NOT_STARTED },
		{ offsetof(struct line, start), "2016-02-29T21:00:00",
		  HISTORY_STARTS_TOO_SOON },
		{ offsetof(struct line, cpus), "0", HISTORY_NO_CORES },
		{ offsetof(struct line, cpus), "", HISTORY_GARBAGE },
		{ offsetof(struct line, user), "", HISTORY_OK },
		{ offsetof(struct line, user), "a b", HISTORY_NO_NAME },
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_is_read_with_its_units),
		cmocka_unit_test(elapsed_says_which_of_two_hours_it_was),
		cmocka_unit_test(memory_is_what_was_allocated_or_asked),
		cmocka_unit_test(every_impossible_row_has_its_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
