/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_whole_nodes - a job with whole nodes is charged by the cores of the nodes that it was allocated, each attempt by its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/charges.h"
#include "controller/ledger/usage/terms.h"
#include "tests/unit/rig/verify_rig.h"

/* 1 core on whole nodes of 48 cores, as configured; the queue's factor is 2. */
static int64_t submit_whole(struct rig *r, int64_t ngpus)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .unit = TARIFF_CORE_HOURS,
				 .decided_by = CHARGE_CORES,
				 .rule = "as submitted",
				 .is_exclusive = true,
				 .terms = { .rate = { 96, 1 }, .ncpus = 1, .ngpus = ngpus },
				 .now_ns = NOON };
	int64_t job;

	rig_request_init(&q);
	q.uid = q.gid = 1001;
	q.res = (struct resources){
		.ncpus = 1, .vmem_bytes = 1000, .walltime_s = 3600, .ngpus = ngpus
	};
	q.workdir = strdup("/");
	q.requeue = true;
	new.terms.bundle.side[CHARGE_GPUS] = (struct fraction){ ngpus > 0, 10 };
	new.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 2 };
	new.terms.bundle.side[CHARGE_MEMORY] = (struct fraction){ 0, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

static void say_hello(struct rig *r, int64_t now_ns)
{
	const struct rig_sync hello = { .now_ns = now_ns };
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &hello, &result), 0);
	sync_result_done(&result);
}

static void allocate_to(struct rig *r, int64_t job, int64_t node_cores, int64_t now_ns)
{
	const struct store_allocation a = { .job = job,
					    .node = "n1",
					    .node_cores = node_cores };

	assert_int_equal(store_allocate(r->store, &a, 1, now_ns, NULL), 0);
}

struct seen {
	int64_t rate, rate_den;
	char rule[TARIFF_RULE_MAX];
	enum charge_side decided_by;
};

static int see_job(void *ctx, const struct store_job *j, struct err *err)
{
	struct seen *seen = ctx;

	(void)err;
	seen->rate = j->rate.num;
	seen->rate_den = j->rate.den;
	seen->decided_by = j->decided_by;
	snprintf(seen->rule, sizeof(seen->rule), "%s", j->rule);
	return 0;
}

static struct seen load_price(struct rig *r, int64_t job)
{
	struct seen seen;

	assert_int_equal(store_job(r->store, job, see_job, &seen, NULL), 0);
	return seen;
}

static void a_small_node_is_charged_by_its_own_cores(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_whole(r, 0);
	struct store_terms t;
	struct seen seen;

	say_hello(r, NOON);
	allocate_to(r, job, 4, NOON);
	seen = load_price(r, job);
	assert_int_equal(seen.rate, 8);
	assert_int_equal(seen.rate_den, 1);
	assert_string_equal(seen.rule,
			    "all cores of the nodes allocated, 4, an hour of running "
			    "by the wall clock; x factor 2 = 8");
	assert_int_equal(store_job_terms(r->store, job, &t, NULL), 1);
	assert_int_equal(t.node_cores, 4);
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 10), NOON + 10 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 80000);
	assert_int_equal(rig_count_differences(r), 0);
}

static void what_costs_more_than_the_cores_still_decides(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_whole(r, 1);
	struct seen seen;

	say_hello(r, NOON);
	allocate_to(r, job, 4, NOON);
	seen = load_price(r, job);
	assert_int_equal(seen.rate, 10); /* 1 GPU; a unit has a tenth of one */
	assert_int_equal(seen.decided_by, CHARGE_GPUS);
}

static void other_jobs_keep_the_price_of_their_submission(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_whole(r, 0);

	say_hello(r, NOON);
	allocate_to(r, job, 0, NOON);
	assert_int_equal(load_price(r, job).rate, 96);
	assert_string_equal(load_price(r, job).rule, "as submitted");
}

static int add_run(void *ctx, const struct store_charge *c, struct err *err)
{
	int64_t *sum = ctx;

	(void)err;
	*sum += c->running_ns / S_NS * c->rate.num / c->rate.den;
	return 0;
}

/* A node of 4 cores is lost after 40 s; the job runs again on a node of 16. */
static void each_attempt_is_charged_by_its_own_nodes(void **state)
{
	const struct store_charge_span all = { 0, NOON + DAY_NS };
	struct store_lost_result lost = { 0 };
	struct rig *r = *state;
	int64_t job = submit_whole(r, 0), sum = 0, now_ns = NOON + 200 * S_NS;
	struct report rep = rig_report(job, 1, JOB_ENDED, 10);

	store_set_max_requeues(r->store, 3);
	say_hello(r, NOON);
	allocate_to(r, job, 4, NOON);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 40), NOON + 40 * S_NS);
	assert_true(store_mark_lost_nodes(r->store, NOON + 80 * S_NS, now_ns, NULL) >= 0);
	assert_int_equal(store_end_lost_jobs(r->store, now_ns, &lost, NULL), 0);
	assert_int_equal(lost.n_requeued, 1);
	say_hello(r, now_ns);
	allocate_to(r, job, 16, now_ns);
	rep.attempt = 2;
	rep.started_ns = now_ns;
	rep.at_ns = rep.ended_ns = now_ns + 10 * S_NS;
	rig_send_report(r, rep, now_ns + 11 * S_NS);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM attempts"),
			 40 * 8000 + 10 * 32000);
	assert_int_equal(store_charges(r->store, &all, add_run, &sum, NULL), 0);
	assert_int_equal(sum, 40 * 8 + 10 * 32); /* the share tree's, from run intervals */
	assert_int_equal(rig_count_differences(r), 0);
}

#define TEST(t) cmocka_unit_test_setup_teardown(t, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_small_node_is_charged_by_its_own_cores),
		TEST(what_costs_more_than_the_cores_still_decides),
		TEST(other_jobs_keep_the_price_of_their_submission),
		TEST(each_attempt_is_charged_by_its_own_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
