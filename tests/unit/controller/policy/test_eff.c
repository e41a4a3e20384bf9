/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_eff - sums weigh by what was allocated, idle time stays visible, a figure that was not measured is
 * never 0, and advice is worth its line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "controller/policy/efficiency/eff.h"

#define GIB (1LL << 30)
#define S 1000000000LL
#define H (3600 * S)

/* Cores alone are charged; an hour on 4 cores, half of them busy. */
static struct eff_attempt make_attempt(int64_t job)
{
	struct eff_attempt a = {
		.job = job,
		.requested = { .ncpus = 4,
			       .vmem_bytes = 8 * GIB,
			       .mem_bytes = 8 * GIB,
			       .jobfs_bytes = 10 * GIB,
			       .walltime_s = 7200 },
		.end = { .kind = END_EXITED },
		.running_ns = H,
		.charge_ms = 4 * HOUR_MS,
		.has_terms = true,
		.terms = { .side = { { 0, 1 }, { 1, 1 }, { 0, 1 } } },
	};

	usage_set(&a.usage, &a.usage.cpu_ns, 2 * H);
	usage_set(&a.usage, &a.usage.rss_peak_bytes, 6 * GIB);
	usage_set(&a.usage, &a.usage.vmem_peak_bytes, 7 * GIB);
	usage_set(&a.usage, &a.usage.jobfs_peak_bytes, 1 * GIB);
	return a;
}

static struct eff_sum sum_of(const struct eff_attempt *a, int n)
{
	struct eff_sum sum = { 0 };

	for (int i = 0; i < n; i++)
		assert_int_equal(eff_add(&sum, &a[i]), 0);
	return sum;
}

static void one_job_is_used_over_requested(void **state)
{
	struct eff_attempt a = make_attempt(1);
	struct eff_sum s = sum_of(&a, 1);

	(void)state;
	assert_int_equal(eff_permille(&s, EFF_CPU), 500);
	assert_int_equal(eff_permille(&s, EFF_MEM), 750);
	assert_int_equal(eff_permille(&s, EFF_VMEM), 875);
	assert_int_equal(eff_permille(&s, EFF_JOBFS), 100);
	assert_int_equal(eff_permille(&s, EFF_WALLTIME), 500);
	assert_int_equal(eff_requested(&s, EFF_MEM), 8 * GIB);
	assert_int_equal(eff_used(&s, EFF_MEM), 6 * GIB);
	assert_int_equal(eff_idle_core_ms(&s), 2 * HOUR_MS);
	assert_int_equal(eff_cpu_ms(&s), 2 * HOUR_MS);
	assert_int_equal(eff_with_cache(&s), -1);
	usage_set(&a.usage, &a.usage.mem_peak_bytes, 100 * GIB);
	s = sum_of(&a, 1);
	assert_int_equal(eff_with_cache(&s), 100 * GIB);
	assert_int_equal(eff_permille(&s, EFF_MEM), 750);
}

static void a_sum_weighs_by_core_time(void **state)
{
	struct eff_attempt a[2] = { make_attempt(1), make_attempt(2) };
	struct eff_sum s;

	(void)state;
	/* 100 cores for 10 hours, all busy, and 4 for one hour, none. */
	a[0].requested.ncpus = 100;
	a[0].running_ns = 10 * H;
	a[0].usage.cpu_ns = 1000 * H;
	a[1].usage.cpu_ns = 0;
	s = sum_of(a, 2);
	assert_int_equal(eff_permille(&s, EFF_CPU), 1000 * 1000 / 1004);
	assert_int_equal(eff_idle_core_ms(&s), 4 * HOUR_MS);
	/* Memory by the time alone: 10 hours of 6 of 8, one hour of 0 of 8. */
	a[1].usage.rss_peak_bytes = 0;
	s = sum_of(a, 2);
	assert_int_equal(eff_permille(&s, EFF_MEM), 60 * 1000 / 88);
}

static void a_figure_that_was_not_measured_is_in_neither_sum(void **state)
{
	struct eff_attempt a[2] = { make_attempt(1), make_attempt(2) };
	struct eff_sum s;

	(void)state;
	a[1].usage = (struct usage){ .have = 0 };
	a[1].requested.walltime_s = 0;
	s = sum_of(a, 2);
	assert_int_equal(eff_permille(&s, EFF_CPU), 500);
	assert_int_equal(eff_permille(&s, EFF_WALLTIME), 500);
	assert_int_equal(s.part[EFF_CPU].n_unmeasured, 1);
	assert_int_equal(eff_used(&s, EFF_MEM), -1); /* an average of some would mislead */
	assert_int_equal(eff_idle_core_ms(&s), 2 * HOUR_MS);
	s = sum_of(a + 1, 1);
	for (enum eff_side side = 0; side < _EFF_SIDE_MAX; side++)
		assert_int_equal(eff_permille(&s, side), -1);
	assert_int_equal(eff_idle_core_ms(&s), -1);
	assert_int_equal(eff_cpu_ms(&s), -1);
	s = (struct eff_sum){ 0 };
	assert_int_equal(eff_permille(&s, EFF_CPU), -1);
	assert_int_equal(eff_requested(&s, EFF_MEM), -1);
}

static void use_above_the_request_does_not_hide_idle_time(void **state)
{
	struct eff_attempt a[2] = { make_attempt(1), make_attempt(2) };
	struct eff_sum s;

	(void)state;
	a[0].usage.cpu_ns = 8 * H; /* two hardware threads a core */
	a[0].usage.rss_peak_bytes = 80 * GIB;
	a[1].usage.cpu_ns = 0;
	a[1].usage.rss_peak_bytes = 0;
	s = sum_of(a, 1);
	assert_int_equal(eff_permille(&s, EFF_CPU), 2000); /* one job: as it is */
	assert_int_equal(eff_permille(&s, EFF_MEM), 10000);
	assert_int_equal(s.part[EFF_CPU].n_over, 1);
	s = sum_of(a, 2);
	assert_int_equal(eff_permille(&s, EFF_CPU), 500);
	assert_int_equal(eff_permille(&s, EFF_MEM), 500);
	assert_int_equal(eff_idle_core_ms(&s), 4 * HOUR_MS);
}

static void starting_a_job_is_no_excess_of_cpu(void **state)
{
	struct eff_attempt a = make_attempt(1);
	struct eff_sum s;

	(void)state;
	a.usage.cpu_ns = 4 * H + S;
	s = sum_of(&a, 1);
	assert_int_equal(eff_permille(&s, EFF_CPU), 1000);
	assert_int_equal(s.part[EFF_CPU].n_over, 0);
	a.usage.cpu_ns = 4 * H + S + S / 1000;
	s = sum_of(&a, 1);
	assert_int_equal(s.part[EFF_CPU].n_over, 1);
	a.usage.cpu_ns = 4 * H + S;
	a.is_history = true; /* has no such start */
	s = sum_of(&a, 1);
	assert_int_equal(s.part[EFF_CPU].n_over, 1);
}

static void attempts_of_a_job_are_one_job(void **state)
{
	struct eff_attempt a[4] = { make_attempt(1), make_attempt(1), make_attempt(2),
				    make_attempt(2) };
	struct eff_sum s;

	(void)state;
	s = sum_of(a, 3);
	assert_int_equal(s.jobs, 2);
	assert_int_equal(s.attempts, 3);
	assert_int_equal(s.running_ms, 3 * HOUR_MS);
	assert_int_equal(s.core_ms, 12 * HOUR_MS);
	/* Each had its own walltime, and its own peak. */
	assert_int_equal(eff_permille(&s, EFF_WALLTIME), 500);
	assert_int_equal(eff_used(&s, EFF_MEM), 6 * GIB);
	a[2].is_history = a[3].is_history = true; /* two clusters may number alike */
	s = sum_of(a + 2, 2);
	assert_int_equal(s.jobs, 2);
}

static void the_order_of_jobs_does_not_matter(void **state)
{
	struct eff_attempt a[3] = { make_attempt(1), make_attempt(2), make_attempt(3) };
	const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
				   { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct eff_sum first, s;

	(void)state;
	a[0].requested.ncpus = 64;
	a[0].charge_ms = 64 * HOUR_MS;
	a[1].usage.have = 0;
	a[2].running_ns = 17 * S + 5;
	a[2].charge_ms = 68000;
	for (int i = 0; i < 6; i++) {
		s = (struct eff_sum){ 0 };
		for (int k = 0; k < 3; k++)
			assert_int_equal(eff_add(&s, &a[orders[i][k]]), 0);
		if (i == 0)
			first = s;
		for (enum eff_side side = 0; side < _EFF_SIDE_MAX; side++)
			assert_int_equal(eff_permille(&s, side), eff_permille(&first, side));
		assert_int_equal(s.saved_ms, first.saved_ms);
		assert_int_equal(s.most_job, 1);
	}
	assert_int_equal(first.saved_ms, 62 * HOUR_MS);
}

static void of_equal_savings_the_first_job_is_named(void **state)
{
	struct eff_attempt a[3] = { make_attempt(8), make_attempt(5), make_attempt(9) };
	struct eff_sum s = sum_of(a, 3);

	(void)state;
	assert_int_equal(s.most_job, 5);
}

static void the_advice_of_a_sum_is_for_the_engine_of_the_job_that_it_names(void **state)
{
	struct eff_attempt a[3] = { make_attempt(1), make_attempt(2), make_attempt(3) };
	struct eff_sum s;

	(void)state;
	a[0].engine = ENGINE_SLURM;
	a[1].engine = ENGINE_PBS;
	a[1].running_ns *= 2;
	a[1].charge_ms *= 2;
	s = sum_of(a, 3);
	assert_int_equal(s.most_job, 2);
	assert_int_equal(s.most_engine, ENGINE_PBS);
	assert_int_equal(s.engine, ENGINE_REEVE);
}

/* ---- what a smaller request would have cost ---- */

static void the_saving_is_the_charge_less_that_of_the_smaller_request(void **state)
{
	struct eff_attempt a = make_attempt(7);
	struct eff_sum s;

	(void)state;
	s = sum_of(&a, 1); /* half of 4 cores busy: 2 would do */
	assert_int_equal(s.saved_ms, 2 * HOUR_MS);
	assert_int_equal(s.jobs_saving, 1);
	assert_int_equal(s.most_fit.ncpus, 2);
	assert_true(eff_is_worth_advice(&s));
	/* Where memory decides the price, fewer cores save nothing. */
	a.terms.side[CHARGE_MEMORY] = (struct fraction){ GIB, 1 };
	a.charge_ms = 8 * HOUR_MS;
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
	a.usage.vmem_peak_bytes = 2 * GIB; /* 2.5 GiB would do, at 2 cores */
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 8 * HOUR_MS - 9000000);
}

static void terms_that_are_not_those_of_the_charge_say_nothing(void **state)
{
	struct eff_attempt a = make_attempt(7);
	struct eff_sum s;

	(void)state;
	a.charge_ms++; /* whole nodes, say */
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
	a.charge_ms--;
	a.has_terms = false;
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
	a.has_terms = true;
	a.terms.side[CHARGE_CORES].num = 0; /* free of charge */
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
}

static void advice_is_worth_a_tenth_and_an_hour(void **state)
{
	struct eff_sum s = { .charge_ms = 10 * HOUR_MS, .saved_ms = HOUR_MS };

	(void)state;
	assert_true(eff_is_worth_advice(&s));
	s.saved_ms--; /* under an hour */
	assert_false(eff_is_worth_advice(&s));
	s.saved_ms++;
	s.charge_ms++; /* under a tenth */
	assert_false(eff_is_worth_advice(&s));
	s = (struct eff_sum){ .charge_ms = INT64_MAX, .saved_ms = INT64_MAX / 2 };
	assert_true(eff_is_worth_advice(&s));
}

static void failed_jobs_would_not_have_done_with_less(void **state)
{
	struct eff_attempt a = make_attempt(1);
	struct eff_sum s;

	(void)state;
	a.end.exit_status = 1;
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
	a.end = (struct job_end){ .kind = END_NONE };
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
}

static void sums_beyond_64_bits_are_refused(void **state)
{
	struct eff_attempt a = make_attempt(1);
	struct eff_sum s = { .charge_ms = INT64_MAX - 4 * HOUR_MS };

	(void)state;
	assert_int_equal(eff_add(&s, &a), 0);
	assert_int_equal(eff_add(&s, &a), -ERANGE);
	a.requested.ncpus = INT64_MAX;
	s = (struct eff_sum){ 0 };
	assert_int_equal(eff_add(&s, &a), -ERANGE);
}

static void a_job_of_no_time_has_no_division_by_zero(void **state)
{
	struct eff_attempt a = make_attempt(1);
	struct eff_sum s;

	(void)state;
	a.running_ns = 999999;
	a.charge_ms = 4;
	s = sum_of(&a, 1);
	assert_int_equal(s.running_ms, 0);
	assert_int_equal(eff_used(&s, EFF_MEM), 6 * GIB);
}

/* Two GPUs for an hour: one busy for half of it; a GPU decides the charge. */
static struct eff_attempt gpu_attempt(int64_t job)
{
	struct eff_attempt a = make_attempt(job);

	a.requested.ngpus = 2;
	a.terms = (struct charge_bundle){ .side = { { 1, 1 }, { 12, 1 }, { 0, 1 } } };
	a.charge_ms = 2 * HOUR_MS;
	usage_set(&a.usage, &a.usage.gpu_busy_ns, H / 2);
	usage_set(&a.usage, &a.usage.gpu_mem_peak_bytes, 10 * GIB);
	usage_set(&a.usage, &a.usage.gpus_used, 1);
	return a;
}

static void gpus_count_only_where_some_were_allocated(void **state)
{
	struct eff_attempt a[] = { make_attempt(1), gpu_attempt(2), gpu_attempt(3) };
	struct eff_sum s = sum_of(a, 1);

	(void)state;
	assert_int_equal(eff_permille(&s, EFF_GPU), -1);
	assert_int_equal(s.part[EFF_GPU].n_unmeasured, 0);
	assert_int_equal(eff_gpu_mem(&s), -1);
	s = sum_of(a, 2);
	assert_int_equal(eff_permille(&s, EFF_GPU), 250);
	assert_int_equal(eff_idle_gpu_ms(&s), 3 * HOUR_MS / 2);
	assert_int_equal(eff_gpu_mem(&s), 10 * GIB);
	a[2].usage.have = 0;
	s = sum_of(a, 3);
	assert_int_equal(eff_permille(&s, EFF_GPU), 250);
	assert_int_equal(s.part[EFF_GPU].n_unmeasured, 1);
	assert_int_equal(eff_gpu_mem(&s), -1);
}

static void an_idle_gpu_would_have_saved_its_charge(void **state)
{
	struct eff_attempt a = gpu_attempt(1);
	struct eff_sum s = sum_of(&a, 1);

	(void)state;
	assert_int_equal(s.saved_ms, HOUR_MS);
	assert_int_equal(s.most_fit.ngpus, 1);
	assert_true(eff_is_worth_advice(&s));
	a.usage.gpus_used = 0;
	s = sum_of(&a, 1);
	assert_int_equal(s.saved_ms, 0);
	assert_int_equal(s.n_gpus_idle, 1);
}

/* Sums of many attempts, with unlike figures: what went in comes out. */
static void totals_are_those_of_the_attempts(void **state)
{
	struct eff_attempt a[3] = { gpu_attempt(1), make_attempt(2), gpu_attempt(3) };
	struct eff_sum s;

	(void)state;
	a[0].is_simulated = a[1].is_simulated = true; /* no GPUs there: none are simulated */
	a[1].running_ns = 30 * 60 * S;
	a[1].charge_ms = 7;
	a[1].is_history = true;
	a[1].end = (struct job_end){
		.kind = END_LIMIT,
		.reason = { .limit = LIMIT_MEM, .requested = 3, .reached = 4 }
	};
	a[1].engine = ENGINE_PBS;
	a[2].running_ns = 3 * H;
	usage_set(&a[2].usage, &a[2].usage.gpu_mem_peak_bytes, 2 * GIB);
	s = sum_of((struct eff_attempt[]){ a[0], a[2], a[1] }, 3);
	assert_int_equal(s.jobs, 3);
	assert_int_equal(s.attempts, 3);
	assert_int_equal(s.n_history, 1);
	assert_int_equal(s.n_with_gpus, 2);
	assert_int_equal(s.n_simulated, 1);
	assert_int_equal(s.running_ms, 9 * HOUR_MS / 2);
	assert_int_equal(s.held_ms, s.running_ms);
	assert_int_equal(s.core_ms, 4 * 9 * HOUR_MS / 2);
	assert_int_equal(s.gpu_ms, 2 * 4 * HOUR_MS);
	assert_int_equal(s.charge_ms, 4 * HOUR_MS + 7);
	assert_int_equal(eff_gpu_mem(&s), 4 * GIB); /* 10 for one hour, 2 for three */
	/* Of what comes last: how it ended, and where. */
	assert_int_equal(s.engine, ENGINE_PBS);
	assert_int_equal(s.end_kind, END_LIMIT);
	assert_int_equal(s.limit, LIMIT_MEM);
	assert_int_equal(s.limit_requested, 3);
	assert_int_equal(s.limit_reached, 4);
}

static void a_job_of_two_attempts_saves_as_one_job(void **state)
{
	struct eff_attempt a[3] = { make_attempt(4), make_attempt(4), make_attempt(5) };
	struct eff_sum s;

	(void)state;
	s = sum_of(a, 3);
	assert_int_equal(s.jobs_saving, 2);
	assert_int_equal(s.saved_ms, 6 * HOUR_MS);
	assert_int_equal(s.most_saved_ms, 2 * HOUR_MS);
	assert_int_equal(s.most_job, 4);
	a[0].is_history = a[1].is_history = true;
	s = sum_of(a, 2);
	assert_int_equal(s.jobs_saving, 2);
	a[0] = make_attempt(4);
	a[0].usage.cpu_ns = 4 * H; /* all cores busy: this attempt saves nothing */
	s = sum_of((struct eff_attempt[]){ a[0], a[2] }, 2);
	assert_int_equal(s.jobs_saving, 1);
	assert_int_equal(s.most_job, 5);
}

static void mem_that_is_charged_is_saved_where_no_vmem_was_requested(void **state)
{
	struct eff_attempt a = make_attempt(7);
	struct eff_sum s;

	(void)state;
	a.requested.vmem_bytes = 0;
	a.usage.cpu_ns = 4 * H;
	a.usage.rss_peak_bytes = 2 * GIB;
	a.terms.side[CHARGE_MEMORY] = (struct fraction){ GIB, 1 };
	a.charge_ms = 8 * HOUR_MS;
	s = sum_of(&a, 1); /* 2.5 GiB would do, but 4 cores are charged then */
	assert_int_equal(s.most_fit.mem_bytes, 5 * GIB / 2);
	assert_int_equal(s.saved_ms, 4 * HOUR_MS);
}

static void memory_with_cache_is_an_average_over_the_time_held(void **state)
{
	struct eff_attempt a[2] = { make_attempt(1), make_attempt(2) };
	struct eff_sum s = { 0 };

	(void)state;
	assert_int_equal(eff_with_cache(&s), -1);
	assert_int_equal(eff_gpu_mem(&s), -1);
	assert_int_equal(eff_idle_gpu_ms(&s), -1);
	usage_set(&a[0].usage, &a[0].usage.mem_peak_bytes, 8 * GIB);
	s = sum_of(a, 2);
	assert_int_equal(eff_with_cache(&s), -1); /* of one of them it is not known */
	usage_set(&a[1].usage, &a[1].usage.mem_peak_bytes, 4 * GIB);
	a[1].running_ns = 3 * H;
	s = sum_of(a, 2);
	assert_int_equal(eff_with_cache(&s), 5 * GIB);
	assert_int_equal(eff_requested(&s, EFF_MEM), 8 * GIB);
	assert_int_equal(eff_used(&s, EFF_CPU), 1); /* 4 core-hours in 4 hours */
}

static void any_sum_beyond_64_bits_is_refused(void **state)
{
	const struct eff_attempt a = gpu_attempt(1);
	struct eff_sum full[] = { { .running_ms = INT64_MAX - HOUR_MS + 1 },
				  { .held_ms = INT64_MAX - HOUR_MS + 1 },
				  { .core_ms = INT64_MAX - 4 * HOUR_MS + 1 },
				  { .gpu_ms = INT64_MAX - 2 * HOUR_MS + 1 },
				  { .charge_ms = INT64_MAX - 2 * HOUR_MS + 1 },
				  { .saved_ms = INT64_MAX - HOUR_MS + 1 } };
	struct eff_sum room = { .running_ms = INT64_MAX - HOUR_MS,
				.held_ms = INT64_MAX - HOUR_MS,
				.core_ms = INT64_MAX - 4 * HOUR_MS,
				.gpu_ms = INT64_MAX - 2 * HOUR_MS,
				.charge_ms = INT64_MAX - 2 * HOUR_MS,
				.saved_ms = INT64_MAX - HOUR_MS };

	(void)state;
	for (size_t i = 0; i < sizeof(full) / sizeof(*full); i++)
		assert_int_equal(eff_add(&full[i], &a), -ERANGE);
	assert_int_equal(eff_add(&room, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_job_is_used_over_requested),
		cmocka_unit_test(gpus_count_only_where_some_were_allocated),
		cmocka_unit_test(an_idle_gpu_would_have_saved_its_charge),
		cmocka_unit_test(a_sum_weighs_by_core_time),
		cmocka_unit_test(a_figure_that_was_not_measured_is_in_neither_sum),
		cmocka_unit_test(use_above_the_request_does_not_hide_idle_time),
		cmocka_unit_test(starting_a_job_is_no_excess_of_cpu),
		cmocka_unit_test(attempts_of_a_job_are_one_job),
		cmocka_unit_test(the_order_of_jobs_does_not_matter),
		cmocka_unit_test(of_equal_savings_the_first_job_is_named),
		cmocka_unit_test(
			the_advice_of_a_sum_is_for_the_engine_of_the_job_that_it_names),
		cmocka_unit_test(the_saving_is_the_charge_less_that_of_the_smaller_request),
		cmocka_unit_test(terms_that_are_not_those_of_the_charge_say_nothing),
		cmocka_unit_test(advice_is_worth_a_tenth_and_an_hour),
		cmocka_unit_test(failed_jobs_would_not_have_done_with_less),
		cmocka_unit_test(sums_beyond_64_bits_are_refused),
		cmocka_unit_test(a_job_of_no_time_has_no_division_by_zero),
		cmocka_unit_test(totals_are_those_of_the_attempts),
		cmocka_unit_test(a_job_of_two_attempts_saves_as_one_job),
		cmocka_unit_test(mem_that_is_charged_is_saved_where_no_vmem_was_requested),
		cmocka_unit_test(memory_with_cache_is_an_average_over_the_time_held),
		cmocka_unit_test(any_sum_beyond_64_bits_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
