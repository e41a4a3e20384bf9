/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_submission - holds, dependencies and arrays in the ledger: which jobs are eligible and when, and how
 * jobs that wait end. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/jobs/hold.h"
#include "tests/unit/rig/ledger_rig.h"

#define OFFER_MAX 8192

static int64_t submit_as(struct rig *r, const char *array, const char *depend)
{
	_cleanup_(request_done) struct request q;
	struct store_target targets[8];
	struct store_new new = { .request = &q,
				 .targets = targets,
				 .terms = { .rate = { 1, 1 }, .ncpus = 1 },
				 .now_ns = NOON };
	struct err err = { "" };
	int64_t job = 0;

	rig_request_init(&q);
	q.uid = 1001;
	q.res = (struct resources){
		.ncpus = 1, .vmem_bytes = 1000, .jobfs_bytes = 1000, .walltime_s = 60
	};
	q.workdir = strdup("/");
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		new.terms.bundle.side[s] = (struct fraction){ s != CHARGE_GPUS, 1 };
	if (array)
		assert_int_equal(array_parse(array, &q.array, NULL), 0);
	if (depend)
		assert_int_equal(after_parse(depend, &q.after, NULL), 0);
	for (size_t i = 0; i < q.after.n; i++) {
		struct store_prospect p;

		if (store_depend_look(r->store, q.after.at[i], &p, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(p.uid, 1001);
		targets[new.n_targets++] = p.target;
	}
	if (rig_submit_one(r->store, &new, &job, &err) < 0)
		fail_msg("%s", err.text);
	return job;
}

static int64_t submit_one(struct rig *r)
{
	return submit_as(r, NULL, NULL);
}

struct told {
	int n_let, n_ended;
	char last[DEPEND_WORDS_MAX];
};

static void on_settled(void *ctx, const struct store_resolved *what)
{
	struct told *t = ctx;

	if (what->text) {
		t->n_ended++;
		strcpy(t->last, what->text);
	} else {
		t->n_let++;
	}
}

/* As before each cycle. */
static struct told resolve_all(struct rig *r)
{
	struct told t = { 0 };
	const struct store_resolve how = { NOON, 0, on_settled, &t };
	struct err err = { "" };

	if (store_resolve(r->store, &how, &err) < 0 || store_arrays_expand(r->store, &err) < 0)
		fail_msg("%s", err.text);
	return t;
}

struct offer {
	int64_t jobs[OFFER_MAX];
	int n;
};

static int add_offer(void *ctx, const struct store_waiting *w, struct err *err)
{
	struct offer *o = ctx;

	(void)err;
	o->jobs[o->n++] = w->job;
	return 0;
}

/* What the queue would be offered; both ways to ask agree. */
static struct offer *list_waiting(struct rig *r)
{
	static struct offer o;

	o.n = 0;
	assert_int_equal(store_waiting(r->store, "main", add_offer, &o, NULL), 0);
	assert_int_equal(store_has_queued(r->store, "main", NULL), o.n > 0);
	return &o;
}

static void allocate_job(struct rig *r, int64_t job)
{
	const struct store_allocation gift = { .job = job, .node = "n1" };
	struct rig_sync hello = { .now_ns = NOON };
	struct sync_result result;

	if (rig_number(r, "SELECT COUNT(*) FROM nodes") == 0) {
		assert_int_equal(rig_send_sync(r, &hello, &result), 0);
		sync_result_done(&result);
	}
	assert_int_equal(store_allocate(r->store, &gift, 1, NOON, NULL), 0);
}

/* Runs for 10 s and exits. */
static void run_to_end(struct rig *r, int64_t job, int status)
{
	struct report rep = rig_report(job, 1, JOB_ENDED, 10);

	allocate_job(r, job);
	rep.end.exit_status = status;
	rig_send_report(r, rep, NOON + 20 * S_NS);
}

static void cancel_job(struct rig *r, int64_t job)
{
	const struct store_desired_change w = { .job = job,
						.want = DESIRED_CANCEL,
						.reason = "cancelled by alice",
						.now_ns = NOON };
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(r->store, &w, node, NULL), 0);
}

/* ---- holds ---- */

static void a_held_job_is_not_offered_until_it_is_released(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_one(r), other = submit_one(r);
	const struct store_hold mine = { job, NOON, STORE_HOLD_USER, "alice" };
	struct store_held held;

	assert_int_equal(store_hold(r->store, &mine, NULL), 0);
	assert_int_equal(list_waiting(r)->n, 1);
	assert_int_equal(list_waiting(r)->jobs[0], other);
	assert_int_equal(store_held(r->store, job, &held, NULL), 1);
	assert_string_equal(held.author, "alice");
	assert_int_equal(held.at_ns, NOON);
	rig_reopen(r);
	assert_int_equal(list_waiting(r)->n, 1);
	assert_int_equal(store_release(r->store, &mine, NULL), 0);
	assert_int_equal(list_waiting(r)->n, 2);
	assert_int_equal(store_held(r->store, job, &held, NULL), 0);
	assert_int_equal(store_release(r->store, &mine, NULL), STORE_NOT_HELD);
}

static void only_operators_release_the_hold_of_an_operator(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_one(r);
	const struct store_hold mine = { job, NOON + 1, STORE_HOLD_USER, "alice" },
				ops = { job, NOON + 2, STORE_HOLD_OPERATOR, "ops" };
	struct store_held held;

	assert_int_equal(store_hold(r->store, &mine, NULL), 0);
	assert_int_equal(store_hold(r->store, &ops, NULL), 0);
	assert_int_equal(store_held(r->store, job, &held, NULL), 1);
	assert_string_equal(held.author, "ops");
	assert_int_equal(store_release(r->store, &mine, NULL), STORE_HELD_ABOVE);
	assert_int_equal(list_waiting(r)->n, 0);
	assert_int_equal(store_release(r->store, &ops, NULL), 0);
	assert_int_equal(list_waiting(r)->n, 1);
}

static void a_running_job_cannot_be_held(void **state)
{
	struct rig *r = *state;
	int64_t job = submit_one(r);
	const struct store_hold mine = { job, NOON, STORE_HOLD_USER, "alice" },
				none = { 4711, NOON, STORE_HOLD_USER, "alice" };

	allocate_job(r, job);
	assert_int_equal(store_hold(r->store, &mine, NULL), STORE_TOO_LATE);
	assert_int_equal(store_release(r->store, &mine, NULL), STORE_TOO_LATE);
	assert_int_equal(store_hold(r->store, &none, NULL), -ENOENT);
}

/* ---- dependencies ---- */

static void a_job_waits_for_all_that_it_names(void **state)
{
	struct rig *r = *state;
	int64_t one = submit_one(r), two = submit_one(r);
	char words[DEPEND_WORDS_MAX];
	int64_t job = submit_as(r, NULL, "afterok:1,afterany:2");

	assert_int_equal(one, 1);
	assert_int_equal(list_waiting(r)->n, 2);
	assert_int_equal(store_depend_words(r->store, job, words, NULL), 1);
	assert_string_equal(words, "waits for job 1 to end well (afterok)");
	run_to_end(r, one, 0);
	assert_int_equal(resolve_all(r).n_let, 0);
	assert_int_equal(list_waiting(r)->n, 1);
	run_to_end(r, two, 9);
	assert_int_equal(resolve_all(r).n_let, 1);
	assert_int_equal(list_waiting(r)->n, 1);
	assert_int_equal(list_waiting(r)->jobs[0], job);
	assert_int_equal(store_depend_words(r->store, job, words, NULL), 0);
	assert_int_equal(resolve_all(r).n_let, 0);
}

static void a_dependency_that_can_never_be_met_ends_all_jobs_behind_it(void **state)
{
	struct rig *r = *state;
	int64_t first = submit_one(r);
	struct told t;

	submit_as(r, NULL, "afterok:1");
	submit_as(r, NULL, "afterok:2");
	submit_as(r, NULL, "afterok:3");
	submit_as(r, NULL, "afterany:4");
	run_to_end(r, first, 3);
	t = resolve_all(r);
	assert_int_equal(t.n_ended, 3);
	assert_int_equal(t.n_let, 1); /* the last one depends on any end */
	for (int64_t job = 2; job <= 4; job++)
		assert_int_equal(rig_load_job(r, job).end, END_DEPENDENCY);
	assert_int_equal(rig_load_job(r, 5).state, JOB_QUEUED);
	assert_non_null(strstr(t.last, "once job 3 ended well (afterok)"));
	assert_non_null(strstr(t.last, "never started"));
}

static void a_long_chain_of_dependencies_ends_in_one_cycle(void **state)
{
	struct rig *r = *state;
	int64_t first = submit_one(r);
	char depend[32];

	for (int64_t i = 1; i < 200; i++) {
		snprintf(depend, sizeof(depend), "afterok:%lld", (long long)i);
		submit_as(r, NULL, depend);
	}
	cancel_job(r, first);
	assert_int_equal(resolve_all(r).n_ended, 199);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs WHERE state < 5"), 0);
}

/* Killed between the end and the cycle: the next start resolves all open dependencies. */
static void an_end_that_no_cycle_has_seen_is_found_after_a_restart(void **state)
{
	struct rig *r = *state;
	int64_t first = submit_one(r), array = submit_as(r, "0-1", NULL);

	submit_as(r, NULL, "afterok:1");
	resolve_all(r);
	run_to_end(r, first, 0);
	run_to_end(r, array + 1, 0);
	run_to_end(r, array + 2, 0);
	rig_reopen(r);
	assert_int_equal(resolve_all(r).n_let, 1);
	assert_int_equal(rig_load_job(r, array).state, JOB_ENDED);
	rig_reopen(r);
	assert_int_equal(resolve_all(r).n_let, 0);
	assert_int_equal(rig_number(r, "SELECT n_ended FROM arrays"), 2);
}

/* One batch of the smallest budget; 1: more are left. */
static int resolve_batch(struct rig *r, struct told *t)
{
	const struct store_resolve how = { NOON, 1, on_settled, t };
	int more = store_resolve(r->store, &how, NULL);

	assert_in_range(more, 0, 1);
	return more;
}

/* 20 dependents that fail, one that may start, and a chain behind them; the controller ends after each `reopen_after` batches, 0: never. */
static void resolve_in_batches(struct rig *r, int reopen_after)
{
	struct told t = { 0 };
	int64_t first = submit_one(r);
	int n = 0;

	for (int i = 0; i < 20; i++)
		submit_as(r, NULL, "afterok:1");
	submit_as(r, NULL, "afterany:1");
	submit_as(r, "0-9", "afterok:2");
	submit_as(r, NULL, "afterok:23");
	cancel_job(r, first);
	for (; resolve_batch(r, &t) > 0; n++)
		if (reopen_after && n % reopen_after == 0)
			rig_reopen(r);
	assert_in_range(n, 22, 200);
	assert_int_equal(t.n_ended, 22);
	assert_int_equal(t.n_let, 1);
	assert_int_equal(list_waiting(r)->n, 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM depends WHERE met = 0"), 0);
}

static void dependents_are_resolved_in_batches(void **state)
{
	resolve_in_batches(*state, 0);
}

static void a_crash_between_two_batches_of_dependents_loses_none(void **state)
{
	resolve_in_batches(*state, 1);
}

static void unknown_jobs_and_array_tasks_are_named(void **state)
{
	struct rig *r = *state;
	struct after a = { AFTER_OK, { 99, JOB_ID_NO_INDEX } };
	struct err err = { "" };
	struct store_prospect p;

	assert_int_equal(store_depend_look(r->store, a, &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no job 99"));
	a.id.job = submit_one(r);
	a.id.index = 3;
	assert_int_equal(store_depend_look(r->store, a, &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "there is no such array"));
	a.id.job = submit_as(r, "0-8:2", NULL);
	assert_int_equal(store_depend_look(r->store, a, &p, &err), -ENOENT);
	assert_non_null(strstr(err.text, "no such element"));
	a.id.index = 4;
	assert_int_equal(store_depend_look(r->store, a, &p, &err), 0);
	assert_int_equal(p.target.job, a.id.job + 3);
}

/* ---- arrays ---- */

static void an_array_of_a_million_tasks_is_a_few_rows(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-999999", NULL), next;
	struct store_array a;

	resolve_all(r);
	next = submit_one(r);
	assert_int_equal(next, array + 1000001);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 34);
	assert_int_equal(rig_number(r, "SELECT LENGTH(waiting) FROM arrays"), 9);
	assert_int_equal(store_array(r->store, array, &a, NULL), 1);
	assert_int_equal(a.n_waiting, 1000000 - 32);
	assert_int_equal(a.n_queued, 32);
	assert_int_equal(list_waiting(r)->n, 33);
	for (int i = 0; i < 32; i++)
		assert_int_equal(list_waiting(r)->jobs[i], array + 1 + i);
	assert_int_equal(resolve_all(r).n_let, 0);
	assert_int_equal(list_waiting(r)->n, 33); /* nothing more, as nothing has started */
}

static void array_tasks_get_rows_in_order_as_others_run(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "10-509", NULL), last = array;
	int turns = 0;

	resolve_all(r);
	while (list_waiting(r)->n > 0) {
		struct offer o = *list_waiting(r);

		for (int i = 0; i < o.n; i++) {
			assert_int_equal(o.jobs[i], ++last);
			allocate_job(r, o.jobs[i]);
		}
		resolve_all(r);
		turns++;
	}
	assert_int_equal(last, array + 500);
	assert_in_range(turns, 2, 6);
	assert_int_equal(rig_number(r, "SELECT MAX(array_index) FROM jobs"), 509);
	assert_int_equal(rig_number(r, "SELECT MAX(ncpus) + COUNT(*) FROM jobs"
				       " WHERE array_job > 0"),
			 501);
}

/* With tasks held, released, and run one by one: never more at once than allowed. */
static void an_array_has_no_more_tasks_at_once_than_allowed(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-19%3", NULL), number;
	const struct store_hold early = { array + 2, NOON, STORE_HOLD_USER, "alice" },
				late = { array + 16, NOON, STORE_HOLD_USER, "alice" };
	const struct job_id fifteen = { array, 15 };
	int64_t running[3];
	int n_running = 0, n_ended = 0;

	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 3);
	assert_int_equal(store_array_element(r->store, fifteen, &number, NULL),
			 STORE_NOT_EXPANDED);
	assert_int_equal(number, array + 16);
	assert_int_equal(store_array_expand_one(r->store, fifteen, NULL), 0);
	assert_int_equal(store_array_element(r->store, fifteen, &number, NULL), 0);
	assert_int_equal(store_hold(r->store, &late, NULL), 0);
	assert_int_equal(store_hold(r->store, &early, NULL), 0);
	for (int round = 0; n_ended < 20; round++) {
		struct offer o;

		resolve_all(r);
		o = *list_waiting(r);
		assert_in_range(o.n + n_running, 1, 3);
		for (int i = 0; i < o.n; i++) {
			allocate_job(r, o.jobs[i]);
			running[n_running++] = o.jobs[i];
		}
		if (round == 3)
			assert_int_equal(store_release(r->store, &early, NULL), 0);
		if (round == 5)
			assert_int_equal(store_release(r->store, &late, NULL), 0);
		assert_true(n_running > 0);
		rig_send_report(r, rig_report(running[--n_running], 1, JOB_ENDED, 10),
				NOON + 20 * S_NS);
		n_ended++;
	}
	resolve_all(r);
	assert_int_equal(rig_load_job(r, array).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, array).end, END_EXITED);
	assert_int_equal(rig_number(r, "SELECT n_well FROM arrays"), 20);
}

static void each_array_task_is_charged_as_a_job(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-4", NULL);

	resolve_all(r);
	for (int i = 1; i <= 5; i++)
		run_to_end(r, array + i, 0);
	resolve_all(r);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 50000);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 5);
	assert_int_equal(rig_load_job(r, array).charge_requested_ms, 0);
}

static void a_held_array_starts_nothing_and_continues_where_it_was(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-99", NULL);
	const struct store_hold mine = { array, NOON, STORE_HOLD_USER, "alice" };
	struct store_held held;

	resolve_all(r);
	allocate_job(r, array + 1);
	assert_int_equal(store_hold(r->store, &mine, NULL), 0);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 0);
	assert_int_equal(store_held(r->store, array + 5, &held, NULL), 1);
	/* One that gets its row now is held like the others. */
	assert_int_equal(store_array_expand_one(r->store, (struct job_id){ array, 90 }, NULL),
			 0);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 0);
	assert_int_equal(store_release(r->store, &mine, NULL), 0);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 32);
	assert_int_equal(list_waiting(r)->jobs[0], array + 2);
}

static void cancelling_an_array_ends_all_of_it(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-99", NULL), waits, goes;

	resolve_all(r);
	waits = submit_as(r, NULL, "afterok:1[80]"); /* without a row */
	goes = submit_as(r, NULL, "afterany:1[]");
	allocate_job(r, array + 1);
	cancel_job(r, array);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 0);
	assert_int_equal(rig_load_job(r, array + 2).end, END_CANCELLED);
	assert_int_equal(rig_load_job(r, array).state, JOB_QUEUED); /* one is still running */
	rig_send_report(r, rig_report(array + 1, 1, JOB_ENDED, 10), NOON + 20 * S_NS);
	resolve_all(r);
	assert_int_equal(rig_load_job(r, array).end, END_CANCELLED);
	assert_int_equal(rig_load_job(r, waits).end, END_DEPENDENCY);
	assert_int_equal(list_waiting(r)->n, 1);
	assert_int_equal(list_waiting(r)->jobs[0], goes);
}

static void an_array_without_any_row_is_cancelled_at_once(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-9999", NULL);

	cancel_job(r, array);
	assert_int_equal(rig_load_job(r, array).end, END_CANCELLED);
	assert_int_equal(resolve_all(r).n_ended, 0);
	assert_int_equal(list_waiting(r)->n, 0);
}

static void a_dependency_on_an_array_means_all_of_its_tasks(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "0-2", NULL), job = submit_as(r, NULL, "afterok:1"),
		any = submit_as(r, NULL, "afterany:1[]");

	resolve_all(r);
	run_to_end(r, array + 1, 0);
	run_to_end(r, array + 2, 0);
	assert_int_equal(resolve_all(r).n_let, 0);
	run_to_end(r, array + 3, 0);
	assert_int_equal(resolve_all(r).n_let, 2);
	assert_int_equal(list_waiting(r)->n, 2);
	assert_int_equal(list_waiting(r)->jobs[0], job);
	assert_int_equal(list_waiting(r)->jobs[1], any);
}

static void one_failed_array_task_ends_jobs_that_need_all_to_succeed(void **state)
{
	struct rig *r = *state;
	int64_t array = submit_as(r, "5-7", NULL), job = submit_as(r, NULL, "afterok:1"),
		any = submit_as(r, NULL, "afterany:1"),
		one = submit_as(r, NULL, "afterok:1[5]");
	struct told t;

	resolve_all(r);
	run_to_end(r, array + 2, 4);
	t = resolve_all(r);
	assert_int_equal(t.n_ended, 1);
	assert_non_null(strstr(t.last, "job 1[6] ended well"));
	assert_non_null(strstr(t.last, "exit status 4"));
	assert_int_equal(rig_load_job(r, job).end, END_DEPENDENCY);
	assert_int_equal(rig_load_job(r, any).state, JOB_QUEUED);
	run_to_end(r, array + 1, 0);
	run_to_end(r, array + 3, 0);
	assert_int_equal(resolve_all(r).n_let, 2);
	assert_int_equal(rig_load_job(r, one).state, JOB_QUEUED);
	assert_int_equal(rig_number(r, "SELECT n_well FROM arrays"), 2);
}

static void a_dependent_array_becomes_eligible_or_ends_as_a_whole(void **state)
{
	struct rig *r = *state;
	int64_t first = submit_one(r), good = submit_as(r, "0-9", "afterok:1"),
		bad = submit_as(r, "0-9", "afterok:1");
	const struct store_hold hold = { bad, NOON, STORE_HOLD_USER, "alice" };

	assert_int_equal(store_hold(r->store, &hold, NULL), 0);
	/* A row ahead of time waits with its array. */
	assert_int_equal(store_array_expand_one(r->store, (struct job_id){ good, 4 }, NULL), 0);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 1);
	run_to_end(r, first, 0);
	resolve_all(r);
	assert_int_equal(list_waiting(r)->n, 10);
	submit_as(r, "0-9", "afterok:13[3]");
	cancel_job(r, bad);
	resolve_all(r);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM arrays WHERE is_open = 1"), 1);
}

#define RIGGED(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RIGGED(a_held_job_is_not_offered_until_it_is_released),
		RIGGED(only_operators_release_the_hold_of_an_operator),
		RIGGED(a_running_job_cannot_be_held),
		RIGGED(a_job_waits_for_all_that_it_names),
		RIGGED(a_dependency_that_can_never_be_met_ends_all_jobs_behind_it),
		RIGGED(a_long_chain_of_dependencies_ends_in_one_cycle),
		RIGGED(an_end_that_no_cycle_has_seen_is_found_after_a_restart),
		RIGGED(dependents_are_resolved_in_batches),
		RIGGED(a_crash_between_two_batches_of_dependents_loses_none),
		RIGGED(unknown_jobs_and_array_tasks_are_named),
		RIGGED(an_array_of_a_million_tasks_is_a_few_rows),
		RIGGED(array_tasks_get_rows_in_order_as_others_run),
		RIGGED(an_array_has_no_more_tasks_at_once_than_allowed),
		RIGGED(each_array_task_is_charged_as_a_job),
		RIGGED(a_held_array_starts_nothing_and_continues_where_it_was),
		RIGGED(cancelling_an_array_ends_all_of_it),
		RIGGED(an_array_without_any_row_is_cancelled_at_once),
		RIGGED(a_dependency_on_an_array_means_all_of_its_tasks),
		RIGGED(one_failed_array_task_ends_jobs_that_need_all_to_succeed),
		RIGGED(a_dependent_array_becomes_eligible_or_ends_as_a_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
