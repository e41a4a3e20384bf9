/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_order - queued jobs in the order of their priorities, and why each is where it is. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/why.h"
#include "controller/dispatch/order.h"
#include "tests/unit/rig/order_rig.h"

static struct order order_of(struct world *w, struct rig *r, int64_t now_ns)
{
	struct names users = { 0 }, accounts = { 0 };
	const struct order_ask ask = { .store = r->store,
				       .sharetree = w->sharetree,
				       .cluster = "main",
				       .has = { 1, 8 },
				       .now_ns = now_ns,
				       .config = w->config,
				       .users = &users,
				       .accounts = &accounts };
	struct err err = { "" };
	struct order o;

	if (order_make(&ask, &o, &err) < 0)
		fail_msg("%s", err.text);
	names_done(&users);
	names_done(&accounts);
	return o;
}

/* As a schedule has them: by priority, then by number. */
static void assert_order(const struct order *o, const int64_t *jobs)
{
	for (size_t i = 1; i < o->n; i++) {
		const struct order_job *a = order_find(o, jobs[i - 1]),
				       *b = order_find(o, jobs[i]);

		assert_true(a->priority > b->priority ||
			    (a->priority == b->priority && jobs[i - 1] < jobs[i]));
	}
}

static void fairshare_then_age_then_number_decide(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nPriorityWeightAge = 100\n"
			 "PriorityMaxAge = 1:00:00",
			 declared);
	struct rig *r = *state;
	struct order o;
	int64_t now = NOON + 3600 * S_NS;

	add_charge(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, now });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, now });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	o = order_of(&w, r, now);
	assert_order(&o, (int64_t[]){ 4, 2, 3, 1 });
	/* A new job has its priority at once; age is bounded. */
	assert_int_equal(order_find(&o, 2)->priority, 1000);
	assert_int_equal(order_find(&o, 4)->priority, 1100);
	assert_string_equal(order_find(&o, 4)->main, "fairshare");
	assert_null(order_find(&o, 5));
	order_done(&o);
	o = order_of(&w, r, now + 100 * 3600 * S_NS);
	assert_int_equal(order_find(&o, 4)->priority, 1100);
	order_done(&o);
}

static void size_favours_large_or_small(void **state)
{
	static const char *const policies[] = {
		"PriorityWeightJobSize = 1000",
		"PriorityWeightJobSize = 1000\nFavorSmall = yes",
	};
	struct rig *r = *state;

	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 8, NOON });
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], declared);
		struct order o = order_of(&w, r, NOON);

		assert_order(&o, i ? (int64_t[]){ 1, 2 } : (int64_t[]){ 2, 1 });
		order_done(&o);
	}
}

/* Each with what the cluster of 4 nodes, 64 cores and 16 a node makes of it. */
static void size_counts_every_node_and_core_of_a_request(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightJobSize = 1000", declared);
	const struct rank_cluster has = { 4, 64, 16 };
	const struct select scattered = { 1, true, { { .n = 4, .ncpus = 4 } } },
			    packed = { 1, false, { { .n = 4, .ncpus = 4 } } };
	const struct {
		const struct select *select;
		bool is_exclusive;
		int64_t ncpus, points;
	} jobs[] = {
		{ NULL, false, 16, 250 },    { NULL, false, 64, 1000 },
		{ NULL, false, 17, 382 },    { &scattered, false, 16, 625 },
		{ &packed, false, 16, 250 }, { &scattered, true, 16, 1000 },
		{ NULL, true, 1, 250 },
	};

	(void)state;
	view_tree(&w, cpu, NOON);
	for (size_t i = 0; i < ARRAY_LEN(jobs); i++) {
		const struct resources want = { .ncpus = jobs[i].ncpus, .walltime_s = 60 };
		const struct rank_job j = { .where = cpu,
					    .account = "arts",
					    .user = "carol",
					    .queue = "normal",
					    .want = &want,
					    .select = jobs[i].select,
					    .is_exclusive = jobs[i].is_exclusive };
		struct priority p;

		assert_int_equal(rank_job(w.sharetree, &has, &j, &p, NULL), 0);
		assert_int_equal(p.value, jobs[i].points);
	}
}

static void a_jobs_age_counts_from_when_it_became_eligible(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightAge = 1000\nPriorityMaxAge = 10:00:00", declared);
	struct store_hold h = { 1, NOON, STORE_HOLD_USER, "carol" };
	const int64_t hour = 3600 * S_NS;
	struct rig *r = *state;
	struct order o;

	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(store_hold(r->store, &h, NULL), 0);
	h.now_ns = NOON + 4 * hour;
	assert_int_equal(store_release(r->store, &h, NULL), 0);
	o = order_of(&w, r, NOON + 5 * hour);
	assert_int_equal(order_find(&o, 1)->priority, 100);
	assert_int_equal(order_find(&o, 2)->priority, 500);
	order_done(&o);
}

static int n_given;
static int64_t given[8];
static void on_event(void *ctx, const struct cycle_event *e)
{
	(void)ctx;
	assert_int_equal(e->action, CYCLE_ALLOCATED);
	given[n_given++] = e->job;
}

static void in_strict_order_no_job_passes_and_each_has_a_reason(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nScheduler = fifo", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_event, NULL, NULL };
	char why[DISPATCH_WHY_MAX];

	n_given = 0;
	add_charge(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	order_hello(r, NOON);
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 6, NOON });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	order_submit(r, &(struct queued){ "physics", "bob", "normal", 6, NOON });
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	/* carol starts; bob is next and lacks cores; alice's small job must not pass by. */
	assert_int_equal(n_given, 1);
	assert_int_equal(given[0], 2);
	dispatch_why(c, "main", 3, DISPATCH_WHY_ESTIMATED, why);
	assert_string_equal(
		why, "This job is next in the queue. It needs 6 cores; n1 has 2 of 8 free. "
		     "Estimated start: in 1 min, unless a higher-priority job arrives before "
		     "then. Priority: 750, mostly fairshare.");
	dispatch_why(c, "main", 3, DISPATCH_WHY_REASON, why);
	assert_string_equal(
		why, "This job is next in the queue. It needs 6 cores; n1 has 2 of 8 free. "
		     "Priority: 750, mostly fairshare.");
	dispatch_why(c, "main", 4, DISPATCH_WHY_ESTIMATED, why);
	assert_string_equal(
		why, "This job is number 3 of 3 in the queue. It waits behind job 3 "
		     "(priority 750), which is next in the queue. Job 3 needs 6 cores; n1 "
		     "has 2 of 8 free. Priority: 250, mostly fairshare.");
	dispatch_why(c, "main", 99, DISPATCH_WHY_ESTIMATED, why);
	assert_string_equal(why, "This job waits for the next scheduling cycle.");
}

static void whole_nodes_are_priced_by_the_cores_that_they_have(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	const struct cycle_run run = { "main", NOON + 10 * S_NS, NULL, NULL, NULL };

	order_hello(r, NOON);
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 2, NOON });
	assert_int_equal(
		db_run(r->store->db, NULL, "UPDATE jobs SET exclusive = 1, rate_num = 48", ""),
		0);
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(rig_number(r, "SELECT node_cores FROM attempts"), 8);
	assert_int_equal(rig_number(r, "SELECT rate_num FROM jobs"), 8);
}

/* at_s < 0: it has no start. */
static void assert_starts(struct cycle *c, int64_t job, int64_t at_s)
{
	int64_t start_s = -1;

	assert_int_equal(dispatch_start(c, "main", job, &start_s),
			 at_s < 0 ? DISPATCH_START_NONE : DISPATCH_START_KNOWN);
	assert_int_equal(start_s, at_s);
}

static void later_jobs_start_where_they_delay_no_earlier_one(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_event, NULL, NULL };
	const int64_t now_s = NOON / S_NS + 10;
	char why[DISPATCH_WHY_MAX];

	n_given = 0;
	add_charge(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	order_hello(r, NOON);
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	order_submit(r, &(struct queued){ "physics", "bob", "normal", 8, NOON });
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 2, NOON });
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 2);
	assert_int_equal(given[0], 1);
	assert_int_equal(given[1], 3); /* over when bob's may start */
	assert_starts(c, 2, now_s + 60);
	assert_starts(c, 4, now_s + 120);
	assert_starts(c, 1, -1);
	run.now_ns += 30 * S_NS;
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 2);
	dispatch_why(c, "main", 4, DISPATCH_WHY_ESTIMATED, why);
	assert_non_null(strstr(
		why, "number 2 of 2 in the queue. It needs 1 core; n1 has 0 of 8 free."));
}

/* Between the pass and its writing one job is held: it does not start, the others do, and the cycle does not fail. */
static void a_job_held_while_a_cycle_is_under_way_does_not_start(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	const struct cycle_run run = { "main", NOON + 10 * S_NS, on_event, NULL, NULL };
	const struct store_hold hold = { .job = 2, .now_ns = NOON, .author = "alice" };

	n_given = 0;
	order_hello(r, NOON);
	for (int i = 0; i < 3; i++)
		order_submit(r, &(struct queued){ "physics", "alice", "normal", 2, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_begin(c, &run, NULL), 1);
	assert_int_equal(cycle_go_on(c, "main", NULL, NULL), 1);
	assert_int_equal(n_given, 0);
	assert_int_equal(store_hold(r->store, &hold, NULL), 0);
	assert_int_equal(cycle_go_on(c, "main", NULL, NULL), 0);
	assert_int_equal(n_given, 2);
	assert_int_equal(given[0], 1);
	assert_int_equal(given[1], 3);
	assert_int_equal(cycle_go_on(c, "main", NULL, NULL), 0);
}

static void without_weights_the_order_is_first_in_first_out(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { "main", NOON + 10 * S_NS, on_event, NULL, NULL };

	n_given = 0;
	add_charge(&w, charge_of("physics", "alice", NOON, 10), NOON + 10 * S_NS);
	order_hello(r, NOON);
	order_submit(r, &(struct queued){ "physics", "alice", "normal", 6, NOON });
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 6, NOON });
	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	assert_int_equal(cycle_run(c, &run, NULL), 0);
	assert_int_equal(n_given, 1);
	assert_int_equal(given[0], 1);
}

/* alice may hold 2 cores: her third job waits for that, and bob's behind it does not. The node
 * has 8: what is placed, which job waits behind which, and why. */
static void limits_hold_back_their_own_jobs_alone(void **state)
{
	static const char limited[] = "[Account physics]\nUsers = alice, bob\n"
				      "[User alice]\nMaxRunningCores = 2\n";
	static const char *const policies[] = {
		"Scheduler = fifo", "PriorityWeightFairshare = 1000\nScheduler = fifo"
	};
	struct rig *r = *state;
	char why[DISPATCH_WHY_MAX];

	order_hello(r, NOON);
	for (int i = 0; i < 3; i++)
		order_submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	for (int i = 0; i < 70; i++) /* more than a batch of them is held back */
		order_submit(r, &(struct queued){ "physics", "alice", "normal", 1, NOON });
	order_submit(r, &(struct queued){ "physics", "bob", "normal", 4, NOON });
	order_submit(r, &(struct queued){ "physics", "bob", "normal", 4, NOON });
	order_submit(r, &(struct queued){ "physics", "bob", "normal", 1, NOON });
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], limited);
		_cleanup_(cycle_freep) struct cycle *c = NULL;
		struct cycle_run run = { "main", NOON + 10 * S_NS, on_event, NULL, w.accounts };

		n_given = 0;
		assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
		assert_int_equal(cycle_run(c, &run, NULL), 0);
		assert_int_equal(n_given, i ? 0 : 3); /* as it was left the second time */
		if (i == 0) {
			assert_int_equal(given[0], 1);
			assert_int_equal(given[1], 2);
			assert_int_equal(given[2], 74);
		}
		dispatch_why(c, "main", 3, DISPATCH_WHY_ESTIMATED, why);
		assert_non_null(strstr(why, "user alice"));
		dispatch_why(c, "main", 75, DISPATCH_WHY_ESTIMATED, why);
		assert_non_null(strstr(why, "needs 4 cores; n1 has 2 of 8 free"));
		dispatch_why(c, "main", 76, DISPATCH_WHY_ESTIMATED, why);
		assert_non_null(strstr(why, "waits behind job 75"));
	}
}

static void more_jobs_than_a_batch_are_dispatched_in_order(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000", declared);
	struct rig *r = *state;
	struct order o;

	for (int i = 0; i < 300; i++)
		order_submit(r, &(struct queued){ i % 2 ? "arts" : "physics",
						  i % 2 ? "carol" : "bob", "normal", 1, NOON });
	add_charge(&w, charge_of("arts", "carol", NOON, 10), NOON + 10 * S_NS);
	o = order_of(&w, r, NOON + 10 * S_NS);
	assert_int_equal(o.n, 300);
	for (int64_t i = 0; i < 300; i++) { /* by number; carol has used something */
		assert_int_equal(o.jobs[i].job, i + 1);
		assert_int_equal(o.jobs[i].priority,
				 i % 2 ? o.jobs[1].priority : o.jobs[0].priority);
	}
	assert_true(o.jobs[0].priority > o.jobs[1].priority);
	order_done(&o);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(fairshare_then_age_then_number_decide),
		RIG(size_favours_large_or_small),
		RIG(size_counts_every_node_and_core_of_a_request),
		RIG(a_jobs_age_counts_from_when_it_became_eligible),
		RIG(in_strict_order_no_job_passes_and_each_has_a_reason),
		RIG(whole_nodes_are_priced_by_the_cores_that_they_have),
		RIG(later_jobs_start_where_they_delay_no_earlier_one),
		RIG(a_job_held_while_a_cycle_is_under_way_does_not_start),
		RIG(without_weights_the_order_is_first_in_first_out),
		RIG(limits_hold_back_their_own_jobs_alone),
		RIG(more_jobs_than_a_batch_are_dispatched_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
