/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_compare - the ledger's and slurmdbd's attempts side by side: every difference is named, once, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "cli/admin/reconcile/compare.h"
#include "common/cleanup.h"

static struct slurm_batch_job attempt_of(int64_t job, int64_t submit_s)
{
	struct slurm_batch_job j = { .job = job,
				     .submit_s = submit_s,
				     .start_s = submit_s + 1,
				     .end_s = submit_s + 61,
				     .ncpus = 2,
				     .state = SLURM_BATCH_COMPLETED,
				     .nodes = "n1" };

	return j;
}

struct seen {
	int n[_COMPARE_MAX];
	int64_t job;
	struct compare_sums sums;
};

static int see_difference(void *ctx, const struct compare_difference *d, struct err *err)
{
	struct seen *s = ctx;

	(void)err;
	s->n[d->what]++;
	s->job = d->ledger ? d->ledger->job : d->slurmdbd->job;
	return 0;
}

/* The number of differences. */
static int64_t count_differences(struct slurm_batch_job *l, size_t n_l,
				 struct slurm_batch_job *d, size_t n_d, struct seen *ret)
{
	struct compare_list ledger = { l, n_l }, slurmdbd = { d, n_d };
	struct compare how = { .fn = see_difference, .ctx = ret };

	memset(ret, 0, sizeof(*ret));
	assert_int_equal(compare_lists(&how, &ledger, &slurmdbd, NULL), 0);
	ret->sums = how.sums;
	return how.sums.n_differences;
}

static void the_same_in_another_order_is_equal(void **state)
{
	struct slurm_batch_job l[] = { attempt_of(1, 10), attempt_of(1, 90),
				       attempt_of(2, 50) };
	struct slurm_batch_job d[] = { attempt_of(2, 50), attempt_of(1, 90),
				       attempt_of(1, 10) };
	struct seen seen;

	(void)state;
	assert_int_equal(count_differences(l, 3, d, 3, &seen), 0);
	assert_int_equal(count_differences(l, 0, d, 0, &seen), 0);
}

static void an_attempt_that_one_side_lacks_is_named(void **state)
{
	struct slurm_batch_job l[] = { attempt_of(1, 10), attempt_of(1, 90), attempt_of(3, 5) };
	struct slurm_batch_job d[] = { attempt_of(1, 10), attempt_of(2, 50), attempt_of(3, 5) };
	struct seen seen;

	(void)state;
	assert_int_equal(count_differences(l, 3, d, 3, &seen), 2);
	assert_int_equal(seen.n[COMPARE_NOT_IN_LEDGER], 1);
	assert_int_equal(seen.n[COMPARE_NOT_IN_SLURMDBD], 1);
	assert_int_equal(count_differences(l, 3, d, 0, &seen), 3);
}

static void every_figure_that_differs_is_named(void **state)
{
	struct seen seen;

	(void)state;
	for (int what = COMPARE_START; what < _COMPARE_MAX; what++) {
		struct slurm_batch_job l = attempt_of(1, 10), d = attempt_of(1, 10);

		l.start_s += what == COMPARE_START;
		l.end_s += what == COMPARE_END;
		l.suspended_s += what == COMPARE_SUSPENDED;
		l.ncpus += what == COMPARE_CPUS;
		l.state = what == COMPARE_STATE ? SLURM_BATCH_FAILED : l.state;
		assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
		assert_int_equal(seen.n[what], 1);
	}
}

static void an_agents_times_may_differ_by_prolog_and_epilog(void **state)
{
	struct slurm_batch_job l = attempt_of(1, 10), d = attempt_of(1, 10);
	struct seen seen;

	(void)state;
	l.by_agent = true;
	l.start_s += COMPARE_AGENT_S - 1;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
	assert_int_equal(seen.sums.s_agent, -2 * (COMPARE_AGENT_S - 1));
	l.start_s++;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
	l.start_s++;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
}

static void an_agent_may_know_the_end_before_slurm_notices_a_lost_node(void **state)
{
	struct slurm_batch_job l = attempt_of(1, 10), d = attempt_of(1, 10);
	struct seen seen;

	(void)state;
	l.by_agent = true;
	d.end_s = l.end_s + COMPARE_AGENT_S + 1;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
	assert_int_equal(seen.sums.n_noticed_late, 0);
	l.state = d.state = SLURM_BATCH_NODE_FAIL;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
	assert_int_equal(seen.sums.n_noticed_late, 1);
	assert_int_equal(seen.sums.s_noticed_late, 2 * (COMPARE_AGENT_S + 1));
	assert_int_equal(seen.sums.s_agent, 0);
	assert_int_equal(seen.sums.s_slurmdbd - seen.sums.s_ledger, seen.sums.s_noticed_late);
	l.by_agent = false;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
	assert_int_equal(seen.sums.n_noticed_late, 0);
	l.by_agent = true;
	l.end_s = d.end_s + COMPARE_AGENT_S + 1; /* what nothing explains */
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
	l.end_s = l.start_s - 1;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
}

/* Slurm ended it in its Prolog, or lost its node before the first task. */
static void an_attempt_without_a_task_has_no_start_by_its_agent(void **state)
{
	struct slurm_batch_job l = attempt_of(1, 1000), d = attempt_of(1, 1000);
	struct seen seen;

	(void)state;
	l.by_agent = true;
	l.start_s = 0;
	d.end_s = d.start_s + COMPARE_AGENT_S;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
	assert_int_equal(seen.sums.s_agent, -2 * COMPARE_AGENT_S);
	d.end_s++; /* longer than a Prolog */
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
	assert_int_equal(seen.n[COMPARE_START], 1);
	l.state = d.state = SLURM_BATCH_NODE_FAIL;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
	assert_int_equal(seen.sums.n_noticed_late, 1);
	l.end_s = 0; /* its end was never heard of */
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 2);
	l = d = attempt_of(1, 1000);
	l.start_s = 0; /* no agent said it */
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 1);
}

/* slurmctld died before it saved the start of a run that an agent reported, and started the attempt again. */
static void a_run_that_slurmctld_forgot_is_counted_and_no_difference(void **state)
{
	struct slurm_batch_job l[] = { attempt_of(1, 100), attempt_of(1, 0) };
	struct slurm_batch_job d = l[0];
	struct seen seen;

	(void)state;
	l[1].end_s = l[0].start_s;
	l[0].by_agent = l[1].by_agent = true;
	l[0].attempt = l[1].attempt = 1;
	assert_int_equal(count_differences(l, 2, &d, 1, &seen), 0);
	assert_int_equal(seen.sums.n_forgotten, 1);
	assert_int_equal(seen.sums.s_forgotten, seen.sums.s_ledger - seen.sums.s_slurmdbd);
	for (int how = 0; how < 5; how++) {
		struct slurm_batch_job other[] = {
			l[0], l[1]
		}; /* l is sorted now: the run is first */

		other[0].end_s += how == 0; /* after the other's start */
		other[0].by_agent = how != 1;
		other[0].attempt += how == 2;
		other[0].submit_s = how == 3;
		other[0].end_s = how == 4 ? 0 : other[0].end_s;
		assert_int_equal(count_differences(other, 2, &d, 1, &seen), 1);
		assert_int_equal(seen.n[COMPARE_NOT_IN_SLURMDBD], 1);
		assert_int_equal(seen.sums.n_forgotten, 0);
	}
	assert_int_equal(count_differences(l, 1, &d, 1, &seen), 2); /* nothing follows it */
}

static void times_of_a_job_that_never_ran_mean_nothing(void **state)
{
	struct slurm_batch_job l = attempt_of(1, 10), d = attempt_of(1, 10);
	struct seen seen;

	(void)state;
	l.state = d.state = SLURM_BATCH_CANCELLED;
	l.nodes[0] = d.nodes[0] = '\0';
	l.start_s = 0;
	assert_int_equal(count_differences(&l, 1, &d, 1, &seen), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_in_another_order_is_equal),
		cmocka_unit_test(an_attempt_that_one_side_lacks_is_named),
		cmocka_unit_test(every_figure_that_differs_is_named),
		cmocka_unit_test(an_agents_times_may_differ_by_prolog_and_epilog),
		cmocka_unit_test(an_agent_may_know_the_end_before_slurm_notices_a_lost_node),
		cmocka_unit_test(an_attempt_without_a_task_has_no_start_by_its_agent),
		cmocka_unit_test(a_run_that_slurmctld_forgot_is_counted_and_no_difference),
		cmocka_unit_test(times_of_a_job_that_never_ran_mean_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
