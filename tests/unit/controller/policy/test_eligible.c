/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_eligible - the laws of limits on running jobs, and the order of jobs when a quota is used up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/policy/quota/eligible.h"

#define NONE ELIGIBLE_NO_LIMIT

static const int32_t both[] = { 0, 1 };

static struct eligible_scope user_scope(int64_t cores)
{
	return (struct eligible_scope){ .kind = ELIGIBLE_USER,
					.name = "alice",
					.limit = { cores, NONE, NONE, NONE } };
}

static struct eligible_job job_of(int64_t cores)
{
	return (struct eligible_job){ .want = { cores, 0, 1000000000, 1 },
				      .scopes = both,
				      .n_scopes = 1,
				      .has_quota = true,
				      .account = "physics" };
}

static void exactly_the_limit_may_run_and_one_more_may_not(void **state)
{
	struct eligible_scope s = user_scope(600);
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(100);
	char why[ELIGIBLE_WHY_MAX];
	int n = 0;

	(void)state;
	while (eligible_check(&w, &j, why)) {
		eligible_start(&w, &j);
		n++;
	}
	assert_int_equal(n, 6);
	assert_int_equal(s.running.cores, 600);
	assert_string_equal(why, "limit of user alice: 600 cores at once, 600 run, this job "
				 "needs 100");
	eligible_remove(&w, &j);
	assert_true(eligible_check(&w, &j, why));
	assert_string_equal(why, "");
	j.want.cores = 101;
	assert_false(eligible_check(&w, &j, why));
}

static void each_side_is_limited_by_itself(void **state)
{
	struct eligible_scope s = { .kind = ELIGIBLE_QUEUE,
				    .name = "bob",
				    .of = "express",
				    .limit = { NONE, 2, 8000000000, 3 } };
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(1000000);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	assert_true(eligible_check(&w, &j, why));
	j.want.gpus = 3;
	assert_false(eligible_check(&w, &j, why));
	assert_string_equal(why, "limit of user bob in queue express: 2 GPUs at once, 0 run, "
				 "this job needs 3");
	j.want.gpus = 2;
	j.want.memory_bytes = 8000000001;
	assert_false(eligible_check(&w, &j, why));
	j.want.memory_bytes = 8000000000;
	assert_true(eligible_check(&w, &j, why));
	s.running.jobs = 3;
	assert_false(eligible_check(&w, &j, why));
	assert_non_null(strstr(why, "3 jobs at once, 3 run"));
}

static void the_limits_of_every_scope_apply(void **state)
{
	struct eligible_scope s[] = { user_scope(600),
				      { .kind = ELIGIBLE_ACCOUNT,
					.name = "science",
					.limit = { 10, NONE, NONE, NONE },
					.running = { 8, 0, 0, 1 } } };
	struct eligible_world w = { s, 2, 0 };
	struct eligible_job j = job_of(3);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	j.n_scopes = 2;
	assert_false(eligible_check(&w, &j, why));
	assert_non_null(strstr(why, "account science: 10 cores at once, 8 run"));
	j.want.cores = 2;
	assert_true(eligible_check(&w, &j, why));
	eligible_start(&w, &j);
	assert_int_equal(s[0].running.cores, 2);
	assert_int_equal(s[1].running.cores, 10);
}

/* Of all orders of starts and ends in a small world, none ever runs more than the limit, and
 * after all have ended nothing runs. */
static void no_order_of_starts_and_ends_passes_a_limit(void **state)
{
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	for (unsigned word = 0; word < 4096; word++) {
		struct eligible_scope s = user_scope(3);
		struct eligible_world w = { &s, 1, 0 };
		struct eligible_job jobs[] = { job_of(1), job_of(2), job_of(3) };
		bool runs[3] = { 0 };

		for (unsigned step = 0, rest = word; step < 6; step++, rest >>= 2) {
			unsigned i = rest & 3;

			if (i == 3)
				continue;
			if (runs[i])
				eligible_remove(&w, &jobs[i]);
			else if (!eligible_check(&w, &jobs[i], why))
				continue;
			else
				eligible_start(&w, &jobs[i]);
			runs[i] = !runs[i];
			assert_true(s.running.cores <= 3 && s.running.cores >= 0);
			assert_int_equal(s.running.cores, runs[0] + 2 * runs[1] + 3 * runs[2]);
		}
	}
}

static void a_job_beyond_its_limit_is_never_possible(void **state)
{
	struct eligible_scope s = user_scope(600);
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(600);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	s.running.cores = 600; /* what runs now does not matter */
	assert_true(eligible_is_possible(&w, &j, why));
	j.want.cores = 601;
	assert_false(eligible_is_possible(&w, &j, why));
	assert_string_equal(why, "it needs 601 cores, and user alice may run 600 at once");
}

static void a_limit_lowered_below_what_runs_holds_only_what_it_limits(void **state)
{
	struct eligible_scope s = user_scope(NONE);
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(4);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	s.limit.gpus = 0;
	s.running.gpus = 4;
	assert_true(eligible_check(&w, &j, why));
	j.want.gpus = 1;
	assert_false(eligible_check(&w, &j, why));
}

static void without_quota_a_job_starts_only_when_no_job_with_quota_waits(void **state)
{
	struct eligible_world w = { NULL, 0, 2 };
	struct eligible_job rich = job_of(1), poor = job_of(1);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	rich.n_scopes = poor.n_scopes = 0;
	poor.has_quota = false;
	assert_false(eligible_check(&w, &poor, why));
	assert_string_equal(why, "low priority: account physics has no quota left, and 2 jobs "
				 "of accounts with quota left wait here");
	assert_true(eligible_check(&w, &rich, why));
	eligible_start(&w, &rich);
	assert_false(eligible_check(&w, &poor, why));
	assert_non_null(strstr(why, "1 job of accounts with quota left waits"));
	eligible_start(&w, &rich);
	assert_true(eligible_check(&w, &poor, why));
	eligible_start(&w, &poor);
	assert_int_equal(w.pending, 0);
}

static void every_amount_is_added_and_taken_away_again(void **state)
{
	const struct eligible_amounts want = { 3, 5, 7000000, 1 };
	struct eligible_scope s[] = { user_scope(600), user_scope(600) };
	struct eligible_world w = { s, 2, 1 };
	struct eligible_job j = job_of(0);

	(void)state;
	j.want = want;
	j.n_scopes = 2;
	eligible_start(&w, &j);
	for (int i = 0; i < 2; i++)
		assert_memory_equal(&s[i].running, &want, sizeof(want));
	assert_int_equal(w.pending, 0);
	eligible_undo(&w, &j); /* it waits again */
	for (int i = 0; i < 2; i++)
		assert_memory_equal(&s[i].running, &(struct eligible_amounts){ 0 },
				    sizeof(want));
	assert_int_equal(w.pending, 1);
	j.has_quota = false;
	eligible_undo(&w, &j);
	assert_int_equal(w.pending, 1); /* it never counted */
}

static void each_kind_of_scope_has_its_name(void **state)
{
	static const struct {
		struct eligible_scope scope;
		const char *name;
	} rows[] = {
		{ { .kind = ELIGIBLE_USER, .name = "al" }, "user al" },
		{ { .kind = ELIGIBLE_ACCOUNT, .name = "phys" }, "account phys" },
		{ { .kind = ELIGIBLE_ASSOCIATION, .name = "al", .of = "phys" },
		  "user al in account phys" },
		{ { .kind = ELIGIBLE_QUEUE, .name = "al", .of = "fast" },
		  "user al in queue fast" },
		{ { .kind = ELIGIBLE_QOS, .name = "al", .of = "long" }, "user al in QOS long" },
	};
	char buf[ELIGIBLE_NAME_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(eligible_scope_name(&rows[i].scope, buf), rows[i].name);
}

static void amounts_are_told_in_their_unit(void **state)
{
	struct eligible_scope s = user_scope(NONE);
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(1);
	char why[ELIGIBLE_WHY_MAX];

	(void)state;
	s.limit.memory_bytes = 8000000;
	s.running.memory_bytes = 3000000;
	j.want.memory_bytes = 6000000;
	assert_false(eligible_check(&w, &j, why));
	assert_string_equal(why, "limit of user alice: 8 MB at once, 3 run, this job needs 6");
	j.want.memory_bytes = 9000000;
	assert_false(eligible_is_possible(&w, &j, why));
	assert_string_equal(why, "it needs 9 MB, and user alice may run 8 at once");
}

static void what_is_allowed_leaves_no_reason(void **state)
{
	struct eligible_scope s = user_scope(100);
	struct eligible_world w = { &s, 1, 0 };
	struct eligible_job j = job_of(100);
	char why[ELIGIBLE_WHY_MAX] = "of before";

	(void)state;
	assert_true(eligible_is_possible(&w, &j, why));
	assert_string_equal(why, "");
	strcpy(why, "of before");
	assert_true(eligible_check(&w, &j, why));
	assert_string_equal(why, "");
	j.want.cores = 101;
	assert_false(eligible_is_possible(&w, &j, why));
	assert_string_equal(why, "it needs 101 cores, and user alice may run 100 at once");
	j.n_scopes = 0;
	assert_true(eligible_is_possible(&w, &j, why));
	assert_string_equal(why, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exactly_the_limit_may_run_and_one_more_may_not),
		cmocka_unit_test(each_side_is_limited_by_itself),
		cmocka_unit_test(the_limits_of_every_scope_apply),
		cmocka_unit_test(no_order_of_starts_and_ends_passes_a_limit),
		cmocka_unit_test(a_job_beyond_its_limit_is_never_possible),
		cmocka_unit_test(a_limit_lowered_below_what_runs_holds_only_what_it_limits),
		cmocka_unit_test(every_amount_is_added_and_taken_away_again),
		cmocka_unit_test(each_kind_of_scope_has_its_name),
		cmocka_unit_test(amounts_are_told_in_their_unit),
		cmocka_unit_test(without_quota_a_job_starts_only_when_no_job_with_quota_waits),
		cmocka_unit_test(what_is_allowed_leaves_no_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
