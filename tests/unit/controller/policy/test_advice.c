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
		      "lacked memory, request more than vmem=8.00 GiB");
	end.exit_status = 1;
	used.vmem_refused = 12;
	expect_advice(3,
		      "12 mappings were refused with ENOMEM for the limit of vmem: if the job "
		      "lacked memory, request more than vmem=8.00 GiB");
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
		cmocka_unit_test(a_limit_names_how_much_more),
		cmocka_unit_test(advised_amounts_parse_and_suffice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
