/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pbs - what a record of a PBS accounting log is, and what it is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/pbs_phases.h"
#include "tests/unit/rig/exact.h"

#define HEAD "11/21/2025 10:00:00;E;"
#define WHO "user=ann group=grp account=\"acc\" project=prj jobname=j;x queue=normal "
#define WHEN "ctime=1000 qtime=1005 etime=1006 start=1010 end=4610 "

static int parse_line(const char *line, struct history_job *ret)
{
	_cleanup_free_ char *copy = exact_copy(line, strlen(line));

	return pbs_parse_line(copy, strlen(line), ret);
}

static void a_job_is_read_with_its_units(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(
		parse_line(HEAD "17.gadi-pbs.nci;" WHO WHEN
				"exec_host=n1/0*4+n2/0*4+n1/1*4 Resource_List.ncpus=12 "
				"Resource_List.mem=16gb Resource_List.walltime=01:00:00 "
				"session=1 Exit_status=0 resources_used.cput=02:00:00.5 "
				"resources_used.mem=1024kb resources_used.walltime=00:50:00 "
				"run_count=1",
			   &j),
		HISTORY_OK);
	assert_int_equal(j.number, 17);
	assert_int_equal(j.submit_s, 1000);
	assert_int_equal(j.start_s, 1010);
	assert_int_equal(j.end_s, 4610);
	assert_int_equal(j.suspended_s, 600);
	assert_int_equal(j.ncpus, 12);
	assert_int_equal(j.nodes, 2);
	assert_int_equal(j.ngpus, 0);
	assert_int_equal(j.mem_bytes, 16LL << 30);
	assert_int_equal(j.mem_peak_bytes, 1 << 20);
	assert_int_equal(j.cpu_ms, 7200500);
	assert_int_equal(j.walltime_s, 3600);
	assert_string_equal(j.cluster, "gadi-pbs");
	assert_string_equal(j.account, "prj");
	assert_string_equal(j.user, "ann");
	assert_string_equal(j.queue, "normal");
}

static void the_account_is_project_else_account_else_group(void **state)
{
	static const struct {
		const char *told, *account;
	} rows[] = {
		{ "group=grp account=\"acc\" project=prj ", "prj" },
		{ "group=grp account=\"acc\" project=_pbs_project_default ", "acc" },
		{ "group=grp account=\"\" ", "grp" },
		{ "", "" },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line),
			 HEAD "17.s;%s" WHEN "Resource_List.ncpus=1 resources_used.walltime=60",
			 rows[i].told);
		assert_int_equal(parse_line(line, &j), HISTORY_OK);
		assert_string_equal(j.account, rows[i].account);
	}
}

/* Cores, GPUs, memory, from whichever list has them. */
static void allocated_amounts_count_before_requested_ones(void **state)
{
	static const struct {
		const char *told;
		int64_t ncpus, nodes, ngpus, mem_mib;
		const char *model;
	} rows[] = {
		{ "Resource_List.ncpus=8", 8, 0, 0, -1, NULL },
		{ "exec_host=n/0+n/1+n/2 Resource_List.ncpus=1", 3, 1, 0, -1, NULL },
		{ "exec_host=a/0-3,8+b/0", 6, 2, 0, -1, NULL },
		{ "total_execution_slots=24 Resource_List.nodes=2:ppn=4", 24, 0, 0, -1, NULL },
		{ "Resource_List.nodes=2:ppn=4:gpus=1+n7:ppn=2", 10, 0, 2, -1, "" },
		{ "exec_vnode=(a:ncpus=4:mem=1gb)+(b:ncpus=4:mem=1gb+c:ncpus=2) "
		  "exec_host=a/0*4+b/0*4 Resource_List.ncpus=1",
		  10, 2, 0, 2048, NULL },
		{ "Resource_List.select=2:ncpus=16:mem=64GB:ngpus=1:gpu_model=A100+1:ncpus=4",
		  36, 0, 2, 131072, "a100" },
		{ "Resource_List.select=ncpus=2:mem=8mw Resource_List.mem=1gb", 2, 0, 0, 1024,
		  NULL },
		{ "Resource_List.select=3", 3, 0, 0, -1, NULL },
		{ "Resource_List.nodes=3", 3, 0, 0, -1, NULL },
		{ "exec_vnode=(a)+(b) Resource_List.ncpus=5", 5, 0, 0, -1, NULL },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=4 Resource_List.gpu_type=v100", 1,
		  0, 4, -1, "v100" },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=2", 1, 0, 2, -1, "" },
		{ "Resource_List.select=1:ncpus=1:ngpus=2:gpu_type=V100", 1, 0, 2, -1, "v100" },
		{ "exec_vnode=(a:ncpus=1:ngpus=2:gpu_model=h100) "
		  "Resource_List.select=1:ncpus=1:ngpus=2:gpu_model=h200",
		  1, 0, 2, -1, "h100" },
		{ "Resource_List.nodes=1:ppn=2:gpus=2:gpu_model=h200", 2, 0, 2, -1, "" },
		{ "Resource_List.select=1:ncpus=1:gpus=3:accel_type=mi300", 1, 0, 3, -1,
		  "mi300" },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line), HEAD "17.s;" WHO WHEN "%s", rows[i].told);
		assert_int_equal(parse_line(line, &j), HISTORY_OK);
		assert_int_equal(j.ncpus, rows[i].ncpus);
		assert_int_equal(j.nodes, rows[i].nodes);
		assert_int_equal(j.ngpus, rows[i].ngpus);
		assert_int_equal(j.mem_bytes < 0 ? -1 : j.mem_bytes >> 20, rows[i].mem_mib);
		assert_int_equal(j.gpus.n, rows[i].model ? 1 : 0);
		if (rows[i].model)
			assert_string_equal(j.gpus.of[0].model, rows[i].model);
	}
}

static void gpus_are_bounded(void **state)
{
	static const struct {
		const char *told;
		int why;
	} rows[] = {
		{ "Resource_List.ncpus=1 Resource_List.ngpus=1000000000", HISTORY_OK },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=1000000001",
		  HISTORY_OUT_OF_RANGE },
		{ "Resource_List.select=1:ncpus=1:ngpus=1000000000:gpu_model=a", HISTORY_OK },
		{ "Resource_List.select=1:ncpus=1:ngpus=1000000001:gpu_model=a",
		  HISTORY_OUT_OF_RANGE },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=-1", HISTORY_OK },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=x", HISTORY_GARBAGE },
		{ "Resource_List.ncpus=1 Resource_List.ngpus=1 Resource_List.gpu_model=a,b",
		  HISTORY_GARBAGE },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line), HEAD "17.s;" WHO WHEN "%s", rows[i].told);
		if (parse_line(line, &j) != rows[i].why)
			fail_msg("%s: %d", rows[i].told, parse_line(line, &j));
	}
}

static void a_run_that_was_requeued_is_a_run(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(parse_line("11/21/2025 10:00:00.123456;R;17.s;" WHO WHEN
				    "Resource_List.ncpus=8 run_count=1",
				    &j),
			 HISTORY_OK);
	assert_int_equal(j.suspended_s, 0);
	assert_int_equal(parse_line("11/21/2025 10:00:00;R;17.s;", &j), HISTORY_MISSING_FIELDS);
}

static void every_other_record_has_its_reason(void **state)
{
	static const struct {
		const char *line;
		int why;
	} rows[] = {
		{ "", PBS_NO_JOB },
		{ "\r", PBS_NO_JOB },
		{ "11/21/2025 10:00:00;S;17.s;" WHO, PBS_NO_JOB },
		{ "11/21/2025 10:00:00;L;license;floating license hour:3", PBS_NO_JOB },
		{ HEAD "17[].s;" WHO WHEN, PBS_NO_JOB },
		{ HEAD "R17.s;" WHO WHEN, PBS_NO_JOB },
		{ "nonsense", HISTORY_MISSING_FIELDS },
		{ "2025-11-21 10:00:00;E;17.s;" WHO WHEN, HISTORY_GARBAGE },
		{ "11/21/2025 10:00:00;EE;17.s;" WHO WHEN, HISTORY_GARBAGE },
		{ HEAD "x.s;" WHO WHEN, HISTORY_GARBAGE },
		{ HEAD "17[x].s;" WHO WHEN, HISTORY_GARBAGE },
		{ HEAD "17.s;" WHO WHEN "word", HISTORY_GARBAGE },
		{ HEAD "17.s;" WHO WHEN "a=\"b", HISTORY_NO_CORES },
		{ HEAD "17.s;" WHO WHEN "user=root", HISTORY_GARBAGE },
		{ HEAD "17.s;" WHO WHEN "Resource_List.ncpus=1 Resource_List.mem=16q",
		  HISTORY_GARBAGE },
		{ HEAD "17.s;" WHO WHEN "Resource_List.ncpus=1 resources_used.cput=1:2:3:4:5",
		  HISTORY_OK },
		{ HEAD "17.s;" WHO WHEN "exec_host=n1", HISTORY_NO_CORES },
		{ HEAD "17.s;" WHO "start=10", HISTORY_MISSING_FIELDS },
		{ HEAD "17.s;" WHO "start=0 end=10", HISTORY_NOT_STARTED },
		{ HEAD "17.s;" WHO "start=10 end=9 Resource_List.ncpus=1",
		  HISTORY_ENDS_TOO_SOON },
		{ HEAD "17.s;" WHO "ctime=11 start=10 end=19 Resource_List.ncpus=1",
		  HISTORY_OK },
		{ HEAD "17.s;" WHO WHEN, HISTORY_NO_CORES },
		{ HEAD "17.s;" WHO WHEN "Resource_List.ncpus=1 resources_used.walltime=0",
		  HISTORY_NO_RUN_TIME },
		{ HEAD "17.s;user=a\tb " WHEN, HISTORY_NO_NAME },
		{ HEAD "17.s;" WHO WHEN "Resource_List.select=999999999:ncpus=999999999999999",
		  HISTORY_OUT_OF_RANGE },
		{ HEAD "99999999999.s;" WHO WHEN, HISTORY_OUT_OF_RANGE },
	};
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(parse_line(rows[i].line, &j), rows[i].why);
}

/* Each row of pbs_number()'s table fills a place of its own. */
static void no_two_jobs_or_tasks_have_the_same_number(void **state)
{
	static const struct {
		int64_t sequence, index, number;
	} rows[] = {
		{ 0, -1, 0 },
		{ (1LL << 36) - 1, -1, (1LL << 36) - 1 },
		{ 0, (1 << 14), (1LL << 36) + (1LL << 30) },
		{ 65535, (1 << 20) - 1, (1LL << 37) - 1 },
		{ 1 << 27, 0, (1LL << 37) + (1 << 27) },
		{ (1 << 29) - 1, 255, (1LL << 38) - 1 },
		{ 1 << 25, 0, (1LL << 38) + (1 << 25) },
		{ (1 << 27) - 1, 2047, (1LL << 39) - 1 },
		{ 0, 0, 1LL << 39 },
		{ (1 << 25) - 1, (1 << 14) - 1, (1LL << 40) - 1 },
	};
	int64_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(pbs_number(rows[i].sequence, rows[i].index, &n), 0);
		assert_true(n == rows[i].number && n <= HISTORY_NUMBER_MAX);
	}
	assert_int_equal(pbs_number(1LL << 36, -1, &n), -ERANGE);
	assert_int_equal(pbs_number(1 << 16, 1 << 14, &n), -ERANGE);
	assert_int_equal(pbs_number(1 << 29, 0, &n), -ERANGE);
}

static void array_tasks_of_both_spellings_are_the_same(void **state)
{
	struct history_job pro, torque;

	(void)state;
	assert_int_equal(parse_line(HEAD "17[4].s;" WHO WHEN "Resource_List.ncpus=1", &pro),
			 HISTORY_OK);
	assert_int_equal(parse_line(HEAD "17-4.s;" WHO WHEN "Resource_List.ncpus=1", &torque),
			 HISTORY_OK);
	assert_int_equal(pro.number, torque.number);
	assert_int_equal(pro.number, (1LL << 39) + (4 << 25) + 17);
}

static void no_record_is_read_beyond_its_end(void **state)
{
	static const char line[] = HEAD
		"17[3].s;" WHO WHEN
		"exec_host=a/0*4+b/1,3-5 exec_vnode=(a:ncpus=4:mem=1gb)+(b:ncpus=2:ngpus=1) "
		"Resource_List.select=2:ncpus=16:mem=64GB:ngpus=1:gpu_model=A100+1:ncpus=4 "
		"Resource_List.walltime=1:00:00 resources_used.cput=02:00:00.5 "
		"resources_used.mem=1024kb resources_used.walltime=00:50:00";
	struct history_job j;

	(void)state;
	for (size_t size = 0; size < sizeof(line); size++) {
		_cleanup_free_ char *copy = exact_copy(line, size);

		pbs_parse_line(copy, size, &j);
	}
	assert_int_equal(parse_line(line, &j), HISTORY_OK);
}

/* Lines that are a job but for one thing. */
#define CORES "Resource_List.ncpus=1 "
static const struct {
	const char *line;
	int why;
} parts_of_records[] = {
	{ HEAD "17.s;" WHO WHEN CORES, HISTORY_OK },
	{ "01/01/2025 10:00:00.9;E;17.s;" WHO WHEN CORES, HISTORY_OK },
	{ "01/01/2025 10:00:00.;E;17.s;" WHO WHEN CORES, HISTORY_OK },
	{ "01/01/2025 10:00:00x;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:0;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:00.x;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:0/;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:0:;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10.00:00;E;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:00;;17.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:00;E;;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ "01/01/2025 10:00:00;E", HISTORY_MISSING_FIELDS },
	{ "01/01/2025 10:00:00;E;17.s", HISTORY_MISSING_FIELDS },
	{ HEAD "17;" WHO WHEN CORES, HISTORY_OK },
	{ HEAD "17.;" WHO WHEN CORES, HISTORY_OK },
	{ HEAD "17.a b;" WHO WHEN CORES, HISTORY_OK },
	{ HEAD "17x.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[3;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[3;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[3.s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[3]x;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17[3];" WHO WHEN CORES, HISTORY_OK },
	{ HEAD "17-;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17-].s;" WHO WHEN CORES, HISTORY_GARBAGE },
	{ HEAD "17-3;" WHO WHEN CORES, HISTORY_OK },
	{ HEAD "17[1048576].s;" WHO WHEN CORES, HISTORY_OUT_OF_RANGE },
	{ HEAD "17.s;" WHO WHEN CORES "a='b c' x=\"d e\"", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "a='b'c", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "a='b\" c", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "a= b=", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "=", HISTORY_NO_CORES },
	{ HEAD "17.s;" WHO WHEN CORES "a b=1", HISTORY_NO_CORES },
	{ HEAD "17.s;" WHO WHEN CORES "start=1010", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "start=1011", HISTORY_GARBAGE },
	{ HEAD "17.s;user=ann queue=\"a b\" " WHEN CORES, HISTORY_OK },
	{ HEAD "17.s;user=ann project=\"a b\" " WHEN CORES, HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.qos=\"a b\"", HISTORY_OK },
	{ HEAD "17.s;" WHO "start=x end=9 " CORES, HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO "start=1 end=x " CORES, HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO "end=9 " CORES, HISTORY_MISSING_FIELDS },
	{ HEAD "17.s;" WHO "start=1 end=9 " CORES, HISTORY_OK },
	{ HEAD "17.s;" WHO "ctime=x start=1 end=9 " CORES, HISTORY_OK },
	{ HEAD "17.s;" WHO "qtime=x start=1 end=9 " CORES, HISTORY_OK },
	{ HEAD "17.s;" WHO "etime=x start=1 end=9 " CORES, HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "resources_used.walltime=x", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "resources_used.mem=x", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.walltime=x", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN CORES "total_execution_slots=x", HISTORY_OK },
	{ HEAD "17.s;" WHO WHEN "Resource_List.ncpus=x", HISTORY_NO_CORES },
	{ HEAD "17.s;" WHO WHEN CORES "exec_vnode=+", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.nodes=1:ppn=x", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.select=1:mem=x", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.select=1:ngpus=-1", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.select=1:ngpus=1:gpu_type=a=b",
	  HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.select=1:gpu_type=", HISTORY_GARBAGE },
	{ HEAD "17.s;" WHO WHEN CORES "Resource_List.ngpus=1 Resource_List.accel_type='a b'",
	  HISTORY_GARBAGE },
};

static void each_part_of_a_record_has_its_own_fault(void **state)
{
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(parts_of_records); i++)
		if (parse_line(parts_of_records[i].line, &j) != parts_of_records[i].why)
			fail_msg("%s: %d", parts_of_records[i].line,
				 parse_line(parts_of_records[i].line, &j));
}

/* The last moment that is recorded of created, queued, eligible, started; what the job did not run is suspended time. */
static void times_are_taken_from_the_first_that_is_known(void **state)
{
	static const struct {
		const char *told;
		int64_t submit_s, suspended_s;
	} rows[] = {
		{ "start=40 end=50", 40, 0 },
		{ "etime=30 start=40 end=50", 30, 0 },
		{ "etime=30 qtime=20 start=40 end=50", 20, 0 },
		{ "etime=30 qtime=20 ctime=10 start=40 end=50", 10, 0 },
		{ "start=40 end=50 resources_used.walltime=10", 40, 0 },
		{ "start=40 end=50 resources_used.walltime=9.999", 40, 1 },
		{ "start=40 end=50 resources_used.walltime=11", 40, 0 },
		{ "start=40 end=50 resources_used.walltime=1", 40, 9 },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line), HEAD "1.s;%s Resource_List.ncpus=1 \r ",
			 rows[i].told);
		assert_int_equal(parse_line(line, &j), HISTORY_OK);
		assert_int_equal(j.submit_s, rows[i].submit_s);
		assert_int_equal(j.suspended_s, rows[i].suspended_s);
		assert_int_equal(j.walltime_s, -1);
		assert_int_equal(j.cpu_ms, -1);
		assert_int_equal(j.mem_peak_bytes, -1);
	}
	snprintf(line, sizeof(line), HEAD "1.s;start=5 end=4 resources_used.walltime=1");
	assert_int_equal(parse_line(line, &j), HISTORY_ENDS_TOO_SOON);
}

/* In its table each sequence that is too large for one row is in the next. */
static void numbers_of_tasks_are_in_the_first_row_with_room(void **state)
{
	int64_t n = -7;

	(void)state;
	assert_int_equal(pbs_number(-1, -1, &n), -ERANGE);
	assert_int_equal(pbs_number(-1, 0, &n), -ERANGE);
	assert_int_equal(pbs_number(0, 1 << 20, &n), -ERANGE);
	assert_int_equal(pbs_number(1 << 27, 256, &n), -ERANGE);
	assert_int_equal(pbs_number(1 << 25, 1 << 11, &n), -ERANGE);
	assert_int_equal(n, -7);
	assert_int_equal(pbs_number(5, 3, &n), 0);
	assert_int_equal(n, (1LL << 39) + (3 << 25) + 5);
	assert_int_equal(pbs_number(1 << 25, 3, &n), 0);
	assert_int_equal(n, (1LL << 38) + (3 << 27) + (1 << 25));
}

/* What PBS does not quote, and what it does not escape, with the account that is read. */
static void a_value_ends_before_the_next_word_with_an_equals_sign(void **state)
{
	static const struct {
		const char *line, *account;
	} rows[] = {
		{ "group=domain users account=\"lab1\" jobname=a", "lab1" },
		{ "group=domain users jobname=a", "domain users" },
		{ "group=g account=\"Wave Lab\" jobname=my job", "Wave Lab" },
		{ "group=g account=\"the\"lab\" jobname=\"a queue=q", "the\"lab" },
		{ "group=g account=\"a=b c=d\" jobname=it's", "a=b c=d" },
		{ "group=g account=\"a jobname=b\"c", "\"a" },
		{ "group=g account=\"\" jobname=a", "g" },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line),
			 HEAD "17.s;user=ann %s ctime=5 start=10 end=20 " CORES
			      "resources_used.env='{\"a\": \"b=c\"}' run_count=1",
			 rows[i].line);
		assert_int_equal(parse_line(line, &j), HISTORY_OK);
		assert_string_equal(j.account, rows[i].account);
		assert_int_equal(j.submit_s, 5);
	}
}

static void cores_of_a_cray_are_those_of_its_width(void **state)
{
	static const struct {
		const char *asks;
		int64_t ncpus, nodes;
	} rows[] = {
		{ "Resource_List.mppwidth=64 Resource_List.mppnppn=24", 64, 3 },
		{ "Resource_List.mppwidth=64 Resource_List.mppdepth=2", 128, 1 },
		{ "Resource_List.size=96", 96, 1 },
		{ "Resource_List.size=96gb", 1, 1 },
		{ "Resource_List.mppwidth=x", 1, 1 },
		{ "Resource_List.mppwidth=0", 1, 1 },
	};
	struct history_job j;
	char line[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		snprintf(line, sizeof(line),
			 HEAD "17.s;" WHO WHEN "exec_host=n7/0 exec_vnode=(login:ncpus=1) %s",
			 rows[i].asks);
		assert_int_equal(parse_line(line, &j), HISTORY_OK);
		assert_int_equal(j.ncpus, rows[i].ncpus);
		assert_int_equal(j.nodes, rows[i].nodes);
	}
	assert_int_equal(
		parse_line(HEAD "17.s;" WHO WHEN
				"Resource_List.mppwidth=9999999999999 Resource_List.mppdepth="
				"9999999999999",
			   &j),
		HISTORY_OUT_OF_RANGE);
}

static void other_amounts_are_named_once(void **state)
{
	struct history_job j;

	(void)state;
	assert_int_equal(
		parse_line(
			HEAD
			"17.s;" WHO WHEN CORES
			"exec_vnode=(n1:ncpus=1:naccelerators=2:nmics=1)+(n2:ncpus=1:"
			"naccelerators=2) Resource_List.naccelerators=4 "
			"Resource_List.nodect=2 Resource_List.place=free Resource_List.foo=0",
			&j),
		HISTORY_OK);
	assert_int_equal(j.left_out.n, 2);
	assert_string_equal(j.left_out.of[0].name, "naccelerators");
	assert_int_equal(j.left_out.of[0].n, 4);
	assert_string_equal(j.left_out.of[1].name, "nmics");
}

/* ---- phases ---- */

#define PHASE(type, cores, more)                                                               \
	"11/21/2025 10:00:00;" type ";7.s;user=ann group=g ctime=90 start=100 exec_vnode=(n1:" \
	"ncpus=" cores ") " more

static void a_job_that_released_nodes_is_one_run_for_each_phase(void **state)
{
	static const struct {
		const char *line;
		int why;
		int64_t ncpus, start_s, end_s, suspended_s;
	} rows[] = {
		{ PHASE("u", "12", "resources_used.walltime=600"), HISTORY_OK, 12, 100, 700,
		  0 },
		{ PHASE("c", "4", ""), PBS_NO_JOB, 0, 0, 0, 0 },
		{ PHASE("u", "4", "resources_used.walltime=100"), HISTORY_OK, 4, 700, 800, 0 },
		{ PHASE("u", "2", "resources_used.walltime=0"), PBS_NO_JOB, 0, 0, 0, 0 },
		{ PHASE("u", "2", ""), HISTORY_MISSING_FIELDS, 0, 0, 0, 0 },
		{ PHASE("e", "1", "end=1100 resources_used.walltime=200"), PBS_NO_JOB, 0, 0, 0,
		  0 },
		{ PHASE("E", "12", "end=1100 resources_used.walltime=900"), HISTORY_OK, 1, 800,
		  1100, 100 },
		/* the u records were in a file before this one */
		{ PHASE("e", "1", "end=1100 resources_used.walltime=200"), PBS_NO_JOB, 0, 0, 0,
		  0 },
		{ PHASE("E", "12", "end=1100 resources_used.walltime=900"), HISTORY_OK, 1, 900,
		  1100, 0 },
		/* an e record of the whole job, and a job without any */
		{ PHASE("e", "12", "end=1100 resources_used.walltime=900"), PBS_NO_JOB, 0, 0, 0,
		  0 },
		{ PHASE("E", "12", "end=1100 resources_used.walltime=900"), HISTORY_OK, 12, 100,
		  1100, 100 },
		{ PHASE("E", "12", "end=1100"), HISTORY_OK, 12, 100, 1100, 0 },
		/* requeued in its second phase, without an e record */
		{ PHASE("u", "12", "resources_used.walltime=600"), HISTORY_OK, 12, 100, 700,
		  0 },
		{ PHASE("R", "12", "end=1100 resources_used.walltime=900"), HISTORY_OK, 12, 700,
		  1100, 100 },
	};
	_cleanup_(pbs_phases_freep) struct pbs_phases *p = pbs_phases_new();
	struct history_job j;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		if (pbs_phases_line(p, rows[i].line, strlen(rows[i].line), &j) != rows[i].why)
			fail_msg("row %zu", i);
		if (rows[i].why != HISTORY_OK)
			continue;
		assert_int_equal(j.ncpus, rows[i].ncpus);
		assert_int_equal(j.start_s, rows[i].start_s);
		assert_int_equal(j.end_s, rows[i].end_s);
		assert_int_equal(j.suspended_s, rows[i].suspended_s);
		assert_int_equal(j.submit_s, 90);
	}
	assert_int_equal(pbs_phases_line(p, "", 0, &j), PBS_NO_JOB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_ends_before_the_next_word_with_an_equals_sign),
		cmocka_unit_test(cores_of_a_cray_are_those_of_its_width),
		cmocka_unit_test(other_amounts_are_named_once),
		cmocka_unit_test(a_job_that_released_nodes_is_one_run_for_each_phase),
		cmocka_unit_test(a_job_is_read_with_its_units),
		cmocka_unit_test(the_account_is_project_else_account_else_group),
		cmocka_unit_test(allocated_amounts_count_before_requested_ones),
		cmocka_unit_test(gpus_are_bounded),
		cmocka_unit_test(a_run_that_was_requeued_is_a_run),
		cmocka_unit_test(every_other_record_has_its_reason),
		cmocka_unit_test(no_record_is_read_beyond_its_end),
		cmocka_unit_test(no_two_jobs_or_tasks_have_the_same_number),
		cmocka_unit_test(array_tasks_of_both_spellings_are_the_same),
		cmocka_unit_test(each_part_of_a_record_has_its_own_fault),
		cmocka_unit_test(times_are_taken_from_the_first_that_is_known),
		cmocka_unit_test(numbers_of_tasks_are_in_the_first_row_with_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
