/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs that their owners suspended: which they are, and since when. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "controller/ledger/attempts/suspended.h"
#include "tests/unit/rig/ledger_rig.h"

static const struct store_desired_change by_owner = { .want = DESIRED_SUSPEND,
						      .by_owner = true };
static const struct store_desired_change by_operator = { .want = DESIRED_SUSPEND };
static const struct store_desired_change by_queue = { .want = DESIRED_SUSPEND,
						      .by_queue = true,
						      .preempted_by = 77 };
static const struct store_desired_change to_run = { .want = DESIRED_RUN, .by_owner = true };

static void set_desired(struct rig *r, struct store_desired_change w, int64_t job, int64_t at_s)
{
	char node[REQUEST_NAME_MAX];

	w.job = job;
	w.now_ns = NOON + at_s * S_NS;
	assert_int_equal(store_set_desired(r->store, &w, node, NULL), 0);
}

static int list_suspended(struct rig *r, int64_t before_s, int64_t ret[4])
{
	return store_suspended(r->store, NOON + before_s * S_NS, ret, 4, NULL);
}

static void the_owners_suspension_counts_from_its_first_moment(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), jobs[4];

	assert_int_equal(list_suspended(r, 1000, jobs), 0);
	set_desired(r, by_owner, job, 10);
	set_desired(r, by_owner, job, 50); /* suspended again: gains no time */
	assert_int_equal(list_suspended(r, 9, jobs), 0);
	assert_int_equal(list_suspended(r, 10, jobs), 1);
	assert_int_equal(jobs[0], job);
	set_desired(r, to_run, job, 60);
	assert_int_equal(list_suspended(r, 1000, jobs), 0);
	set_desired(r, by_owner, job, 70);
	assert_int_equal(list_suspended(r, 69, jobs), 0);
	assert_int_equal(list_suspended(r, 70, jobs), 1);
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 1), NOON + 80 * S_NS);
	assert_int_equal(list_suspended(r, 1000, jobs), 0);
}

static void operators_and_the_queue_are_not_bounded(void **state)
{
	struct rig *r = *state;
	int64_t a = rig_job(r, NOON), b = rig_job(r, NOON), jobs[4];

	set_desired(r, by_operator, a, 10);
	set_desired(r, by_queue, b, 10);
	assert_int_equal(list_suspended(r, 1000, jobs), 0);
	set_desired(r, by_owner, a, 20); /* it is suspended by the operator already */
	assert_int_equal(list_suspended(r, 1000, jobs), 0);
	set_desired(r, by_owner, b, 30); /* it does not go on by itself any more */
	assert_int_equal(list_suspended(r, 30, jobs), 1);
	assert_int_equal(jobs[0], b);
	set_desired(r, by_operator, b, 40); /* the operator takes it over */
	assert_int_equal(list_suspended(r, 1000, jobs), 0);
}

static void the_longest_suspension_is_first(void **state)
{
	struct rig *r = *state;
	int64_t a = rig_job(r, NOON), b = rig_job(r, NOON), jobs[4];

	set_desired(r, by_owner, b, 10);
	set_desired(r, by_owner, a, 20);
	assert_int_equal(list_suspended(r, 1000, jobs), 2);
	assert_int_equal(jobs[0], b);
	assert_int_equal(jobs[1], a);
}

int main(void)
{
#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
	const struct CMUnitTest tests[] = {
		RIG(the_owners_suspension_counts_from_its_first_moment),
		RIG(operators_and_the_queue_are_not_bounded),
		RIG(the_longest_suspension_is_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
