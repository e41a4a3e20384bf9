/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_quota_queue - limits and quotas in the queue: other jobs pass a job at its limit, its reason names the
 * limit, and it starts as soon as it may. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/dispatch/cycle.h"
#include "controller/dispatch/why.h"
#include "controller/sharetree/sharetree.h"
#include "tests/unit/rig/quota_rig.h"

struct given {
	int64_t jobs[256];
	size_t n, n_suspended;
};

static void on_event(void *ctx, const struct cycle_event *e)
{
	struct given *g = ctx;

	if (e->action == CYCLE_SUSPENDED)
		g->n_suspended++;
	if (e->action != CYCLE_ALLOCATED)
		return;
	g->jobs[g->n++] = e->job;
}

struct queue {
	struct quota_rig *q;
	struct sharetree *sharetree;
	struct cycle *cycle;
};

/* Of a site; n1 has 8 cores. */
static struct queue open_queue(struct quota_rig *q, const char *config, const char *accounts)
{
	struct queue u = { .q = q };
	struct sharetree_config c = { 0 };
	struct rig_sync hello = { .now_ns = q->now_ns };
	struct sync_result result;

	quota_rig_set(q, config, accounts);
	c.config = q->config;
	c.accounts = q->accounts;
	assert_int_equal(rig_send_sync(q->ledger, &hello, &result), 0);
	sync_result_done(&result);
	assert_int_equal(sharetree_new(&c, &u.sharetree, NULL), 0);
	assert_int_equal(cycle_new(q->ledger->store, u.sharetree, &u.cycle, NULL), 0);
	return u;
}

static void close_queue(struct queue *u)
{
	cycle_free(u->cycle);
	sharetree_free(u->sharetree);
}

static struct given run_cycle(struct queue *u)
{
	struct given g = { .n = 0 };
	const struct cycle_run run = { .cluster = "main",
				       .now_ns = u->q->now_ns,
				       .on_event = on_event,
				       .ctx = &g,
				       .accounts = u->q->accounts };
	struct err err = { "" };

	if (cycle_run(u->cycle, &run, &err) < 0)
		fail_msg("%s", err.text);
	return g;
}

static const char *why_waiting(const struct queue *u, int64_t job)
{
	static char buf[DISPATCH_WHY_MAX];

	dispatch_why(u->cycle, "main", job, DISPATCH_WHY_ESTIMATED, buf);
	return buf;
}

static void many_jobs_at_their_limit_in_front_delay_no_other_job(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .ncpus = 2 };
	struct given g;
	_cleanup_(close_queue) struct queue u = open_queue(
		q, "[Cluster main]\n",
		"[Account physics]\nUsers=alice,bob\n[User alice]\nMaxRunningCores=3\n");
	for (int i = 0; i < 100; i++)
		quota_rig_submit(q, &j); /* jobs 1 to 100 */
	j.user = "bob";
	quota_rig_submit(q, &j); /* 101 */
	g = run_cycle(&u);
	assert_int_equal(g.n, 2);
	assert_int_equal(g.jobs[0], 1);
	assert_int_equal(g.jobs[1], 101);
	assert_true(cycle_may_start_by_time(u.cycle));
	assert_string_equal(why_waiting(&u, 2),
			    "limit of user alice: 3 cores at once, 2 run, this job needs 2");
	assert_int_equal(run_cycle(&u).n, 0);
	quota_rig_report(q, 1, JOB_ENDED, 10);
	g = run_cycle(&u);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.jobs[0], 2);
}

static void a_job_that_fits_no_node_counts_against_no_limit(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job j = { .rate = { 1, 1 }, .ncpus = 6 };
	_cleanup_(close_queue) struct queue u = open_queue(
		q, "[Cluster main]\n",
		"[Account physics]\nUsers=alice\n[User alice]\nMaxRunningCores=12\n");
	for (int i = 0; i < 3; i++)
		quota_rig_submit(q, &j);
	assert_int_equal(run_cycle(&u).n, 1);
	assert_non_null(strstr(why_waiting(&u, 2), "needs 6 cores"));
	assert_non_null(
		strstr(why_waiting(&u, 3), "number 2 of 2 in the queue. It needs 6 cores"));
	quota_rig_report(q, 1, JOB_ENDED, 10);
	assert_int_equal(run_cycle(&u).n, 1);
	assert_false(cycle_may_start_by_time(u.cycle));
}

static void low_priority_starts_when_no_job_with_quota_waits_any_more(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job poor = { .account = "a", .rate = { 40, 1 } };
	struct quota_rig_job rich = { .account = "b", .rate = { 1, 1 }, .ncpus = 8 };
	struct given g;
	_cleanup_(close_queue) struct queue u = open_queue(
		q, "[Policy]\nQuota=window\n[Cluster main]\nUnit=core-hours\n",
		"[Account a]\nUsers=alice\n[Account b]\nUsers=alice\n"
		"[Allocation a/x]\nKind=monthly\nAmount=10\nFrom=2024-10-01\nTo=2025-10-01\n"
		"[Allocation b/x]\nKind=monthly\nAmount=10\nFrom=2024-10-01\n"
		"To=2025-10-01\n");
	quota_rig_use(q, &poor, 3600); /* job 1: the window of a is consumed */
	quota_rig_submit(q, &poor);    /* 2 */
	quota_rig_submit(q, &rich);    /* 3 */
	quota_rig_submit(q, &rich);    /* 4: no room beside 3 */
	g = run_cycle(&u);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.jobs[0], 3);
	assert_string_equal(why_waiting(&u, 2),
			    "low priority: account a has no quota left, and 1 job of "
			    "accounts with quota left waits here");
	quota_rig_report(q, 3, JOB_ENDED, 10);
	g = run_cycle(&u);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.jobs[0], 4);
	quota_rig_report(q, 4, JOB_ENDED, 10);
	g = run_cycle(&u);
	assert_int_equal(g.n, 1);
	assert_int_equal(g.jobs[0], 2);
}

static void a_start_that_waits_for_cores_counts_against_limits(void **state)
{
	struct quota_rig *q = *state;
	struct quota_rig_job large = { .user = "bob", .rate = { 1, 1 }, .ncpus = 8 };
	struct quota_rig_job small = { .queue = "express", .rate = { 1, 1 }, .ncpus = 4 };
	struct given g;
	_cleanup_(close_queue) struct queue u = open_queue(
		q,
		"[Policy]\nScheduler=suspend\n[Cluster main]\nQueues=normal,express\n"
		"[Queue normal]\n[Queue express]\nRunPriority=1\n",
		"[Account physics]\nUsers=alice,bob\n[User alice]\nMaxRunningCores=4\n");
	quota_rig_submit(q, &large); /* 1 */
	assert_int_equal(run_cycle(&u).n, 1);
	quota_rig_report(q, 1, JOB_RUNNING, 10);
	quota_rig_submit(q, &small); /* 2 */
	g = run_cycle(&u);
	assert_int_equal(g.n_suspended, 1);
	assert_int_equal(g.n, 0);
	quota_rig_submit(q, &small); /* 3: there would be cores for it */
	assert_int_equal(run_cycle(&u).n, 0);
	assert_non_null(strstr(why_waiting(&u, 2),
			       "as soon as the jobs that it preempts are suspended"));
	assert_string_equal(why_waiting(&u, 3),
			    "limit of user alice: 4 cores at once, 4 run, this job needs 4");
}

int main(void)
{
#define WITH_LEDGER(f) cmocka_unit_test_setup_teardown(f, quota_rig_open, quota_rig_close)
	const struct CMUnitTest tests[] = {
		WITH_LEDGER(many_jobs_at_their_limit_in_front_delay_no_other_job),
		WITH_LEDGER(a_job_that_fits_no_node_counts_against_no_limit),
		WITH_LEDGER(low_priority_starts_when_no_job_with_quota_waits_any_more),
		WITH_LEDGER(a_start_that_waits_for_cores_counts_against_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
