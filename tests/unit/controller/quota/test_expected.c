/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_expected.c - jobs of Slurm that the ledger does not have yet count once, from their acceptance on. */
#include <errno.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/policy/charge/charge.h"
#include "controller/quota/expected.h"

#define SU 3600000

static struct expected *all;
static int64_t now_ns; /* of the world of the test */

static int open_empty(void **state)
{
	(void)state;
	now_ns = 1000 * S_NS;
	return 0;
}

static int close_all(void **state)
{
	(void)state;
	all = expected_free(all);
	return 0;
}

static struct expected_job job_of(const char *user, int64_t su, int64_t n_tasks)
{
	return (struct expected_job){ .cluster = "vc",
				      .account = "physics",
				      .user = user,
				      .queue = "main",
				      .qos = "",
				      .need_ms = su * SU,
				      .n_tasks = n_tasks };
}

static void accept_job(const char *user, int64_t su, int64_t n_tasks)
{
	const struct expected_job job = job_of(user, su, n_tasks);

	assert_int_equal(expected_accept(&all, &job, now_ns, NULL), 0);
}

static struct expected_waiting waiting_job(int64_t id, const char *user, int64_t su,
					   int64_t n_tasks)
{
	return (struct expected_waiting){ id, job_of(user, su, n_tasks) };
}

/* slurmctld was asked a second ago. */
static void list_waiting(const struct expected_waiting *jobs, size_t n)
{
	const struct expected_list doc = { "vc", { now_ns - S_NS, now_ns }, jobs, n };

	assert_int_equal(expected_set_waiting(&all, &doc, NULL), 0);
}

static void list_started(void)
{
	const struct expected_look look = { now_ns - S_NS, now_ns };

	expected_set_started(all, "vc", &look);
}

static void see_row(int64_t id, int64_t array, const char *user)
{
	expected_see(all, &(struct expected_seen){ "vc", "physics", user, id, array });
}

struct sum {
	int64_t su, jobs, own_su;
};

static int add_row(void *ctx, const struct store_quota_job *j, struct err *err)
{
	struct sum *s = ctx;
	int64_t ms;

	(void)err;
	assert_int_equal(charge_requested(j->rate, j->held.walltime_s * S_NS, &ms), 0);
	assert_int_equal(ms % SU, 0);
	assert_int_equal(j->state, JOB_QUEUED);
	s->jobs += j->n;
	if (j->job)
		s->own_su += ms / SU * j->n;
	else
		s->su += ms / SU * j->n;
	return 0;
}

static struct sum sum_beside(int64_t own_job, const char *user)
{
	const struct expected_own own = { "vc", "physics", user, own_job, true };
	const struct expected_ask ask = { now_ns, own_job ? &own : NULL };
	struct sum s = { 0 };

	assert_int_equal(expected_each(all, &ask, add_row, &s, NULL), 0);
	return s;
}

static int64_t expected_su(void)
{
	return sum_beside(0, "").su;
}

static void without_anything_nothing_counts(void **state)
{
	(void)state;
	assert_int_equal(expected_su(), 0);
	see_row(1, 0, "alice");
	list_started();
	assert_int_equal(expected_su(), 0);
}

static void each_acceptance_counts_at_once(void **state)
{
	(void)state;
	for (int i = 1; i <= 50; i++) {
		accept_job("alice", 2, 1);
		assert_int_equal(expected_su(), 2 * i);
	}
	accept_job("bob", 3, 7);
	assert_int_equal(expected_su(), 121);
	assert_int_equal(sum_beside(0, "").jobs, 57);
}

static void a_listed_job_takes_the_place_of_its_acceptance(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(11, "alice", 5, 1),
						 waiting_job(12, "alice", 5, 1) };

	(void)state;
	list_waiting(jobs, 0);
	accept_job("alice", 5, 1);
	accept_job("alice", 5, 1);
	now_ns += S_NS;
	list_waiting(jobs, 1);
	assert_int_equal(expected_su(), 10);
	now_ns += S_NS;
	list_waiting(jobs, 2);
	assert_int_equal(expected_su(), 10);
	now_ns += S_NS;
	list_waiting(jobs, 2);
	assert_int_equal(expected_su(), 10);
}

/* What came before the first list says nothing of what was accepted since. */
static void old_jobs_end_no_acceptance(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(11, "alice", 1, 1),
						 waiting_job(12, "alice", 1, 1) };

	(void)state;
	accept_job("alice", 5, 1);
	list_waiting(jobs, 2);
	assert_int_equal(expected_su(), 7);
	see_row(9, 0, "alice");
	assert_int_equal(expected_su(), 7);
}

/* The job with the lower id starts first: the list has the other one alone, and the row comes later. */
static void a_row_that_comes_after_a_later_jobs_ends_its_acceptance(void **state)
{
	const struct expected_waiting later = waiting_job(12, "alice", 5, 1);

	(void)state;
	list_waiting(NULL, 0);
	accept_job("alice", 5, 1);
	accept_job("alice", 5, 1);
	accept_job("alice", 5, 1);
	now_ns += S_NS;
	list_waiting(&later, 1);
	assert_int_equal(expected_su(), 15);
	see_row(11, 0, "alice");
	assert_int_equal(expected_su(), 10);
	see_row(11, 0, "alice");
	see_row(12, 0, "alice");
	assert_int_equal(expected_su(), 5);
	see_row(10, 0, "alice");
	assert_int_equal(expected_su(), 0);
}

/* As a_row_that_comes_after..., with so many ids between that the lowest are forgotten: these acceptances count twice until both
 * lists have come. */
static void forgotten_ids_count_longer_never_less(void **state)
{
	(void)state;
	list_waiting(NULL, 0);
	for (int64_t id = 2; id < 6000; id += 2)
		see_row(id, 0, "bob");
	accept_job("alice", 5, 1);
	see_row(3, 0, "alice");
	assert_int_equal(expected_su(), 5);
	see_row(5001, 0, "alice");
	assert_int_equal(expected_su(), 0);
}

static void of_several_the_cheapest_ends(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(11, "alice", 1, 1) };

	(void)state;
	list_waiting(jobs, 0);
	accept_job("alice", 9, 1);
	accept_job("alice", 1, 1);
	accept_job("bob", 1, 1);
	now_ns += S_NS;
	list_waiting(jobs, 1);
	assert_int_equal(expected_su(), 1 + 9 + 1);
}

static void a_job_that_starts_at_once_is_the_ledgers(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(10, "bob", 1, 1) };

	(void)state;
	list_waiting(jobs, 1);
	accept_job("alice", 5, 1);
	see_row(11, 0, "alice");
	assert_int_equal(expected_su(), 1);
	see_row(11, 0, "alice");
	assert_int_equal(expected_su(), 1);
	see_row(10, 0, "bob");
	assert_int_equal(expected_su(), 0);
}

static void tasks_of_an_array_leave_the_list_one_by_one(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(10, "bob", 2, 3) };

	(void)state;
	list_waiting(jobs, 1);
	assert_int_equal(expected_su(), 6);
	see_row(11, 10, "bob");
	assert_int_equal(expected_su(), 4);
	see_row(12, 10, "bob");
	see_row(10, 10, "bob");
	see_row(13, 10, "bob");
	assert_int_equal(expected_su(), 0);
}

static void an_array_that_was_never_listed_counts_whole(void **state)
{
	(void)state;
	list_waiting(NULL, 0);
	accept_job("bob", 2, 3);
	see_row(11, 10, "bob");
	assert_int_equal(expected_su(), 6);
}

static void what_slurm_did_not_take_ends_with_both_lists(void **state)
{
	(void)state;
	list_waiting(NULL, 0);
	accept_job("alice", 5, 1);
	now_ns += 5 * S_NS;
	list_waiting(NULL, 0);
	list_started();
	assert_int_equal(expected_su(), 5);
	now_ns += 10 * S_NS;
	list_waiting(NULL, 0);
	assert_int_equal(expected_su(), 5);
	list_started();
	assert_int_equal(expected_su(), 0);
}

static void without_lists_it_ends_after_minutes(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(10, "bob", 2, 1) };

	(void)state;
	list_waiting(jobs, 1);
	accept_job("alice", 5, 1);
	now_ns += EXPECTED_MAX_NS - 1;
	assert_int_equal(expected_su(), 7);
	now_ns += 1;
	assert_int_equal(expected_su(), 0);
	accept_job("alice", 4, 1);
	assert_int_equal(expected_su(), 4);
}

static void clusters_are_apart(void **state)
{
	struct expected_job other = job_of("alice", 5, 1);

	(void)state;
	other.cluster = "other";
	list_waiting(NULL, 0);
	accept_job("alice", 3, 1);
	assert_int_equal(expected_accept(&all, &other, now_ns, NULL), 0);
	now_ns += 20 * S_NS;
	list_waiting(NULL, 0);
	list_started();
	assert_int_equal(expected_su(), 5);
}

static void an_own_job_is_told_apart(void **state)
{
	const struct expected_waiting jobs[] = { waiting_job(10, "bob", 2, 4),
						 waiting_job(11, "bob", 2, 1) };
	struct sum s;

	(void)state;
	list_waiting(jobs, 2);
	s = sum_beside(10, "bob");
	assert_int_equal(s.su, 2);
	assert_int_equal(s.own_su, 8);
	assert_int_equal(
		expected_tasks_of(all, &(struct expected_own){ .cluster = "vc", .job = 10 }),
		4);
	accept_job("bob", 7, 1);
	accept_job("bob", 6, 1);
	s = sum_beside(12, "bob");
	assert_int_equal(s.su, 10 + 7);
	assert_int_equal(s.own_su, 6);
}

static void a_change_counts_until_it_is_listed_and_is_no_job(void **state)
{
	const struct expected_waiting before = waiting_job(10, "bob", 2, 1),
				      after = waiting_job(10, "bob", 5, 1);
	struct expected_job change = job_of("bob", 3, 1);

	(void)state;
	list_waiting(&before, 1);
	change.changed = 10;
	assert_int_equal(expected_accept(&all, &change, now_ns, NULL), 0);
	assert_int_equal(expected_su(), 5);
	now_ns += S_NS;
	list_waiting(&before, 1);
	assert_int_equal(expected_su(), 5);
	see_row(11, 0, "bob");
	assert_int_equal(expected_su(), 5);
	now_ns += S_NS;
	list_waiting(&after, 1);
	assert_int_equal(expected_su(), 5);
	assert_int_equal(expected_accept(&all, &change, now_ns, NULL), 0);
	now_ns += 20 * S_NS;
	list_waiting(NULL, 0);
	assert_int_equal(expected_su(), 3);
	list_started();
	assert_int_equal(expected_su(), 0);
}

/* One user's flood is refused, and no other user's submission. */
static void a_flood_is_bounded(void **state)
{
	struct expected_job job = job_of("bob", 0, 1);
	struct err err = { "" };
	int n = 0, r = 0;

	(void)state;
	for (; n < 2 * EXPECTED_USER_MAX && r >= 0; n++) {
		job.need_ms = n;
		r = expected_accept(&all, &job, now_ns, &err);
	}
	assert_int_equal(r, -EAGAIN);
	assert_int_equal(n, EXPECTED_USER_MAX + 1);
	assert_non_null(strstr(err.text, "in two minutes"));
	accept_job("alice", 1, 1);
	job.need_ms = 0;
	assert_int_equal(expected_accept(&all, &job, now_ns, &err), 0);
}

/* In whatever order jobs come, are listed, start and are refused: what counts is never less than what there is. */
static void nothing_is_counted_less(void **state)
{
	enum { N = 400 };
	struct expected_waiting jobs[N];
	int64_t su[N], held = 0, next = 1;
	size_t n = 0;
	unsigned seed = 7;

	(void)state;
	list_waiting(NULL, 0);
	for (int i = 0; i < N; i++) {
		su[i] = rand_r(&seed) % 9 + 1;
		now_ns += S_NS / 4 * (rand_r(&seed) % 8);
		accept_job("bob", su[i], 1);
		if (rand_r(&seed) % 4) { /* else Slurm refuses it */
			jobs[n++] = waiting_job(next++, "bob", su[i], 1);
			held += su[i];
		}
		if (rand_r(&seed) % 5 == 0)
			list_waiting(jobs, n);
		if (rand_r(&seed) % 7 == 0)
			list_started();
		assert_true(expected_su() >= held);
	}
	now_ns += 20 * S_NS;
	list_waiting(jobs, n);
	list_started();
	assert_int_equal(expected_su(), held);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, open_empty, close_all)
int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_anything_nothing_counts),
		TEST(each_acceptance_counts_at_once),
		TEST(a_listed_job_takes_the_place_of_its_acceptance),
		TEST(old_jobs_end_no_acceptance),
		TEST(a_row_that_comes_after_a_later_jobs_ends_its_acceptance),
		TEST(forgotten_ids_count_longer_never_less),
		TEST(of_several_the_cheapest_ends),
		TEST(a_job_that_starts_at_once_is_the_ledgers),
		TEST(tasks_of_an_array_leave_the_list_one_by_one),
		TEST(an_array_that_was_never_listed_counts_whole),
		TEST(what_slurm_did_not_take_ends_with_both_lists),
		TEST(without_lists_it_ends_after_minutes),
		TEST(clusters_are_apart),
		TEST(an_own_job_is_told_apart),
		TEST(a_change_counts_until_it_is_listed_and_is_no_job),
		TEST(a_flood_is_bounded),
		TEST(nothing_is_counted_less),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
