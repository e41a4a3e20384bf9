/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_holds - a list of jobs says who holds them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/hold.h"
#include "tests/unit/rig/ledger_rig.h"

static int64_t submit_job(struct rig *r)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	int64_t job = 0;

	rig_request_init(&q);
	q.uid = 1001;
	q.res = (struct resources){
		.ncpus = 1, .vmem_bytes = 1000, .jobfs_bytes = 1000, .walltime_s = 60
	};
	q.workdir = strdup("/");
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		new.terms.bundle.side[s] = (struct fraction){ s != CHARGE_GPUS, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

struct listed_hold {
	int64_t job;
	int n; /* rows of that job */
	bool is_held;
	struct store_held held;
};

static int take_hold(void *ctx, const struct store_job *j, struct err *err)
{
	struct listed_hold *l = ctx;

	(void)err;
	if (j->job != l->job)
		return 0;
	l->n++;
	l->is_held = j->hold && store_hold_parse(j->hold, &l->held);
	return 0;
}

static struct listed_hold list_hold(struct rig *r, int64_t job)
{
	const struct store_filter f = {
		.user = "alice", .state = STORE_ACTIVE, .limit = 100, .in_brief = true
	};
	struct listed_hold l = { .job = job };

	assert_int_equal(store_jobs(r->store, &f, take_hold, &l, NULL), 0);
	assert_int_equal(l.n, 1);
	return l;
}

static void a_list_has_the_holds_of_its_jobs(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_job(r), other = submit_job(r);
	const struct store_hold mine = { job, NOON, STORE_HOLD_USER, "alice" };
	const struct store_hold theirs = { job, NOON + 7, STORE_HOLD_OPERATOR,
					   "op with a blank" };
	struct listed_hold l;

	assert_int_equal(store_hold(r->store, &mine, NULL), 0);
	assert_false(list_hold(r, other).is_held);
	l = list_hold(r, job);
	assert_true(l.is_held);
	assert_int_equal(l.held.kind, STORE_HOLD_USER);
	assert_int_equal(l.held.at_ns, NOON);
	assert_string_equal(l.held.author, "alice");
	/* An operator's first. */
	assert_int_equal(store_hold(r->store, &theirs, NULL), 0);
	l = list_hold(r, job);
	assert_int_equal(l.held.kind, STORE_HOLD_OPERATOR);
	assert_int_equal(l.held.at_ns, NOON + 7);
	assert_string_equal(l.held.author, "op with a blank");
}

static void the_text_of_a_hold_is_read_whole_or_not(void **state)
{
	static const char *const none[] = { "",	     "0",      "0 ",
					    "x 1 a", "0 1",    "0 x a",
					    "2 1 a", "-1 1 a", "9999999999999999999 1 a" };
	struct store_held held;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++)
		if (store_hold_parse(none[i], &held))
			fail_msg("'%s' is taken for a hold", none[i]);
	assert_true(store_hold_parse("1 -5 a", &held));
	assert_int_equal(held.kind, STORE_HOLD_OPERATOR);
	assert_int_equal(held.at_ns, -5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_list_has_the_holds_of_its_jobs, rig_open,
						rig_close),
		cmocka_unit_test(the_text_of_a_hold_is_read_whole_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
