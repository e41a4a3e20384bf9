/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sharetree_ledger - a share tree built from the ledger equals the one that was updated by reports. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "tests/unit/rig/sharetree_rig.h"

static void feed_report(struct world *w, struct rig *r, struct report rep, int64_t now_ns)
{
	struct sync_job hold = { rep.job, rep.attempt, rep.state };
	struct rig_sync say = {
		.reports = &rep, .n_reports = 1, .jobs = &hold, .n_jobs = 1, .now_ns = now_ns
	};
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	for (size_t i = 0; w && i < result.n_deltas; i++)
		assert_int_equal(
			sharetree_add_delta(w->sharetree, &result.deltas[i], now_ns, NULL), 0);
	sync_result_done(&result);
}

static void load_tree(struct world *w, struct rig *r, int64_t now_ns)
{
	struct err err = { "" };

	if (sharetree_load(w->sharetree, r->store, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

/* Runs 1000 s, is suspended for 10000 s, runs 500 s; reports of each kind, some late. */
static int64_t live_a_life(struct world *w, struct rig *r)
{
	struct report rep;
	int64_t job = rig_job(r, NOON);

	for (int64_t s = 20; s <= 1000; s += 20)
		feed_report(w, r, rig_report(job, s, JOB_RUNNING, s), NOON + (s + 3) * S_NS);
	for (int64_t s = 1100; s <= 11000; s += 100) {
		rep = rig_report(job, s, JOB_SUSPENDED, 1000);
		rep.suspended_ns = (s - 1000) * S_NS;
		rep.at_ns = NOON + s * S_NS;
		feed_report(w, r, rep, rep.at_ns + S_NS);
	}
	for (int64_t s = 11030; s <= 11500; s += 94) {
		rep = rig_report(job, s, s + 94 > 11500 ? JOB_ENDED : JOB_RUNNING, s - 10000);
		rep.suspended_ns = 10000 * S_NS;
		rep.at_ns = NOON + s * S_NS;
		if (rep.ended_ns)
			rep.ended_ns = rep.at_ns;
		feed_report(w, r, rep, rep.at_ns + S_NS);
	}
	return NOON + 11500 * S_NS;
}

static void a_restart_computes_the_same_shares(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t end = live_a_life(&live, r) + 100 * S_NS;

	rig_reopen(r);
	load_tree(&again, r, end);
	assert_true(usage_of(&live, "physics", "alice", end) > 1000);
	assert_near(usage_of(&live, "physics", "alice", end),
		    usage_of(&again, "physics", "alice", end));
}

static void kill_9_loses_no_usage(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	/* After every report: what a controller that starts now would have. */
	for (int64_t s = 20; s <= 400; s += 20) {
		_cleanup_(world_done) struct world again =
			world_of("UsageHalfLife = 1:00:00", declared);
		int64_t now = NOON + (s + 3) * S_NS;

		feed_report(&live, r, rig_report(job, s, s == 400 ? JOB_ENDED : JOB_RUNNING, s),
			    now);
		rig_reopen(r);
		load_tree(&again, r, now);
		assert_near(usage_of(&live, "physics", "alice", now),
			    usage_of(&again, "physics", "alice", now));
		assert_true(usage_of(&again, "physics", "alice", now) > 2.4 * (double)s * 0.9);
	}
}

/* From an hour before a month's end to an hour behind it; looked at before and behind. */
static void the_usage_of_a_new_month_begins_at_zero(void **state)
{
	static const char *const policies[] = {
		"UsageHalfLife = 0\nUsageReset = monthly",
		"UsageHalfLife = 0\nUsageReset = yearly\nAllocationYearStart = 11-01",
	};
	const int64_t november = 20028 * DAY_NS, start = november - HOUR_S * S_NS;
	struct rig *r = *state;
	int64_t job = rig_job(r, start);

	for (int64_t s = 600; s <= 7200; s += 600) {
		struct report rep = rig_report(job, s, s == 7200 ? JOB_ENDED : JOB_RUNNING, s);

		rep.started_ns = start;
		rep.at_ns = start + s * S_NS;
		rep.ended_ns = s == 7200 ? rep.at_ns : 0;
		feed_report(NULL, r, rep, rep.at_ns);
	}
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world before = world_of(policies[i], declared);
		_cleanup_(world_done) struct world behind = world_of(policies[i], declared);

		load_tree(&before, r, november - S_NS);
		assert_near(usage_of(&before, "physics", "alice", november - S_NS), 3599 * 2.5);
		assert_near(usage_of(&before, "physics", "alice", november) + 1, 1);
		load_tree(&behind, r, november + HOUR_S * S_NS);
		assert_near(usage_of(&behind, "physics", "alice", november + HOUR_S * S_NS),
			    3600 * 2.5);
		/* the next month, or year */
		assert_near(usage_of(&behind, "physics", "alice", november + 366 * DAY_NS) + 1,
			    1);
	}
}

static void suspended_time_is_not_charged(void **state)
{
	_cleanup_(world_done) struct world live = world_of("", declared);
	_cleanup_(world_done) struct world again = world_of("", declared);
	struct rig *r = *state;
	int64_t end = live_a_life(&live, r);

	load_tree(&again, r, end + S_NS);
	assert_near(usage_of(&live, "physics", "alice", end), 1500 * 2.5);
	assert_near(usage_of(&again, "physics", "alice", end), 1500 * 2.5);
	/* Two stretches, and nothing in the pause. */
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM stretches"), 2);
	assert_int_equal(rig_number(r, "SELECT SUM(to_ns - from_ns) FROM stretches"),
			 1500 * S_NS);
}

static void an_earlier_moment_sees_what_there_was_by_then(void **state)
{
	_cleanup_(world_done) struct world live = world_of("", declared);
	struct rig *r = *state;

	live_a_life(&live, r);
	for (int64_t s = 0; s <= 12000; s += 500) {
		_cleanup_(world_done) struct world then = world_of("", declared);
		int64_t ran = s < 1000 ? s : s < 11000 ? 1000 : s < 11500 ? s - 10000 : 1500;

		load_tree(&then, r, NOON + s * S_NS);
		assert_near(usage_of(&then, "physics", "alice", NOON + s * S_NS),
			    2.5 * (double)ran);
	}
}

static void a_mixed_report_and_a_clock_that_steps_back_lose_nothing(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 100);

	feed_report(&live, r, rep, NOON + 100 * S_NS);
	rep = rig_report(job, 2, JOB_RUNNING, 150); /* and 50 s suspended */
	rep.at_ns = NOON + 200 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed_report(&live, r, rep, NOON + 200 * S_NS);
	rep = rig_report(job, 3, JOB_RUNNING, 250);
	rep.at_ns = NOON + 120 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed_report(&live, r, rep, NOON + 120 * S_NS);
	rep = rig_report(job, 4, JOB_ENDED, 350);
	rep.at_ns = rep.ended_ns = NOON + 400 * S_NS;
	rep.suspended_ns = 50 * S_NS;
	feed_report(&live, r, rep, NOON + 400 * S_NS);
	load_tree(&again, r, NOON + 500 * S_NS);
	assert_int_equal(rig_number(r, "SELECT SUM(running_ns) FROM stretches"), 350 * S_NS);
	assert_near(usage_of(&live, "physics", "alice", NOON + 500 * S_NS),
		    usage_of(&again, "physics", "alice", NOON + 500 * S_NS));
}

static int weigh_one(void *ctx, const struct store_charge *c, struct err *err)
{
	struct world *w = ctx;

	return sharetree_charge(w->sharetree, c, NOON + 5 * HOUR_S * S_NS, err);
}

static int charge_adjustment(void *ctx, const struct store_adjustment *a, struct err *err)
{
	void *const *both = ctx; /* world, rig */

	return store_adjustment_charges(((struct rig *)both[1])->store, a, weigh_one, both[0],
					err);
}

/* Entered at 17:00, four hours after the job: takes half of what is left, and a restart agrees.
 */
static void a_refund_of_a_job_takes_its_part_of_what_is_left(void **state)
{
	static const char *const policies[] = {
		"UsageHalfLife = 1:00:00", "UsageHalfLife = 1:00:00\nTresWeights = cpu=1"
	};
	struct rig *r = *state;
	struct store_adjustment a = { .at_ns = NOON + 5 * HOUR_S * S_NS,
				      .day = STORE_DAY_OF_ENTRY,
				      .author = "root",
				      .reason = "node failed" };
	int64_t now = a.at_ns;
	double was[2];
	struct err err = { "" };

	live_a_life(NULL, r);
	for (int i = 0; i < 2; i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], declared);

		load_tree(&w, r, now);
		was[i] = usage_of(&w, "physics", "alice", now);
		assert_true(was[i] > 1);
	}
	for (int i = 0; i < 2; i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], declared);
		_cleanup_(world_done) struct world again = world_of(policies[i], declared);
		void *both[] = { &w, r };

		load_tree(&w, r, now);
		a.job = 1;
		a.charge_ms = i ? -937500 : -1875000; /* of 3750000 */
		if (store_adjust(r->store, &a, charge_adjustment, both, &err) < 0)
			fail_msg("%s", err.text);
		assert_near(usage_of(&w, "physics", "alice", now), was[i] * (i ? 0.25 : 0.5));
		load_tree(&again, r, now);
		assert_near(usage_of(&again, "physics", "alice", now),
			    usage_of(&w, "physics", "alice", now));
	}
}

static void a_job_that_runs_on_is_refunded_of_what_it_had_run(void **state)
{
	_cleanup_(world_done) struct world live = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	const struct store_adjustment a = { .at_ns = NOON + 1000 * S_NS,
					    .day = STORE_DAY_OF_ENTRY,
					    .author = "root",
					    .reason = "slow disk",
					    .job = rig_job(r, NOON),
					    .charge_ms = -1250000 };
	void *both[] = { &live, r };
	struct err err = { "" };

	feed_report(&live, r, rig_report(a.job, 1, JOB_RUNNING, 1000), NOON + 1000 * S_NS);
	if (store_adjust(r->store, &a, charge_adjustment, both, &err) < 0)
		fail_msg("%s", err.text);
	feed_report(&live, r, rig_report(a.job, 2, JOB_ENDED, 9000), NOON + 9000 * S_NS);
	load_tree(&again, r, NOON + 9000 * S_NS);
	assert_near(usage_of(&again, "physics", "alice", NOON + 9000 * S_NS),
		    usage_of(&live, "physics", "alice", NOON + 9000 * S_NS));
}

static void an_adjustment_of_no_job_counts_over_its_day_and_survives_a_restart(void **state)
{
	_cleanup_(world_done) struct world w = world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world again =
		world_of("UsageHalfLife = 1:00:00", declared);
	_cleanup_(world_done) struct world earlier =
		world_of("UsageHalfLife = 1:00:00", declared);
	struct rig *r = *state;
	void *both[] = { &w, r };
	int64_t now = NOON + 5 * HOUR_S * S_NS;
	const struct store_adjustment a = { .at_ns = now,
					    .day = STORE_DAY_OF_ENTRY,
					    .author = "root",
					    .reason = "shared disk",
					    .cluster = "main",
					    .account = "physics",
					    .user = "alice",
					    .charge_ms = 17 * 3600000 };
	struct err err = { "" };

	live_a_life(&w, r);
	if (store_adjust(r->store, &a, charge_adjustment, both, &err) < 0)
		fail_msg("%s", err.text);
	/* It was not known before. */
	load_tree(&earlier, r, now - 1);
	assert_true(usage_of(&earlier, "physics", "alice", now) <
		    usage_of(&w, "physics", "alice", now) - 100);
	load_tree(&again, r, now + DAY_NS);
	assert_near(usage_of(&again, "physics", "alice", now + DAY_NS),
		    usage_of(&w, "physics", "alice", now + DAY_NS));
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(a_restart_computes_the_same_shares),
		RIG(kill_9_loses_no_usage),
		RIG(the_usage_of_a_new_month_begins_at_zero),
		RIG(suspended_time_is_not_charged),
		RIG(an_earlier_moment_sees_what_there_was_by_then),
		RIG(a_refund_of_a_job_takes_its_part_of_what_is_left),
		RIG(a_job_that_runs_on_is_refunded_of_what_it_had_run),
		RIG(an_adjustment_of_no_job_counts_over_its_day_and_survives_a_restart),
		RIG(a_mixed_report_and_a_clock_that_steps_back_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
