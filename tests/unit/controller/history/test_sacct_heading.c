/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sacct_heading - headings of sacct, times in all their forms, and amounts that have no figure. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

static void a_heading_decides_which_column_is_which(void **state)
{
	static const struct {
		const char *heading, *row;
		int why;
		const char *missing;
	} of[] = {
		{ "JobIDRaw|End|Start|State|Elapsed|AllocCPUS|Account",
		  "9|2024-03-01T12:00:00|2024-03-01T11:00:00|COMPLETED|01:00:00|4|LAB",
		  HISTORY_OK, "" },
		{ "JobIDRaw|Comment|End|Start|State|ElapsedRaw|AllocTRES|Account|",
		  "9|a|b|2024-03-01T12:00:00|2024-03-01T11:00:00|COMPLETED|3600|cpu=4|lab|",
		  HISTORY_OK, "" },
		{ "JobID|JobName|End|Start|State|Elapsed|NCPUS|Account",
		  "9_1|n|2024-03-01T12:00:00|2024-03-01T11:00:00|COMPLETED|01:00:00|4|lab",
		  HISTORY_GARBAGE, "" },
		{ "JobID|JobName|End|Start|State|Elapsed|NCPUS|Account|WorkDir",
		  "9|n|m|2024-03-01T12:00:00|2024-03-01T11:00:00|COMPLETED|01:00:00|4|lab|/w",
		  HISTORY_EXTRA_FIELDS, "" },
		{ "JobID|End|Start", "9|2024-03-01T12:00:00|2024-03-01T11:00:00",
		  HISTORY_GARBAGE, "State,Elapsed,NCPUS" },
		{ "Start|End|Account", "x|y|z", HISTORY_GARBAGE,
		  "JobIDRaw,State,Elapsed,NCPUS" },
	};
	struct sacct f = { 0 };
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		const char *row = of[i].row;

		assert_int_equal(sacct_parse_line(&f, of[i].heading, strlen(of[i].heading), &j),
				 SACCT_NO_JOB);
		assert_string_equal(f.missing, of[i].missing);
		if (sacct_parse_line(&f, row, strlen(row), &j) != of[i].why)
			fail_msg("%s", row);
		if (of[i].why != HISTORY_OK)
			continue;
		assert_int_equal(j.number, 9);
		assert_string_equal(j.account, "lab"); /* as Slurm keeps names of accounts */
		assert_int_equal(j.ncpus, 4);
		assert_int_equal(j.start_s, 1709290800);
		assert_int_equal(j.submit_s, j.start_s);
	}
	assert_int_equal(sacct_parse_line(&f, "9|1", 3, &j), HISTORY_MISSING_FIELDS);
}

static void times_with_an_offset_need_no_zone(void **state)
{
	static const struct {
		const char *start;
		int64_t start_s; /* -1: it is none */
	} of[] = {
		{ "2016-02-29T23:00:00+0000", 1456786800 },
		{ "2016-02-29T23:00:00Z", 1456786800 },
		{ "2016-03-01T00:30:00+01:30", 1456786800 },
		{ "2016-02-29T18:00:00-0500", 1456786800 },
		{ "1456786800", 1456786800 },
		{ "2016-02-29 23:00:00", 1456786800 },
		{ "2016-02-29T23:00:00+1", -1 },
		{ "2016-02-29T23:00:00 0100", -1 },
		{ "2016-02-29T23:00:00+0160", -1 },
		{ "2016-02-29T23:00:00+01.00", -1 },
		{ "123456789012", -1 },
		{ "Ystday 10:00", -1 },
		{ "", -1 },
	};
	struct line l = good;
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		l.start = of[i].start;
		if (parse_line(l, &j) != (of[i].start_s < 0 ? HISTORY_GARBAGE : HISTORY_OK))
			fail_msg("%s", of[i].start);
		if (of[i].start_s < 0)
			assert_string_equal(j.fault, "Start");
		else
			assert_int_equal(j.start_s, of[i].start_s);
	}
}

static void what_is_held_beside_cores_and_gpus_is_left_out(void **state)
{
	struct line l = good;
	struct history_job j;

	(void)state;
	l.tres =
		"cpu=12,gres/shard=4,gres/mps:a100=50,gres/mps=50,gres/gpumem=9,license/matlab=2,"
		"bb/datawarp=1K,energy=7,gres/gpu:a100=1";
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.left_out.n, 4);
	assert_string_equal(j.left_out.of[0].name, "gres/shard");
	assert_int_equal(j.left_out.of[0].n, 4);
	assert_string_equal(j.left_out.of[1].name, "gres/mps");
	assert_string_equal(j.left_out.of[2].name, "license/matlab");
	assert_int_equal(j.left_out.of[3].n, 1024);
	assert_int_equal(j.ngpus, 1);
	l = good;
	l.cpus = "1.50K"; /* as sacct before 17.02 has counts */
	assert_int_equal(parse_line(l, &j), HISTORY_OK);
	assert_int_equal(j.ncpus, 1536);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_heading_decides_which_column_is_which),
		cmocka_unit_test(times_with_an_offset_need_no_zone),
		cmocka_unit_test(what_is_held_beside_cores_and_gpus_is_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
