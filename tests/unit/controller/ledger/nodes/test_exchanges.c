/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_exchanges.c - exchanges of several nodes in one transaction, step by step (ingest.h): they leave what each alone does; and the nodes
 * that are kept in memory (kept.h). */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/attempts/ingest/ingest.h"
#include "controller/ledger/nodes/kept.h"
#include "controller/policy/placement/fit.h"
#include "tests/unit/rig/ledger_rig.h"

#define NODES 3
#define JOBS 2 /* of each node */
#define LATER_NS (NOON + 60 * S_NS)

/* What each node says next, and what became of it. */
struct said {
	struct sync in[NODES];
	struct sync_from from[NODES];
	struct sync_result out[NODES];
	struct store_ingest g[NODES];
	struct sync_job jobs[NODES][JOBS];
	struct report reports[NODES][JOBS];
};

static const char *const names[NODES] = { "n1", "n2", "n3" };

static void say_next(struct rig *r, struct said *s, int64_t number, int64_t now_ns)
{
	memset(s, 0, sizeof(*s));
	for (int i = 0; i < NODES; i++) {
		struct sync *in = &s->in[i];

		in->capacity = (struct sync_amounts){ .ncpus = 8,
						      .mem_bytes = 64LL << 30,
						      .jobfs_bytes = 64LL << 30 };
		in->number = number;
		in->jobs = s->jobs[i];
		in->reports = s->reports[i];
		strcpy(in->node, names[i]);
		strcpy(in->boot, "b1");
		s->from[i] = (struct sync_from){ .cluster = "main",
						 .now_ns = now_ns,
						 .lost_ns = 120 * S_NS };
		snprintf(s->from[i].address, sizeof(s->from[i].address), "10.0.0.%d", i + 1);
		s->g[i] = (struct store_ingest){
			.s = r->store, .in = in, .from = &s->from[i], .out = &s->out[i]
		};
	}
}

static void add_report(struct said *s, int node, struct report rep)
{
	struct sync *in = &s->in[node];

	s->reports[node][in->n_reports++] = rep;
	s->jobs[node][in->n_jobs++] =
		(struct sync_job){ .job = rep.job, .attempt = rep.attempt, .state = rep.state };
}

/* Every step of all nodes before the next one of any, as far as a batch goes. */
static int store_steps(struct said *s)
{
	struct err err = { "" };
	int r = 0;

	for (int i = 0; i < NODES && r >= 0; i++) {
		r = store_ingest_begin(&s->g[i], &err);
		if (r >= 0)
			r = store_ingest_ask(&s->g[i], &err);
	}
	for (int i = 0; i < NODES && r >= 0; i++)
		r = store_ingest_said(&s->g[i], &err);
	for (int i = 0; i < NODES && r >= 0; i++)
		r = store_ingest_ask_list(&s->g[i], &err);
	for (int i = 0; i < NODES && r >= 0; i++)
		r = store_ingest_list(&s->g[i], &err);
	return r;
}

static void forget_said(struct said *s)
{
	for (int i = 0; i < NODES; i++) {
		store_ingest_done(&s->g[i]);
		sync_result_done(&s->out[i]);
	}
}

static void store_all(struct rig *r, struct said *s)
{
	struct err err = { "" };

	assert_int_equal(store_begin(r->store, &err), 0);
	assert_int_equal(store_steps(s), 0);
	assert_int_equal(store_commit(r->store, &err), 0);
}

/* The nodes register, and each gets its jobs. */
static void give_jobs(struct rig *r, struct said *s, int64_t jobs[NODES][JOBS])
{
	say_next(r, s, 1, NOON);
	store_all(r, s);
	forget_said(s);
	for (int i = 0; i < NODES; i++)
		for (int k = 0; k < JOBS; k++) {
			jobs[i][k] = rig_job_on(r, names[i], NOON);
			assert_true(jobs[i][k] > 0);
		}
}

/* A figure of the attempts or run intervals of a job: "SUM(seq) FROM attempts". */
static int64_t figure_of(struct rig *r, const char *what, int64_t job)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "SELECT %s WHERE job = %lld", what, (long long)job);
	return rig_number(r, sql);
}

static void exchanges_together_leave_what_each_alone_does(void **state)
{
	struct rig *r = *state;
	int64_t jobs[NODES][JOBS];
	struct said s;

	give_jobs(r, &s, jobs);
	/* They start: a change of state. Then they run on, which is written together. One ends. */
	for (int at = 0; at < 4; at++) {
		say_next(r, &s, 2 + at, NOON + at * 60 * S_NS);
		for (int i = 0; i < NODES; i++)
			for (int k = 0; k < JOBS; k++) {
				bool ends = at == 3 && i == 1 && k == 0;

				add_report(&s, i,
					   rig_report(jobs[i][k], at + 1,
						      ends ? JOB_ENDED : JOB_RUNNING, at * 60));
			}
		store_all(r, &s);
		for (int i = 0; i < NODES; i++) {
			const struct store_given_list *given = store_ingest_given(&s.g[i]);

			assert_int_equal(s.out[i].n_acks, JOBS);
			assert_int_equal(s.out[i].n_refusals, 0);
			assert_non_null(given);
			assert_int_equal(given->n, at == 3 && i == 1 ? JOBS - 1 : JOBS);
			assert_int_equal(given->rows[0].desired.want, DESIRED_RUN);
		}
		forget_said(&s);
	}
	for (int i = 0; i < NODES; i++)
		for (int k = 0; k < JOBS; k++) {
			struct rig_job j = rig_load_job(r, jobs[i][k]);

			assert_int_equal(j.state, i == 1 && k == 0 ? JOB_ENDED : JOB_RUNNING);
			assert_int_equal(j.running_ns, 180 * S_NS);
			assert_int_equal(j.charge_requested_ms, 180 * 2500);
			assert_string_equal(j.node, names[i]);
			assert_int_equal(
				figure_of(r, "SUM(running_ns) FROM stretches", jobs[i][k]),
				180 * S_NS);
			assert_int_equal(figure_of(r, "seq FROM attempts", jobs[i][k]), 4);
		}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM boots WHERE number = 5"), NODES);
	assert_int_equal(rig_number(r, "SELECT SUM(last_ns) / 3 FROM nodes"),
			 NOON + 180 * S_NS);
	assert_int_equal(rig_number(r, "SELECT SUM(running_ms) FROM rollups"),
			 NODES * JOBS * 180000);
}

/* All of them start together, run past two midnights, and each day has its share. */
static void jobs_that_run_on_past_midnight_have_each_day(void **state)
{
	static const int64_t at_s[] = { 0, 60, 11 * HOUR_S, 37 * HOUR_S, 37 * HOUR_S + 60 };
	struct rig *r = *state;
	int64_t jobs[NODES][JOBS];
	struct said s;

	give_jobs(r, &s, jobs);
	for (size_t at = 0; at < ARRAY_LEN(at_s); at++) {
		say_next(r, &s, 2 + (int64_t)at, NOON + at_s[at] * S_NS);
		for (int i = 0; i < NODES; i++)
			for (int k = 0; k < JOBS; k++)
				add_report(&s, i,
					   rig_report(jobs[i][k], (int64_t)at + 1, JOB_RUNNING,
						      at_s[at]));
		store_all(r, &s);
		forget_said(&s);
	}
	for (int i = 0; i < NODES; i++)
		for (int k = 0; k < JOBS; k++) {
			int64_t job = jobs[i][k];

			assert_int_equal(figure_of(r, "COUNT(*) FROM slices", job), 3);
			assert_int_equal(figure_of(r, "SUM(running_ms) FROM slices", job),
					 (37 * HOUR_S + 60) * 1000);
			assert_int_equal(figure_of(r, "MIN(running_ms) FROM slices", job),
					 (HOUR_S + 60) * 1000); /* the third day */
			assert_int_equal(figure_of(r, "MAX(running_ms) FROM slices", job),
					 24 * HOUR_S * 1000);
			assert_int_equal(figure_of(r, "sliced FROM attempts", job), 1);
			assert_int_equal(figure_of(r, "usage_day FROM attempts", job),
					 20001); /* its second day */
			assert_int_equal(figure_of(r, "started_day FROM attempts", job), 20000);
			assert_int_equal(figure_of(r, "state FROM jobs", job), JOB_RUNNING);
			assert_int_equal(figure_of(r, "started_ns FROM jobs", job), NOON);
			assert_int_equal(figure_of(r, "COUNT(*) FROM events", job), 3);
		}
	assert_int_equal(rig_number(r, "SELECT SUM(jobs) FROM waits"), NODES * JOBS);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_started) FROM rollups"), NODES * JOBS);
	assert_int_equal(rig_number(r, "SELECT SUM(running_ms) FROM rollups WHERE day = 20001"),
			 NODES * JOBS * 24 * HOUR_S * 1000);
}

/* A job that its node lost may be queued again: what was read for the others is read once more. */
static void a_change_for_others_has_what_they_have_read_again(void **state)
{
	struct rig *r = *state;
	int64_t jobs[NODES][JOBS];
	struct said s;

	give_jobs(r, &s, jobs);
	for (int at = 0; at < 2; at++) {
		say_next(r, &s, 2 + at, NOON + at * 60 * S_NS);
		for (int i = 0; i < NODES; i++)
			for (int k = 0; k < JOBS; k++)
				/* In the second exchange n3 lists one job less. */
				if (at == 0 || i < 2 || k == 0)
					add_report(&s, i,
						   rig_report(jobs[i][k], at + 1, JOB_RUNNING,
							      at * 60));
		store_all(r, &s);
		assert_true(!store_ingest_given(&s.g[0]) == (at == 1));
		forget_said(&s);
	}
	assert_int_equal(figure_of(r, "missing_ns FROM attempts", jobs[2][1]),
			 NOON + 60 * S_NS);
}

static void an_overtaken_exchange_is_refused_and_leaves_nothing(void **state)
{
	struct rig *r = *state;
	int64_t jobs[NODES][JOBS];
	struct said s;

	give_jobs(r, &s, jobs);
	say_next(r, &s, 2, LATER_NS);
	s.in[2].number = 1; /* it has sent that */
	assert_int_equal(store_begin(r->store, NULL), 0);
	assert_int_equal(store_steps(&s), -ESTALE);
	store_rollback(r->store);
	forget_said(&s);
	/* What was gathered of the others is forgotten, too. */
	assert_int_equal(store_begin(r->store, NULL), 0);
	assert_int_equal(store_commit(r->store, NULL), 0);
	assert_int_equal(rig_number(r, "SELECT SUM(last_ns) / 3 FROM nodes"), NOON);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM boots WHERE number = 1"), NODES);
	say_next(r, &s, 2, LATER_NS);
	store_all(r, &s);
	forget_said(&s);
	assert_int_equal(rig_number(r, "SELECT SUM(last_ns) / 3 FROM nodes"), LATER_NS);
}

/* ---- kept nodes ---- */

static int64_t kept_cores(struct rig *r)
{
	const struct fit_node *nodes;
	int64_t sum = 0;
	size_t n;

	assert_int_equal(store_kept_nodes(r->store, "main", &nodes, &n, NULL), 0);
	for (size_t i = 0; i < n; i++)
		sum += nodes[i].capacity.ncpus;
	return sum;
}

static void kept_nodes_follow_every_change(void **state)
{
	struct rig *r = *state;
	struct said s;

	assert_int_equal(kept_cores(r), 0);
	say_next(r, &s, 1, NOON);
	store_all(r, &s);
	forget_said(&s);
	assert_int_equal(kept_cores(r), NODES * 8);
	say_next(r, &s, 2, LATER_NS);
	s.in[1].capacity.ncpus = 128;
	assert_int_equal(store_begin(r->store, NULL), 0);
	assert_int_equal(store_steps(&s), 0);
	assert_int_equal(kept_cores(r), NODES * 8 - 8 + 128); /* in the transaction */
	store_rollback(r->store);
	forget_said(&s);
	assert_int_equal(kept_cores(r), NODES * 8);
	say_next(r, &s, 2, LATER_NS);
	s.in[1].capacity.ncpus = 128;
	store_all(r, &s);
	forget_said(&s);
	assert_int_equal(kept_cores(r), NODES * 8 - 8 + 128);
	/* One that is lost is there, but takes no jobs. */
	assert_int_equal(store_mark_lost_nodes(r->store, LATER_NS + 1, LATER_NS + 2, NULL),
			 NODES);
	{
		const struct fit_node *nodes;
		size_t n;

		assert_int_equal(store_kept_nodes(r->store, "main", &nodes, &n, NULL), 0);
		assert_int_equal(n, NODES);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(nodes[i].open, 0);
	}
	/* Other clusters have nodes of their own. */
	{
		const struct fit_node *nodes;
		size_t n;

		assert_int_equal(store_kept_nodes(r->store, "other", &nodes, &n, NULL), 0);
		assert_int_equal(n, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)
		TEST(exchanges_together_leave_what_each_alone_does),
		TEST(jobs_that_run_on_past_midnight_have_each_day),
		TEST(a_change_for_others_has_what_they_have_read_again),
		TEST(an_overtaken_exchange_is_refused_and_leaves_nothing),
		TEST(kept_nodes_follow_every_change),
	};

	return cmocka_run_group_tests_name("exchanges", tests, NULL, NULL);
}
