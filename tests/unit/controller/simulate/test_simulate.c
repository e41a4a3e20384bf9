/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_simulate - the replay's clock, decisions of a policy that it refuses, and its sums. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/simulate/summary.h"

#define JOBS_MAX 64

/* ---- a policy that follows a script ---- */

struct order {
	int64_t at_s;
	enum sim_act act;
	uint32_t job;
};

struct script {
	const struct order *orders;
	size_t n, next;
	char seen[256];
};

static void note_event(struct script *s, char what, uint32_t job, int64_t now_s)
{
	size_t n = strlen(s->seen);

	snprintf(s->seen + n, sizeof(s->seen) - n, "%c%u@%d ", what, job, (int)now_s);
}

static int on_arrive(void *self, uint32_t job, int64_t now_s)
{
	note_event(self, 'a', job, now_s);
	return 0;
}

static int on_end(void *self, uint32_t job, int64_t now_s)
{
	note_event(self, 'e', job, now_s);
	return 0;
}

static int on_next(void *self, int64_t now_s, struct sim_action *ret)
{
	struct script *s = self;
	const struct order *o = &s->orders[s->next];

	if (s->next == s->n || o->at_s > now_s)
		return 0;
	s->next++;
	*ret = (struct sim_action){ o->act, o->job };
	return 1;
}

static int64_t on_wake(void *self, int64_t now_s)
{
	const struct script *s = self;

	(void)now_s;
	return s->next == s->n ? SIM_NEVER : s->orders[s->next].at_s;
}

static void on_free(void *self)
{
	(void)self;
}

static const struct sim_policy_ops script_ops = {
	.arrive = on_arrive,
	.end = on_end,
	.next = on_next,
	.wake_s = on_wake,
	.free = on_free,
};

/* ---- a world ---- */

struct world {
	struct sim_trace trace;
	struct sim_times times[JOBS_MAX];
	uint32_t order[JOBS_MAX];
	struct sim_policy policy;
	struct sim_replay replay;
	struct err err;
};

/* Lines "NUMBER SUBMIT RUN CORES ASKED GROUP". */
static void open_world(struct world *w, int64_t cores, const char *const *lines, size_t n)
{
	memset(w, 0, sizeof(*w));
	sim_trace_init(&w->trace);
	for (size_t i = 0; i < n; i++) {
		int number, submit, run, size, asked, group;
		char line[128];

		assert_int_equal(sscanf(lines[i], "%d %d %d %d %d %d", &number, &submit, &run,
					&size, &asked, &group),
				 6);
		snprintf(line, sizeof(line), "%d %d -1 %d %d -1 -1 %d %d -1 1 1 %d 1 1 1 -1 -1",
			 number, submit, run, size, size, asked, group);
		assert_int_equal(sim_trace_line(&w->trace, line, strlen(line)), 0);
	}
	sim_trace_finish(&w->trace, cores);
	w->replay = (struct sim_replay){ .trace = &w->trace,
					 .cores = cores,
					 .policy = &w->policy,
					 .times = w->times,
					 .order = w->order };
}

static void close_world(struct world *w)
{
	sim_policy_done(&w->policy);
	sim_trace_done(&w->trace);
}

static int run_script(struct world *w, struct script *s)
{
	w->policy = (struct sim_policy){ &script_ops, s };
	return sim_replay_run(&w->replay, &w->err);
}

static const char *const two[] = { "1 0 10 4 20 1", "2 3 5 2 5 2" };

static void a_suspended_job_keeps_what_it_has_run(void **state)
{
	static const struct order orders[] = {
		{ 0, SIM_START, 0 },  { 3, SIM_SUSPEND, 0 }, { 3, SIM_START, 1 },
		{ 8, SIM_RESUME, 0 }, { 9, SIM_SUSPEND, 0 }, { 12, SIM_RESUME, 0 },
	};
	struct script s = { orders, ARRAY_LEN(orders), 0, "" };
	struct sim_summary sum;
	struct world w;

	(void)state;
	open_world(&w, 4, two, 2);
	assert_int_equal(run_script(&w, &s), 0);
	assert_string_equal(w.err.text, "");
	assert_string_equal(s.seen, "a0@0 a1@3 e1@8 e0@18 ");
	assert_int_equal(w.times[0].start_s, 0);
	assert_int_equal(w.times[0].end_s, 18);
	assert_int_equal(w.times[0].suspended_s, 8);
	assert_int_equal(w.times[0].suspensions, 2);
	assert_int_equal(sim_summarise(&w.replay, &sum), 0);
	assert_int_equal(sum.suspended_s, 8);
	assert_int_equal(sum.suspensions, 2);
	assert_int_equal(sum.makespan_s, 18);
	assert_int_equal(sum.xfactor_over, 1); /* 28 of 20 */
	assert_int_equal(sum.xfactor_milli.max, 1400);
	assert_int_equal(sum.xfactor_milli.p50, 1000);
	assert_true(fabs(sum.utilisation - 50.0 / 72) < 1e-12);
	assert_true(fabs(sum.bounded_slowdown_mean - (1.8 + 1) / 2) < 1e-12);
	close_world(&w);
}

static void an_impossible_decision_of_a_policy_is_an_error(void **state)
{
	static const struct {
		struct order orders[2];
		const char *says;
	} cases[] = {
		{ { { 0, SIM_START, 0 }, { 3, SIM_START, 1 } }, "does not fit" },
		{ { { 0, SIM_START, 0 }, { 1, SIM_START, 0 } }, "does not wait" },
		{ { { 0, SIM_START, 1 }, { 0, SIM_START, 0 } }, "does not wait" },
		{ { { 0, SIM_SUSPEND, 0 }, { 0, SIM_START, 0 } }, "does not run" },
		{ { { 0, SIM_RESUME, 0 }, { 0, SIM_START, 0 } }, "is not suspended" },
		{ { { 0, SIM_START, 7 }, { 0, SIM_START, 0 } }, "does not exist" },
		{ { { 0, SIM_START, 0 }, { 3, SIM_SUSPEND, 0 } }, "never ends" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct script s = { cases[i].orders, 2, 0, "" };
		struct world w;

		open_world(&w, 4, two, 2);
		assert_int_equal(run_script(&w, &s), -EPROTO);
		assert_non_null(strstr(w.err.text, cases[i].says));
		close_world(&w);
	}
}

static int64_t on_each_second(void *self, int64_t now_s)
{
	(void)self;
	return now_s + 1;
}

static void a_replay_that_never_ends_is_an_error(void **state)
{
	struct sim_policy_ops ops = script_ops;
	struct script s = { NULL, 0, 0, "" };
	struct world w;

	(void)state;
	ops.wake_s = on_each_second;
	open_world(&w, 4, two, 2);
	w.policy = (struct sim_policy){ &ops, &s };
	assert_int_equal(sim_replay_run(&w.replay, &w.err), -EPROTO);
	assert_non_null(strstr(w.err.text, "never ends"));
	close_world(&w);
}

static void at_one_instant_ends_come_before_starts(void **state)
{
	static const char *const lines[] = { "1 0 10 2 10 1", "3 10 5 2 5 1", "2 10 5 2 5 1",
					     "4 0 10 2 10 1" };
	static const struct order orders[] = {
		{ 0, SIM_START, 0 },
		{ 0, SIM_START, 1 },
		{ 10, SIM_START, 3 },
		{ 10, SIM_START, 2 },
	};
	struct script s = { orders, ARRAY_LEN(orders), 0, "" };
	struct world w;

	(void)state;
	open_world(&w, 4, lines, 4);
	assert_int_equal(w.trace.disordered, 2);
	assert_int_equal(w.trace.jobs[2].number, 2);
	assert_int_equal(run_script(&w, &s), 0);
	assert_string_equal(s.seen, "a0@0 a1@0 e0@10 e1@10 a2@10 a3@10 e2@15 e3@15 ");
	close_world(&w);
}

static int compare_int64(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int64_t rank_plainly(const int64_t *sorted, size_t n, int percent)
{
	size_t k = 0;

	while ((k + 1) * 100 < n * (size_t)percent)
		k++;
	return sorted[k];
}

/* A count for each bound: of the waits that are not longer. */
static void assert_counts(const struct sim_replay *r, const int64_t *waits)
{
	static const int64_t bounds[] = { -1, 0, 1, 5, 6, 100 };
	size_t counts[ARRAY_LEN(bounds)];

	sim_count_waits(r, bounds, ARRAY_LEN(bounds), counts);
	for (size_t b = 0; b < ARRAY_LEN(bounds); b++) {
		size_t n = 0;

		for (size_t i = 0; i < r->trace->n; i++)
			n += waits[i] <= bounds[b];
		assert_int_equal(counts[b], n);
	}
	sim_count_waits(r, bounds, 2, counts); /* waits beyond the last bound are in none */
	assert_true(counts[1] <= r->trace->n && counts[0] == 0);
}

static void percentiles_are_those_of_the_sorted_waits(void **state)
{
	(void)state;
	srand(11);
	for (size_t n = 1; n <= JOBS_MAX; n++) {
		int64_t waits[JOBS_MAX];
		struct sim_summary sum;
		struct sim_job jobs[JOBS_MAX];
		struct world w = { .trace = { .jobs = jobs, .n = n },
				   .replay = { .cores = 9 } };

		w.replay.trace = &w.trace;
		w.replay.times = w.times;
		w.replay.order = w.order;
		for (size_t i = 0; i < n; i++) {
			waits[i] = rand() % 3 ? rand() % 7 : 0;
			jobs[i] = (struct sim_job){ .run_s = 1, .estimate_s = 1, .cores = 1 };
			w.order[i] = (uint32_t)i;
			w.times[i] = (struct sim_times){ waits[i], waits[i] + 1, 0, 0 };
		}
		qsort(waits, n, sizeof(*waits), compare_int64);
		assert_counts(&w.replay, waits);
		assert_int_equal(sim_summarise(&w.replay, &sum), 0);
		assert_int_equal(sum.wait_s.p50, rank_plainly(waits, n, 50));
		assert_int_equal(sum.wait_s.p95, rank_plainly(waits, n, 95));
		assert_int_equal(sum.wait_s.p99, rank_plainly(waits, n, 99));
		assert_int_equal(sum.wait_s.max, waits[n - 1]);
	}
}

/* As the header defines it: over each second, what each backlogged group has in use and is owed. */
#define GROUPS 4
#define SECONDS 300

static void deviations_are_those_summed_second_by_second(void **state)
{
	static const int64_t shares[GROUPS] = { 1, 2, 3, 5 };

	(void)state;
	srand(13);
	for (int round = 0; round < 50; round++) {
		_cleanup_(sim_fairness_freep) struct sim_fairness *f = NULL;
		double got[GROUPS] = { 0 }, owed[GROUPS] = { 0 }, all = 0, sum = 0;
		int waits[GROUPS] = { 0 }, holds[GROUPS] = { 0 };

		assert_int_equal(sim_fairness_new(GROUPS, shares, &f), 0);
		for (int t = 0; t < SECONDS; t++) {
			uint32_t g = (uint32_t)rand() % GROUPS;
			int wait = rand() % 3 - 1, hold = rand() % 9 - 4, held = 0, of = 0;

			wait = waits[g] + wait < 0 ? 0 : wait;
			hold = holds[g] + hold < 0 ? 0 : hold;
			sim_fairness_wait(f, g, t, wait);
			sim_fairness_hold(f, g, t, hold);
			waits[g] += wait;
			holds[g] += hold;
			for (int i = 0; i < GROUPS; i++) {
				held += waits[i] ? holds[i] : 0;
				of += waits[i] ? (int)shares[i] : 0;
			}
			all += held;
			for (int i = 0; i < GROUPS; i++) {
				got[i] += waits[i] ? holds[i] : 0;
				owed[i] += waits[i] && of ? held * (double)shares[i] / of : 0;
			}
		}
		sim_fairness_wait(f, 0, SECONDS, 0);
		for (uint32_t i = 0; i < GROUPS && all > 0; i++) {
			struct sim_group g;

			sim_fairness_group(f, i, &g);
			assert_true(fabs(g.got_s - got[i]) < 1e-6);
			assert_true(fabs(g.entitled_s - owed[i]) < 1e-6);
			assert_true(fabs(g.deviation - (got[i] - owed[i]) / all) < 1e-9);
			sum += g.deviation;
		}
		assert_true(fabs(sum) < 1e-9);
	}
}

static void lines_that_are_no_job_are_counted_by_reason(void **state)
{
	static const struct {
		const char *line;
		enum sim_why why;
	} cases[] = {
		{ "1 0 -1 0 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_NO_RUN_TIME },
		{ "1 0 -1 -1 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_NO_RUN_TIME },
		{ "1 0 -1 5 0 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_NO_CORES },
		{ "1 -1 -1 5 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_NO_SUBMIT },
		{ "1 0 -1 5 9 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_TOO_LARGE },
		{ "1 99999999999 -1 5 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_OUT_OF_RANGE },
		{ "1 0 -1 5 99999999999999999999 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1",
		  SIM_OUT_OF_RANGE },
		{ "1 0 -1 5 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1", SIM_GARBAGE },
		{ "1 0 -1 5 4 -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1 -1", SIM_GARBAGE },
		{ "1 0 -1 5 x -1 -1 4 9 -1 1 1 1 1 1 1 -1 -1", SIM_GARBAGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct sim_trace t;

		sim_trace_init(&t);
		assert_int_equal(sim_trace_line(&t, cases[i].line, strlen(cases[i].line)), 0);
		sim_trace_finish(&t, 8);
		assert_int_equal(t.n, 0);
		assert_int_equal(t.rejected[cases[i].why], 1);
		assert_int_equal(sim_trace_rejected(&t), 1);
		sim_trace_done(&t);
	}
}

/* What the policy of the next tests says when it is asked; 0: what the script says. */
static int next_says, arrive_says, end_says;

static int on_next_fault(void *self, int64_t now_s, struct sim_action *ret)
{
	return next_says ? next_says : on_next(self, now_s, ret);
}

static int on_arrive_fault(void *self, uint32_t job, int64_t now_s)
{
	on_arrive(self, job, now_s);
	return arrive_says;
}

static int on_end_fault(void *self, uint32_t job, int64_t now_s)
{
	on_end(self, job, now_s);
	return end_says;
}

static void a_policy_that_refuses_an_end_ends_the_replay(void **state)
{
	static const struct order orders[] = { { 0, SIM_START, 0 }, { 3, SIM_START, 1 } };
	static const char *const small[] = { "1 0 10 1 10 1", "2 3 7 1 7 1" };
	struct sim_policy_ops ops = script_ops;
	struct script s = { orders, 2, 0, "" };
	struct world w;

	(void)state;
	ops.end = on_end_fault;
	open_world(&w, 4, small, 2);
	end_says = -EINVAL;
	w.policy = (struct sim_policy){ &ops, &s };
	assert_int_equal(sim_replay_run(&w.replay, &w.err), -EINVAL);
	assert_string_equal(w.err.text, "the policy refuses a job");
	assert_string_equal(s.seen,
			    "a0@0 a1@3 e0@10 "); /* the other of that moment is not told */
	close_world(&w);
}

static void a_policy_that_fails_ends_the_replay(void **state)
{
	static const struct {
		int next, arrive;
		const char *says;
	} rows[] = { { -EIO, 0, "the policy failed at 0 s" },
		     { 0, -EINVAL, "the policy refuses a job" },
		     { 0, -ENOMEM, "out of memory" } };
	struct sim_policy_ops ops = script_ops;

	(void)state;
	ops.next = on_next_fault;
	ops.arrive = on_arrive_fault;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script s = { NULL, 0, 0, "" };
		struct world w;

		open_world(&w, 4, two, 2);
		next_says = rows[i].next;
		arrive_says = rows[i].arrive;
		w.policy = (struct sim_policy){ &ops, &s };
		assert_int_equal(sim_replay_run(&w.replay, &w.err),
				 rows[i].next ? rows[i].next : rows[i].arrive);
		assert_string_equal(w.err.text, rows[i].says);
		assert_string_equal(s.seen, "a0@0 ");
		close_world(&w);
	}
}

static void an_action_names_a_job_that_is_there_and_cores_that_are_free(void **state)
{
	static const struct order resumes[] = { { 0, SIM_START, 0 },
						{ 3, SIM_SUSPEND, 0 },
						{ 3, SIM_START, 1 },
						{ 4, SIM_RESUME, 0 } };
	static const struct order unknown[] = { { 0, (enum sim_act)(SIM_RESUME + 1), 0 } };
	static const struct order behind[] = { { 0, SIM_START, 2 } };
	static const struct {
		const struct order *orders;
		size_t n;
		const char *says;
	} rows[] = {
		{ resumes, 4,
		  "the policy resumes a job that does not fit: job 1 at 4 s, with 2 cores free" },
		{ unknown, 1, "the policy names a job that does not exist" },
		{ behind, 1, "the policy names a job that does not exist" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct script s = { rows[i].orders, rows[i].n, 0, "" };
		struct world w;

		open_world(&w, 4, two, 2);
		assert_int_equal(run_script(&w, &s), -EPROTO);
		assert_string_equal(w.err.text, rows[i].says);
		close_world(&w);
	}
}

/* Job 0 of group 0 runs, waits suspended from 3 to 8, and runs on to 15; job 1 of group 1 waits from 1 to 3. */
static void waiting_and_cores_of_a_replay_are_those_of_its_groups(void **state)
{
	static const char *const lines[] = { "1 0 10 4 10 1", "2 1 5 2 5 2" };
	static const struct order orders[] = { { 0, SIM_START, 0 },
					       { 3, SIM_SUSPEND, 0 },
					       { 3, SIM_START, 1 },
					       { 8, SIM_RESUME, 0 } };
	struct script s = { orders, ARRAY_LEN(orders), 0, "" };
	_cleanup_(sim_fairness_freep) struct sim_fairness *f = NULL;
	struct sim_group g[2];
	struct world w;

	(void)state;
	open_world(&w, 4, lines, 2);
	assert_int_equal(sim_fairness_new(2, NULL, &f), 0);
	w.replay.fair = f;
	assert_int_equal(run_script(&w, &s), 0);
	sim_fairness_group(f, 0, &g[0]);
	sim_fairness_group(f, 1, &g[1]);
	assert_true(g[0].used_s == 40 && g[1].used_s == 10);
	/* Nothing was in use by those who waited; so nothing was owed. */
	assert_true(g[0].got_s == 0 && g[1].got_s == 0);
	assert_true(g[0].entitled_s == 0 && g[1].entitled_s == 0);
	sim_fairness_hold(f, 0, 20, 4); /* no group waits any more, nor has cores */
	sim_fairness_hold(f, 1, 30, 1);
	sim_fairness_group(f, 0, &g[0]);
	assert_true(g[0].used_s == 80 && g[0].got_s == 0);
	close_world(&w);
}

static size_t n_told, told_last;

static void on_progress(void *ctx, size_t done)
{
	assert_null(ctx);
	n_told++;
	told_last = done;
}

/* A policy that wakes each second tells of progress each 4096 instants. */
static void progress_is_told_from_time_to_time(void **state)
{
	static const char *const lines[] = { "1 0 8200 4 8200 1", "2 5000 5 4 5 1" };
	static const struct order orders[] = { { 0, SIM_START, 0 }, { 8200, SIM_START, 1 } };
	struct script s = { orders, ARRAY_LEN(orders), 0, "" };
	struct sim_policy_ops ops = script_ops;
	struct world w;

	(void)state;
	ops.wake_s = on_each_second;
	open_world(&w, 4, lines, 2);
	w.policy = (struct sim_policy){ &ops, &s };
	w.replay.on_progress = on_progress;
	n_told = 0;
	assert_int_equal(sim_replay_run(&w.replay, &w.err), 0);
	assert_int_equal(n_told, 2);
	assert_int_equal(told_last, 2); /* both are there, none has ended */
	close_world(&w);
}

/* It has 100,000 instants to start a job that waits; the one after them is too late. */
static void an_idle_policy_has_its_time_and_no_more(void **state)
{
	static const char *const lines[] = { "1 0 10 4 10 1" };
	struct sim_policy_ops ops = script_ops;

	(void)state;
	ops.wake_s = on_each_second;
	for (int late = 0; late < 2; late++) {
		const struct order orders[] = { { 99999 + late, SIM_START, 0 } };
		struct script s = { orders, 1, 0, "" };
		struct world w;

		open_world(&w, 4, lines, 1);
		w.policy = (struct sim_policy){ &ops, &s };
		assert_int_equal(sim_replay_run(&w.replay, &w.err), late ? -EPROTO : 0);
		close_world(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_suspended_job_keeps_what_it_has_run),
		cmocka_unit_test(an_impossible_decision_of_a_policy_is_an_error),
		cmocka_unit_test(a_replay_that_never_ends_is_an_error),
		cmocka_unit_test(at_one_instant_ends_come_before_starts),
		cmocka_unit_test(percentiles_are_those_of_the_sorted_waits),
		cmocka_unit_test(deviations_are_those_summed_second_by_second),
		cmocka_unit_test(lines_that_are_no_job_are_counted_by_reason),
		cmocka_unit_test(a_policy_that_refuses_an_end_ends_the_replay),
		cmocka_unit_test(a_policy_that_fails_ends_the_replay),
		cmocka_unit_test(an_action_names_a_job_that_is_there_and_cores_that_are_free),
		cmocka_unit_test(waiting_and_cores_of_a_replay_are_those_of_its_groups),
		cmocka_unit_test(progress_is_told_from_time_to_time),
		cmocka_unit_test(an_idle_policy_has_its_time_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
