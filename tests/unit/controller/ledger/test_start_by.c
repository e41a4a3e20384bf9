/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Jobs that start by a time or not at all: which they are, and that each ends once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/time_units.h"
#include "controller/ledger/jobs/waiting.h"
#include "tests/unit/rig/ledger_rig.h"

/* A queued job of alice's; seconds < 0: one that waits as long as it takes. */
static int64_t submit_job(struct rig *r, int64_t seconds)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	int64_t job;

	rig_request_init(&q);
	q.res = (struct resources){ .ncpus = 1, .vmem_bytes = 1000, .walltime_s = 60 };
	q.workdir = strdup("/");
	q.is_immediate = seconds >= 0;
	q.immediate_s = seconds;
	for (int i = 0; i < _CHARGE_SIDE_MAX; i++)
		new.terms.bundle.side[i] = (struct fraction){ i == CHARGE_CORES, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

static int list_jobs(struct rig *r, int64_t at_s, int64_t ret[4])
{
	const struct store_start_by_ask ask = { "main", NOON + at_s * S_NS };

	return store_start_by(r->store, &ask, ret, 4, NULL);
}

static int end_job(struct rig *r, int64_t job)
{
	return store_start_by_end(r->store, job, "there was no room", NOON + S_NS, NULL);
}

static void only_jobs_whose_time_is_over_are_listed(void **state)
{
	struct rig *r = *state;
	const struct store_start_by_ask elsewhere = { "other", NOON + 100 * S_NS };
	int64_t jobs[4], next, later, now;

	submit_job(r, -1);
	later = submit_job(r, 30);
	assert_int_equal(store_start_by_next(r->store, &next, NULL), 0);
	assert_true(next == NOON + 30 * S_NS);
	now = submit_job(r, 0);
	assert_int_equal(store_start_by_next(r->store, &next, NULL), 0);
	assert_true(next == NOON + 30 * S_NS);
	assert_int_equal(list_jobs(r, -1000, jobs), 1); /* whatever the clock says */
	assert_int_equal(jobs[0], now);
	assert_int_equal(list_jobs(r, 29, jobs), 1);
	assert_int_equal(list_jobs(r, 30, jobs), 2);
	assert_int_equal(jobs[1], later);
	assert_int_equal(store_start_by(r->store, &elsewhere, jobs, 4, NULL), 0);
}

static void a_job_ends_once_with_the_reason(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_job(r, 0), jobs[4], next;

	assert_int_equal(end_job(r, job), 1);
	assert_int_equal(end_job(r, job), 0);
	assert_int_equal(list_jobs(r, 100, jobs), 0);
	assert_int_equal(store_start_by_next(r->store, &next, NULL), 0);
	assert_int_equal(next, 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_FAILED);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events WHERE what = 'ended'"
				       " AND text = 'there was no room'"),
			 1);
}

static void a_job_that_started_or_waits_is_not_ended(void **state)
{
	struct rig *r = *state;
	int64_t running = rig_job(r, NOON), waiting = submit_job(r, -1), started, jobs[4];
	struct store_allocation at = { .node = "n1" };

	started = at.job = submit_job(r, 0);
	assert_int_equal(store_allocate(r->store, &at, 1, NOON, NULL), 0);
	assert_int_equal(list_jobs(r, 100, jobs), 0);
	assert_int_equal(end_job(r, started), 0);
	assert_int_equal(end_job(r, running), 0);
	assert_int_equal(end_job(r, waiting), 0);
	assert_int_equal(rig_load_job(r, started).state, JOB_STARTING);
	assert_int_equal(rig_load_job(r, waiting).state, JOB_QUEUED);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_jobs_whose_time_is_over_are_listed),
		TEST(a_job_ends_once_with_the_reason),
		TEST(a_job_that_started_or_waits_is_not_ended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
