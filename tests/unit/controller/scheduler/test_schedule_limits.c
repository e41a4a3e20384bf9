/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_schedule_limits - limits of the caller within a pass: who is asked, who is reported, and that none passes what is allowed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>
#include "controller/scheduler/schedule.h"

#define IDS_MAX 32

struct rig {
	struct schedule *s;
	int running, most; /* jobs at once */
	int64_t refused;   /* the id that may never start; 0: none */
	int starts[IDS_MAX], withdrawals[IDS_MAX];
};

static bool may_start(void *ctx, int64_t id)
{
	const struct rig *r = ctx;

	return id != r->refused && r->running < r->most;
}

static void on_start(void *ctx, int64_t id, bool is_withdrawn)
{
	struct rig *r = ctx;

	assert_true(id > 0 && id < IDS_MAX);
	if (is_withdrawn)
		r->withdrawals[id]++;
	else
		r->starts[id]++;
	r->running += is_withdrawn ? -1 : 1;
	assert_true(r->running >= 0 && r->running <= r->most);
}

static void open_rig(struct rig *r, enum schedule_rule rule, int most)
{
	struct schedule_config c = {
		.rule = rule, .may_start = may_start, .on_start = on_start, .ctx = r
	};
	struct schedule_node n = { .cores = 16, .mem_bytes = 100, .is_open = true };

	*r = (struct rig){ .most = most };
	assert_int_equal(schedule_new(&c, &r->s), 0);
	assert_int_equal(schedule_add_node(r->s, &n), 0);
}

static int32_t add_job(struct rig *r, int64_t id, int64_t cores)
{
	struct schedule_chunk c = { .cores = cores, .mem_bytes = 1, .n = 1 };
	struct schedule_job j = { .id = id,
				  .user = (int32_t)id,
				  .group = (int32_t)id,
				  .chunks = &c,
				  .n_chunks = 1,
				  .submit_s = id,
				  .limit_s = 3600 };
	int32_t job;

	assert_int_equal(schedule_add(r->s, &j, &job), 0);
	return job;
}

static size_t run_pass(struct rig *r, int64_t now_s)
{
	const struct schedule_action *actions;
	size_t n;

	assert_int_equal(schedule_pass(r->s, now_s, &actions, &n), 0);
	return n;
}

static void no_more_start_than_are_allowed(void **state)
{
	(void)state;
	for (int rule = 0; rule < _SCHEDULE_RULE_MAX; rule++)
		for (int most = 0; most < 6; most++) {
			int32_t jobs[5];
			struct rig r;
			int n = 0;

			open_rig(&r, (enum schedule_rule)rule, most);
			for (int i = 0; i < 5; i++)
				jobs[i] = add_job(&r, i + 1, 1);
			run_pass(&r, 10);
			assert_int_equal(r.running, most < 5 ? most : 5);
			for (int i = 0; i < 5; i++) {
				bool runs = schedule_state(r.s, jobs[i]) == SCHEDULE_RUNNING;
				struct schedule_why why;

				assert_int_equal(runs, i < most);
				assert_int_equal(r.starts[i + 1], runs);
				n += runs;
				if (runs)
					continue;
				schedule_why(r.s, jobs[i], &why);
				assert_int_equal(why.wait, SCHEDULE_BLOCKED);
			}
			assert_int_equal(n, r.running);
			schedule_free(r.s);
		}
}

static void who_was_refused_starts_once_the_limit_allows_it(void **state)
{
	struct schedule_why why;
	struct rig r;
	int32_t job;

	(void)state;
	open_rig(&r, SCHEDULE_PRIORITY, 9);
	r.refused = 1;
	job = add_job(&r, 1, 1);
	add_job(&r, 2, 1);
	assert_int_equal(run_pass(&r, 10), 1);
	schedule_why(r.s, job, &why);
	assert_int_equal(why.wait, SCHEDULE_BLOCKED);
	r.refused = 0;
	assert_int_equal(run_pass(&r, 11), 1);
	assert_int_equal(schedule_state(r.s, job), SCHEDULE_RUNNING);
	assert_int_equal(r.starts[1], 1);
	schedule_free(r.s);
}

/* A job that limits refuse holds no reservation: those behind it would wait for nothing. */
static void who_is_refused_keeps_nobody_waiting(void **state)
{
	struct schedule_why why;
	int32_t wide, next;
	struct rig r;

	(void)state;
	open_rig(&r, SCHEDULE_PRIORITY, 9);
	add_job(&r, 1, 10);
	wide = add_job(&r, 2, 16);
	next = add_job(&r, 3, 12);
	add_job(&r, 4, 6);
	r.refused = 2;
	run_pass(&r, 10);
	schedule_why(r.s, next, &why);
	assert_int_equal(why.first, next);
	schedule_why(r.s, wide, &why);
	assert_int_equal(why.wait, SCHEDULE_BLOCKED);
	schedule_free(r.s);
}

static bool keep_start(void *ctx, int64_t id, int64_t at_s)
{
	((int64_t *)ctx)[id] = at_s;
	return true;
}

/* The future of a schedule knows no other limits than now: who is refused now does not start in it. */
static void who_is_refused_has_no_start_in_the_future(void **state)
{
	_cleanup_(schedule_future_freep) struct schedule_future *f = NULL;
	int64_t at_s[4] = { -1, -1, -1, -1 };
	const struct schedule_watcher w = { keep_start, at_s };
	struct rig r;

	(void)state;
	open_rig(&r, SCHEDULE_PRIORITY, 9);
	add_job(&r, 1, 16);
	add_job(&r, 2, 1);
	add_job(&r, 3, 1);
	r.refused = 2;
	run_pass(&r, 0);
	assert_int_equal(schedule_future_new(r.s, 0, &f), 0);
	assert_int_equal(schedule_future_run(f, 10, &w, NULL), 0);
	assert_int_equal(at_s[2], -1);
	assert_int_equal(at_s[3], 3600);
	assert_int_equal(r.running, 1); /* the copy has asked and reported nothing */
	schedule_free(r.s);
}

static void a_withdrawn_start_counts_no_more(void **state)
{
	int32_t small, large;
	const int32_t *withdrawn;
	struct rig r;
	size_t n;

	(void)state;
	open_rig(&r, SCHEDULE_PREEMPT, 9);
	small = add_job(&r, 1, 1);
	large = add_job(&r, 2, 16);
	assert_int_equal(run_pass(&r, 10), 1);
	assert_int_equal(schedule_state(r.s, small), SCHEDULE_QUEUED);
	assert_int_equal(schedule_state(r.s, large), SCHEDULE_RUNNING);
	assert_int_equal(r.starts[1], 1);
	assert_int_equal(r.withdrawals[1], 1);
	assert_int_equal(r.starts[2], 1);
	assert_int_equal(r.withdrawals[2], 0);
	assert_int_equal(r.running, 1);
	withdrawn = schedule_withdrawn(r.s, &n);
	assert_int_equal(n, 1);
	assert_int_equal(withdrawn[0], small);
	assert_int_equal(run_pass(&r, 11), 0);
	schedule_withdrawn(r.s, &n);
	assert_int_equal(n, 0); /* of the last pass alone */
	assert_int_equal(schedule_job(r.s, small)->overdue_since_s, 10);
	schedule_free(r.s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_more_start_than_are_allowed),
		cmocka_unit_test(who_was_refused_starts_once_the_limit_allows_it),
		cmocka_unit_test(who_is_refused_keeps_nobody_waiting),
		cmocka_unit_test(who_is_refused_has_no_start_in_the_future),
		cmocka_unit_test(a_withdrawn_start_counts_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
