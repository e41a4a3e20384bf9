/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_kept - the queue in memory equals what the ledger has, whatever is written between two cycles; and what
 * the ledger announces. */
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
#include "controller/ledger/nodes/drain.h"
#include "controller/ledger/nodes/allocated.h"
#include "controller/ledger/changes.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/forecast.h"
#include "controller/dispatch/order.h"
#include "controller/dispatch/queued.h"
#include "controller/ledger/jobs/waiting.h"
#include "tests/unit/rig/order_rig.h"

/* ---- kept from cycle to cycle ---- */

static uint32_t random_of(uint64_t *seed, uint32_t n)
{
	*seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*seed >> 33) % n;
}

/* One of the things that happen to queued jobs. */
static void change_something(struct rig *r, uint64_t *seed, int64_t now)
{
	int64_t job = 1 + random_of(seed, 60);
	const struct store_hold hold = {
		.job = job, .kind = STORE_HOLD_USER, .author = "alice", .now_ns = now
	};
	const struct store_priority_change weights = { .job = job,
						       .now_ns = now,
						       .has_nice = true,
						       .nice = random_of(seed, 9),
						       .author = "alice" };
	const struct store_desired_change cancel = {
		.job = job, .want = DESIRED_CANCEL, .reason = "x", .now_ns = now
	};
	const struct store_allocation gift = { .job = job, .node = "n1" };
	char node[REQUEST_NAME_MAX];

	switch (random_of(seed, 8)) {
	case 0:
		(void)store_hold(r->store, &hold, NULL);
		break;
	case 1:
		(void)store_release(r->store, &hold, NULL);
		break;
	case 2:
		(void)store_set_priority(r->store, &weights, NULL);
		break;
	case 3:
		(void)store_set_desired(r->store, &cancel, node, NULL);
		break;
	case 4:
		(void)store_allocate(r->store, &gift, 1, now, NULL); /* or it is taken back */
		break;
	case 5:
		(void)store_set_due(r->store, &job, 1, now, NULL);
		break;
	default:
		order_submit(r,
			     &(struct queued){ "arts", "carol", "normal", 1 + job % 4, now });
	}
}

static struct order_ask ask_of(struct world *w, struct rig *r, struct names *names)
{
	return (struct order_ask){ .store = r->store,
				   .sharetree = w->sharetree,
				   .cluster = "main",
				   .has = { 1, 8 },
				   .now_ns = NOON,
				   .config = w->config,
				   .users = &names[0],
				   .accounts = &names[1] };
}

static void on_change(void *ctx, const struct store_changes *what)
{
	store_changes_merge(ctx, what);
}

static void the_queue_in_memory_equals_the_one_in_the_ledger(void **state)
{
	_cleanup_(world_done) struct world w =
		world_of("PriorityWeightFairshare = 1000\nPriorityWeightAge = 100", declared);
	struct rig *r = *state;
	struct names names[2] = { { 0 }, { 0 } };
	struct order_ask ask = ask_of(&w, r, names);
	struct store_changes changes = { 0 };
	struct order kept, fresh;
	uint64_t seed = 7;
	int64_t job;

	assert_int_equal(store_listen(r->store, on_change, &changes), 0);
	assert_int_equal(store_listen(r->store, on_change, &changes), -EBUSY);
	order_hello(r, NOON);
	assert_int_equal(order_make(&ask, &kept, NULL), 0);
	for (int turn = 0; turn < 120; turn++) {
		struct store_changes since;

		for (uint32_t i = random_of(&seed, 6); i > 0; i--)
			change_something(r, &seed, ask.now_ns);
		ask.now_ns += S_NS;
		since = store_changes_take(&changes);
		assert_false(since.is_all);
		assert_int_equal(order_update(&ask, &since, &kept, NULL), 0);
		store_changes_done(&since);
		assert_int_equal(order_make(&ask, &fresh, NULL), 0);
		if (!order_is_same(&kept, &fresh, &job))
			fail_msg("turn %d: job %lld", turn, (long long)job);
		order_done(&fresh);
	}
	assert_true(kept.n > 20);
	order_done(&kept);
	store_listen(r->store, NULL, NULL);
	store_changes_done(&changes);
	names_done(&names[0]);
	names_done(&names[1]);
}

/* One of the things that happen to jobs on the node, and to the node. */
static void disturb_node(struct rig *r, uint64_t *seed, int64_t now)
{
	int64_t job = 1 + random_of(seed, 60);
	struct report rep =
		rig_report(job, 1 + (int64_t)random_of(seed, 40),
			   random_of(seed, 4) ? JOB_RUNNING : JOB_ENDED, random_of(seed, 50));
	struct sync_job shown = { job, 1, JOB_RUNNING };
	struct rig_sync say = {
		.reports = &rep, .n_reports = 1, .jobs = &shown, .n_jobs = 1, .now_ns = now
	};
	const struct store_desired_change change = { .job = job,
						     .want = random_of(seed, 2)
								     ? DESIRED_SUSPEND
								     : DESIRED_RUN,
						     .reason = "x",
						     .now_ns = now };
	const struct store_drain drain = { "n1", "root", "disks", now,
					   now + (int64_t)random_of(seed, 3) * 60 * S_NS };
	struct sync_result result = { 0 };
	char node[REQUEST_NAME_MAX];

	rep.at_ns = now;
	rep.state = random_of(seed, 5) ? rep.state : JOB_SUSPENDED;
	switch (random_of(seed, 12)) {
	case 0:
		(void)store_set_desired(r->store, &change, node, NULL);
		break;
	case 1:
		(void)store_drain(r->store, &drain, NULL);
		break;
	case 2:
	case 3:
		(void)store_resume(r->store, &drain, NULL);
		break;
	case 4:
		(void)store_mark_lost_nodes(r->store, now, now, NULL);
		break;
	default:
		if (rig_send_sync(r, &say, &result) == 0)
			sync_result_done(&result);
	}
}

/* The cycle compares what it kept with the ledger, and aborts where they differ. */
static void the_cluster_in_memory_equals_the_one_in_the_ledger(void **state)
{
	static const char *const policies[] = {
		"Scheduler = backfill",
		"Scheduler = suspend",
		"PriorityWeightFairshare = 1000\nPriorityWeightAge = 100",
	};

	setenv("REEVE_QUEUE_CHECK", "1", 1);
	for (size_t i = 0; i < ARRAY_LEN(policies); i++) {
		_cleanup_(world_done) struct world w = world_of(policies[i], declared);
		_cleanup_(cycle_freep) struct cycle *c = NULL;
		struct rig *r = *state;
		struct cycle_run run = { .cluster = "main", .now_ns = NOON };
		uint64_t seed = 11 + i;

		assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
		order_hello(r, NOON);
		for (int turn = 0; turn < 150; turn++) {
			for (uint32_t k = random_of(&seed, 5); k > 0; k--)
				change_something(r, &seed, run.now_ns);
			for (uint32_t k = random_of(&seed, 4); k > 0; k--)
				disturb_node(r, &seed, run.now_ns);
			run.now_ns += (int64_t)random_of(&seed, 20) * S_NS / 4;
			assert_int_equal(cycle_run(c, &run, NULL), 0);
		}
	}
	unsetenv("REEVE_QUEUE_CHECK");
}

/* ---- lists ---- */

#define LISTED_MAX 2000 /* above all numbers of jobs here */
struct listed {
	const struct cycle *c;
	int64_t n, of[LISTED_MAX]; /* by job: how often it was passed */
	int64_t n_new;		   /* those without a priority */
};

static int add_listed(void *ctx, const struct queued_job *q, struct err *err)
{
	struct listed *l = ctx;
	int64_t priority;

	(void)err;
	assert_true(q->job > 0 && q->job < LISTED_MAX);
	assert_string_equal(q->user, "carol");
	assert_string_equal(q->account, "arts");
	assert_int_equal(q->has_priority, dispatch_priority(l->c, "main", q->job, &priority));
	if (q->has_priority)
		assert_int_equal(q->priority, priority);
	l->of[q->job]++;
	l->n_new += !q->has_priority;
	l->n++;
	return 0;
}

static int take_listed(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct listed *l = ctx;

	(void)err;
	assert_int_equal(l->of[w->job], 1);
	l->n--;
	return 0;
}

/* Between cycles, with changes that no cycle has seen; many of them at once, too. */
static void a_list_from_memory_has_each_queued_job_once(void **state)
{
	_cleanup_(world_done) struct world w = world_of("PriorityWeightAge = 100", declared);
	_cleanup_(cycle_freep) struct cycle *c = NULL;
	struct rig *r = *state;
	struct cycle_run run = { .cluster = "main", .now_ns = NOON };
	uint64_t seed = 23;
	int64_t n_old = 0, n_new = 0;

	assert_int_equal(cycle_new(r->store, w.sharetree, &c, NULL), 0);
	order_hello(r, NOON);
	for (int turn = 0; turn < 100; turn++) {
		struct listed l = { .c = c };

		for (uint32_t k = random_of(&seed, turn % 10 ? 5 : 200); k > 0; k--)
			change_something(r, &seed, run.now_ns);
		assert_int_equal(dispatch_each_queued(c, "main", add_listed, &l, NULL), 0);
		n_new += l.n_new;
		n_old += l.n - l.n_new;
		assert_int_equal(store_waiting(r->store, "main", take_listed, &l, NULL), 0);
		assert_int_equal(l.n, 0);
		run.now_ns += S_NS;
		assert_int_equal(cycle_run(c, &run, NULL), 0);
	}
	assert_true(n_old > 0 && n_new > 0);
}

/* What has changed: "all", "nodes" or the numbers of jobs since the last call. */
static const char *changes_text(struct store_changes *c, char buf[static 64])
{
	struct store_changes all = store_changes_take(c);
	int n = snprintf(buf, 64, "%s%s", all.is_all ? "all " : "",
			 all.are_nodes_new ? "nodes " : "");

	for (size_t i = 0; i < all.n; i++)
		n += snprintf(buf + n, 64 - (size_t)n, "%lld ", (long long)all.jobs[i]);
	store_changes_done(&all);
	return buf;
}

static void committed_changes_are_announced_and_rolled_back_ones_are_not(void **state)
{
	const struct queued one = { "arts", "carol", "normal", 1, NOON };
	struct store_allocation gifts[] = { { .job = 1, .node = "n1" },
					    { .job = 77, .node = "n1" } };
	struct store_drain drain = { "n1", "root", "disks", NOON, NOON };
	struct rig *r = *state;
	struct store_changes changes = { 0 };
	char buf[64];

	order_submit(r, &one); /* before anybody listens */
	assert_int_equal(store_listen(r->store, on_change, &changes), 0);
	assert_string_equal(changes_text(&changes, buf), "");
	order_submit(r, &one);
	assert_string_equal(changes_text(&changes, buf), "2 ");
	order_hello(r, NOON);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	order_hello(r, NOON + S_NS); /* says the same again */
	assert_string_equal(changes_text(&changes, buf), "");
	assert_int_equal(store_allocate(r->store, gifts, 2, NOON, NULL), -ESTALE);
	assert_string_equal(changes_text(&changes, buf), "");
	assert_int_equal(store_allocate(r->store, gifts, 1, NOON, NULL), 0);
	assert_string_equal(changes_text(&changes, buf), "1 ");
	rig_send_report(r, rig_report(1, 1, JOB_RUNNING, 1), NOON + 2 * S_NS);
	assert_string_equal(changes_text(&changes, buf), "1 ");
	assert_int_equal(store_drain(r->store, &drain, NULL), 0);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	assert_int_equal(store_mark_lost_nodes(r->store, NOON + DAY_NS, NOON + DAY_NS, NULL),
			 1);
	assert_string_equal(changes_text(&changes, buf), "nodes ");
	store_listen(r->store, NULL, NULL);
	order_submit(r, &one);
	assert_string_equal(changes_text(&changes, buf), "");
	store_changes_done(&changes);
}

static void a_difference_between_memory_and_ledger_is_found(void **state)
{
	_cleanup_(world_done) struct world w = world_of("", declared);
	struct rig *r = *state;
	struct names names[2] = { { 0 }, { 0 } };
	struct order_ask ask = ask_of(&w, r, names);
	struct order a, b;
	int64_t job = 0;

	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(order_make(&ask, &a, NULL), 0);
	order_submit(r, &(struct queued){ "arts", "carol", "normal", 1, NOON });
	assert_int_equal(order_make(&ask, &b, NULL), 0);
	assert_false(order_is_same(&a, &b, &job));
	assert_int_equal(job, 2);
	b.jobs[0].want.ncpus++;
	assert_false(order_is_same(&a, &b, &job));
	assert_int_equal(job, 1);
	order_done(&a);
	order_done(&b);
	names_done(&names[0]);
	names_done(&names[1]);
}

static void more_changes_than_the_list_holds_mean_that_all_changed(void **state)
{
	struct store_changes c = { 0 }, all;

	(void)state;
	for (int turn = 0; turn < 100; turn++) /* the same ones again and again */
		for (int64_t job = 1; job <= 1000; job++)
			store_changes_add(&c, job);
	all = store_changes_take(&c);
	assert_false(all.is_all);
	assert_int_equal(all.n, 1000);
	for (int64_t i = 0; i < 1000; i++)
		assert_int_equal(all.jobs[i], i + 1);
	store_changes_done(&all);
	for (int64_t job = 1; job <= STORE_CHANGES_MAX + 1; job++)
		store_changes_add(&c, job);
	all = store_changes_take(&c);
	assert_true(all.is_all);
	assert_false(c.is_all); /* from then on changes are announced again */
	store_changes_done(&all);
}

#define RIG(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIG(the_queue_in_memory_equals_the_one_in_the_ledger),
		RIG(a_difference_between_memory_and_ledger_is_found),
		RIG(the_cluster_in_memory_equals_the_one_in_the_ledger),
		RIG(a_list_from_memory_has_each_queued_job_once),
		RIG(committed_changes_are_announced_and_rolled_back_ones_are_not),
		cmocka_unit_test(more_changes_than_the_list_holds_mean_that_all_changed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
