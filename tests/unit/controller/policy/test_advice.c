/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_advice - advice comes where it matters, suffices, and is left out otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/policy/efficiency/advice.h"

#define GIB (1LL << 30)
#define S 1000000000LL

static struct resources requested;
static struct usage used;
static struct job_end end;

static void reset_usage(void)
{
	requested = (struct resources){
		.ncpus = 4, .vmem_bytes = 8 * GIB, .jobfs_bytes = GIB, .walltime_s = 7200
	};
	used = (struct usage){ .have = 0 };
	usage_set(&used, &used.cpu_ns, 4 * 7000 * S);
	usage_set(&used, &used.vmem_peak_bytes, 7 * GIB);
	usage_set(&used, &used.jobfs_peak_bytes, 0);
	end = (struct job_end){ .kind = END_EXITED };
}

static enum engine engine;

static void expect_advice(int64_t running_s, const char *expected)
{
	struct advice_facts f = { &requested, &used, &end, running_s * S, engine };
	char buf[ADVICE_MAX];

	memset(buf, 'x', sizeof(buf) - 1); /* of before */
	buf[sizeof(buf) - 1] = '\0';
	assert_string_equal(advice_format(&f, buf), expected);
}

static void for_slurm_it_has_the_options_of_sbatch(void **state)
{
	(void)state;
	reset_usage();
	engine = ENGINE_SLURM;
	used.vmem_peak_bytes = 2 * GIB;
	expect_advice(7000, "next time --vmem=2560M would do");
	used.cpu_ns = 7000 * S + 50 * S;
	requested.jobfs_bytes = 100 * GIB;
	used.jobfs_peak_bytes = 10 * GIB;
	expect_advice(7000, "next time --vmem=2560M --jobfs=12G with 1 core would do");
	reset_usage();
	used.cpu_ns = 4 * 1000 * S;
	expect_advice(1000, "next time --time=0:20:00 would do");
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_VMEM, .requested = GIB, .reached = 2 * GIB }
	};
	expect_advice(10, "next time request more vmem: at least --vmem=2560M");
	engine = ENGINE_REEVE;
}

static void who_was_refused_a_mapping_is_not_told_to_request_less(void **state)
{
	(void)state;
	reset_usage();
	used.vmem_peak_bytes = GIB;
	expect_advice(7000, "next time -l vmem=1280MiB would do");
	usage_set(&used, &used.vmem_refused, 1);
	expect_advice(7000,
		      "1 mapping was refused with ENOMEM for the limit of vmem: if the job "
		      "lacked memory, request more than vmem=8GiB");
	end.exit_status = 1;
	used.vmem_refused = 12;
	expect_advice(3,
		      "12 mappings were refused with ENOMEM for the limit of vmem: if the job "
		      "lacked memory, request more than vmem=8GiB");
	end.kind = END_NONE;
	expect_advice(7000, "");
	end.kind = END_EXITED;
	assert_string_equal(
		advice_more(&(struct advice_facts){ &requested, NULL, &end, S, engine },
			    (char[ADVICE_MAX]){ "" }),
		"");
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_VMEM, .requested = 8 * GIB, .reached = 9 * GIB }
	};
	expect_advice(10, "next time request more vmem: at least -l vmem=11GiB");
}

static void for_pbs_it_has_the_amounts_of_qsub(void **state)
{
	(void)state;
	reset_usage();
	engine = ENGINE_PBS;
	used.vmem_peak_bytes = 2 * GIB;
	expect_advice(7000, "next time -l vmem=2560mb would do");
	used.cpu_ns = 7000 * S + 50 * S;
	requested.jobfs_bytes = 100 * GIB;
	used.jobfs_peak_bytes = 10 * GIB;
	expect_advice(7000, "next time -l ncpus=1,vmem=2560mb,jobfs=12gb would do");
	reset_usage();
	used.cpu_ns = 4 * 1000 * S;
	expect_advice(1000, "next time -l walltime=0:20:00 would do");
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_VMEM, .requested = GIB, .reached = 2 * GIB }
	};
	expect_advice(10, "next time request more vmem: at least -l vmem=2560mb");
	engine = ENGINE_REEVE;
}

static void a_good_request_gets_no_advice(void **state)
{
	(void)state;
	reset_usage();
	expect_advice(7000, "");
}

static void each_large_excess_is_named(void **state)
{
	(void)state;
	reset_usage();
	used.cpu_ns = 7000 * S + 50 * S;
	expect_advice(7000, "next time -l ncpus=1 would do");
	reset_usage();
	used.vmem_peak_bytes = 2 * GIB;
	expect_advice(7000, "next time -l vmem=2560MiB would do");
	reset_usage();
	requested.jobfs_bytes = 100 * GIB;
	used.jobfs_peak_bytes = 10 * GIB;
	expect_advice(7000, "next time -l jobfs=12GiB would do");
	reset_usage();
	used.cpu_ns = 4 * 1000 * S;
	expect_advice(1000, "next time -l walltime=0:20:00 would do");
	reset_usage();
	used.cpu_ns = 1000 * S;
	used.vmem_peak_bytes = GIB / 2;
	expect_advice(1000, "next time -l ncpus=1,vmem=624MiB,walltime=0:20:00 would do");
}

static void small_excesses_get_no_advice(void **state)
{
	(void)state;
	reset_usage();
	requested.vmem_bytes = GIB; /* half of it idle is not a GiB */
	used.vmem_peak_bytes = 10 << 20;
	expect_advice(7000, "");
	reset_usage();
	used.cpu_ns = 1 * S;
	used.vmem_peak_bytes = 1;
	expect_advice(59, ""); /* under a minute */
	reset_usage();
	requested.ncpus = 1;
	used.cpu_ns = 1;
	expect_advice(7000, "");
}

static void figures_that_were_not_measured_get_no_advice(void **state)
{
	(void)state;
	reset_usage();
	used.have = 0;
	used.cpu_ns = used.vmem_peak_bytes = 0;
	expect_advice(7000, "");
}

static void failed_and_running_jobs_get_no_advice(void **state)
{
	(void)state;
	reset_usage();
	used.vmem_peak_bytes = 1;
	end.exit_status = 1;
	expect_advice(7000, "");
	end.kind = END_NONE;
	expect_advice(7000, "");
	end.kind = END_CANCELLED;
	expect_advice(7000, "");
}

static void idle_gpus_are_named_however_the_job_was_cut(void **state)
{
	(void)state;
	reset_usage();
	requested.ngpus = 1;
	usage_set(&used, &used.gpus_used, 0);
	expect_advice(7000, ADVICE_IDLE_GPUS);
	end.kind = END_CANCELLED;
	expect_advice(85, ADVICE_IDLE_GPUS);
	expect_advice(59, "");
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_WALLTIME, .requested = 7200, .reached = 7201 }
	};
	expect_advice(7201, ADVICE_IDLE_GPUS "; next time request more walltime: at least -l "
					     "walltime=2:30:00");
	end = (struct job_end){ .kind = END_SIGNALED, .signal = 11 };
	expect_advice(7000, ""); /* it may have failed before it used them */
}

static void why_a_use_says_little_is_named(void **state)
{
	struct advice_facts f = { .end = &end, .running_ns = 60 * S };

	(void)state;
	reset_usage();
	assert_null(advice_unjudged(&f));
	f.running_ns--;
	assert_string_equal(advice_unjudged(&f), "it ran for less than a minute");
	end.kind = END_CANCELLED;
	assert_string_equal(advice_unjudged(&f), "it was cancelled");
	end = (struct job_end){ .kind = END_EXITED, .exit_status = 1 };
	assert_string_equal(advice_unjudged(&f), "it did not end well");
}

static void a_limit_names_how_much_more(void **state)
{
	(void)state;
	reset_usage();
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_VMEM, .requested = 8 * GIB, .reached = 9 * GIB }
	};
	expect_advice(5, "next time request more vmem: at least -l vmem=11GiB");
	end.reason =
		(struct reason){ .limit = LIMIT_WALLTIME, .requested = 7200, .reached = 7201 };
	expect_advice(7201, "next time request more walltime: at least -l walltime=2:30:00");
	end.reason = (struct reason){ .limit = LIMIT_JOBFS, .requested = GIB, .reached = -1 };
	expect_advice(5, "next time request more jobfs: at least -l jobfs=1280MiB");
	end.reason = (struct reason){ .limit = LIMIT_PIDS, .requested = 5, .reached = 6 };
	expect_advice(5, "");
}

static void advised_amounts_parse_and_suffice(void **state)
{
	struct advice_facts f = { &requested, &used, &end, 7000 * S, ENGINE_REEVE };
	char buf[ADVICE_MAX], *list;
	struct resources r;

	(void)state;
	for (int64_t peak = 1 << 20; peak < 3 * GIB; peak += peak / 3 + 12345) {
		reset_usage();
		used.vmem_peak_bytes = peak;
		requested.jobfs_bytes = 900 * GIB;
		used.jobfs_peak_bytes = peak * 7;
		list = strstr(advice_format(&f, buf), "-l ") + 3;
		*strstr(list, " would do") = '\0';
		r = (struct resources){ 0 };
		assert_int_equal(resources_parse(list, &r, NULL), 0);
		assert_true(r.vmem_bytes >= peak + peak / 5);
		assert_true(r.jobfs_bytes >= peak * 7 + peak * 7 / 5);
	}
}

/* What a job of `running_s` that used so much may leave out: one amount each. */
static struct resources find_less(int64_t running_ns)
{
	struct advice_facts f = { &requested, &used, &end, running_ns, engine };
	struct resources fit;

	advice_less(&f, &fit);
	return fit;
}

static void a_core_is_idle_once_nine_tenths_of_it_are(void **state)
{
	(void)state;
	reset_usage();
	used.cpu_ns = 2100 * S - 1;
	assert_int_equal(find_less(1000 * S).ncpus, 2);
	used.cpu_ns = 2100 * S;
	assert_int_equal(find_less(1000 * S).ncpus, 0); /* 3 of 4 */
	requested.ncpus = 5;
	assert_int_equal(find_less(1000 * S).ncpus, 0); /* 3 of 5: more than half */
	requested.ncpus = 6;
	assert_int_equal(find_less(1000 * S).ncpus, 3);
	requested.ncpus = 2;
	used.cpu_ns = 0;
	assert_int_equal(find_less(1000 * S).ncpus, 1);
	requested.ncpus = 1;
	assert_int_equal(find_less(1000 * S).ncpus, 0);
}

static void bytes_count_below_half_and_from_their_least_excess_on(void **state)
{
	(void)state;
	reset_usage();
	used.vmem_peak_bytes = 4 * GIB;
	assert_int_equal(find_less(7000 * S).vmem_bytes, 0);
	used.vmem_peak_bytes = 4 * GIB - 1;
	assert_int_equal(find_less(7000 * S).vmem_bytes, 5 * GIB);
	requested.vmem_bytes = GIB + 1000;
	used.vmem_peak_bytes = 1000;
	assert_int_equal(find_less(7000 * S).vmem_bytes, 2 << 20); /* at least for 1 MiB */
	used.vmem_peak_bytes = 1001;
	assert_int_equal(find_less(7000 * S).vmem_bytes, 0);
	usage_set(&used, &used.rss_peak_bytes, 2000);
	requested.mem_bytes = GIB + 2000;
	assert_int_equal(find_less(7000 * S).mem_bytes, 0); /* vmem was requested */
	requested.vmem_bytes = 0;
	assert_int_equal(find_less(7000 * S).mem_bytes, 2 << 20);
	used.rss_peak_bytes = 2001;
	assert_int_equal(find_less(7000 * S).mem_bytes, 0);
	requested.jobfs_bytes = 10 * GIB + 3000;
	used.jobfs_peak_bytes = 3000;
	assert_int_equal(find_less(7000 * S).jobfs_bytes, 2 << 20);
	used.jobfs_peak_bytes = 3001;
	assert_int_equal(find_less(7000 * S).jobfs_bytes, 0);
}

static void bytes_are_rounded_up_to_what_people_type(void **state)
{
	static const struct {
		int64_t peak,
			advised; /* with a fifth more: exactly an edge, and one byte above */
	} of[] = {
		{ 1 << 20, 2 << 20 },	  { 10485760, 12 << 20 },  { 223696214, 256 << 20 },
		{ 223696215, 272 << 20 }, { 894784854, GIB },	   { 894784855, 1280 << 20 },
		{ 3579139414, 4 * GIB },  { 3579139415, 5 * GIB }, { 4473924266, 5 * GIB },
		{ 4473924267, 5 * GIB },  { 4473924268, 6 * GIB },
	};

	(void)state;
	reset_usage();
	requested.jobfs_bytes = 100 * GIB;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		used.jobfs_peak_bytes = of[i].peak;
		assert_int_equal(find_less(7000 * S).jobfs_bytes, of[i].advised);
	}
}

static void walltime_counts_below_a_quarter_and_from_an_idle_hour_on(void **state)
{
	static const struct {
		int64_t walltime_s, used_s, advised_s;
	} of[] = {
		{ 7200, 1800, 0 },	  { 7200, 1799, 2160 },	    { 3700, 100, 120 },
		{ 3699, 100, 0 },	  { 400000, 3000, 3600 },   { 400000, 3001, 4200 },
		{ 400000, 30000, 36000 }, { 400000, 30001, 39600 }, { 400000, 99999, 122400 },
		{ 400000, 100000, 0 },
	};

	(void)state;
	reset_usage();
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		requested.walltime_s = of[i].walltime_s;
		assert_int_equal(find_less(of[i].used_s * S).walltime_s, of[i].advised_s);
	}
}

static void a_job_is_judged_from_its_first_minute_on(void **state)
{
	(void)state;
	reset_usage();
	used.cpu_ns = 0;
	assert_int_equal(find_less(60 * S).ncpus, 1);
	assert_int_equal(find_less(60 * S - 1).ncpus, 0);
}

/* Every option of every engine, in the order and units in which it is typed. */
static void each_engine_has_its_own_words_for_the_same_amounts(void **state)
{
	struct resources fit = { .ncpus = 2,
				 .vmem_bytes = GIB + 1,
				 .mem_bytes = 3 * GIB,
				 .jobfs_bytes = 512 << 20,
				 .walltime_s = 3661,
				 .ngpus = 3 };
	char buf[ADVICE_MAX];

	(void)state;
	assert_string_equal(
		advice_options(&fit, ENGINE_SLURM, buf),
		"--vmem=1025M --mem=3G --jobfs=512M --time=1:01:01 --gpus=3 with 2 cores");
	assert_string_equal(
		advice_options(&fit, ENGINE_PBS, buf),
		"-l ncpus=2,vmem=1025mb,mem=3gb,jobfs=512mb,walltime=1:01:01,ngpus=3");
	fit = (struct resources){ .ncpus = 1 };
	assert_string_equal(advice_options(&fit, ENGINE_SLURM, buf), "1 core");
	assert_string_equal(advice_options(&fit, ENGINE_PBS, buf), "-l ncpus=1");
	assert_string_equal(advice_options(&fit, ENGINE_REEVE, buf), "-l ncpus=1");
}

static void what_a_limit_needs_is_the_larger_of_reached_and_requested(void **state)
{
	(void)state;
	reset_usage();
	end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_MEM, .requested = 5 * GIB, .reached = 4 * GIB }
	};
	expect_advice(5, "next time request more mem: at least -l mem=6GiB");
	end.reason.requested = end.reason.reached = 0;
	expect_advice(5, "");
	end.reason.reached = 1;
	expect_advice(5, "next time request more mem: at least -l mem=1MiB");
}

static void gpus_that_did_nothing_are_named(void **state)
{
	(void)state;
	reset_usage();
	requested.ngpus = 4;
	strcpy(requested.gpu_model, "a100-40");
	expect_advice(7000, ""); /* not measured: nothing is said */
	usage_set(&used, &used.gpus_used, 4);
	expect_advice(7000, "");
	used.gpus_used = 1;
	expect_advice(7000, "next time -l ngpus=a100-40:1 would do");
	used.gpus_used = 0;
	expect_advice(7000, "its GPUs did nothing: leave ngpus out");
	expect_advice(59, "");
	used.vmem_peak_bytes = 2 * GIB;
	expect_advice(
		7000,
		"its GPUs did nothing: leave ngpus out; next time -l vmem=2560MiB would do");
	end.exit_status = 1;
	expect_advice(7000, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_request_gets_no_advice),
		cmocka_unit_test(for_slurm_it_has_the_options_of_sbatch),
		cmocka_unit_test(who_was_refused_a_mapping_is_not_told_to_request_less),
		cmocka_unit_test(for_pbs_it_has_the_amounts_of_qsub),
		cmocka_unit_test(gpus_that_did_nothing_are_named),
		cmocka_unit_test(each_large_excess_is_named),
		cmocka_unit_test(small_excesses_get_no_advice),
		cmocka_unit_test(figures_that_were_not_measured_get_no_advice),
		cmocka_unit_test(failed_and_running_jobs_get_no_advice),
		cmocka_unit_test(idle_gpus_are_named_however_the_job_was_cut),
		cmocka_unit_test(why_a_use_says_little_is_named),
		cmocka_unit_test(a_limit_names_how_much_more),
		cmocka_unit_test(advised_amounts_parse_and_suffice),
		cmocka_unit_test(a_core_is_idle_once_nine_tenths_of_it_are),
		cmocka_unit_test(bytes_count_below_half_and_from_their_least_excess_on),
		cmocka_unit_test(bytes_are_rounded_up_to_what_people_type),
		cmocka_unit_test(walltime_counts_below_a_quarter_and_from_an_idle_hour_on),
		cmocka_unit_test(a_job_is_judged_from_its_first_minute_on),
		cmocka_unit_test(each_engine_has_its_own_words_for_the_same_amounts),
		cmocka_unit_test(what_a_limit_needs_is_the_larger_of_reached_and_requested),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
