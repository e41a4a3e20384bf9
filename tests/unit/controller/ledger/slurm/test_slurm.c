/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_slurm - numbers and rows of jobs that Slurm started, as agents report them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/usage/eff.h"
#include "tests/unit/rig/slurm_rig.h"

static void a_number_has_origin_generation_and_id(void **state)
{
	int64_t n = store_slurm_number(3, 5, 67043328);

	(void)state;
	assert_int_equal(n, (INT64_C(3) << 40) + (INT64_C(5) << 26) + 67043328);
	assert_int_equal(store_slurm_id(n), 67043328);
	assert_true(store_is_slurm(store_slurm_number(1, 0, 1)));
	assert_false(store_is_slurm(STORE_SLURM_FROM - 1));
	/* The largest of all is a number, and its generation is no other origin. */
	n = store_slurm_number((1 << 22) - 1, STORE_SLURM_GENERATIONS - 1, SYNC_SLURM_ID_MAX);
	assert_true(n > 0);
	assert_int_equal(n >> 40, (1 << 22) - 1);
	assert_int_equal(store_slurm_id(n), SYNC_SLURM_ID_MAX);
}

static void a_job_is_made_once_and_charged(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON);

	w.seq = 1;
	w.running_s = 100;
	for (int i = 0; i < 3; i++) {
		rig_send_said(r, &w);
		assert_int_equal(w.n_priced, i == 0);
		assert_int_equal(w.n_acks, 1);
		assert_int_equal(w.n_refusals, 0);
		assert_int_equal(w.job, store_slurm_number(1, 0, 7));
		assert_int_equal(rig_load_job(r, w.job).charge_requested_ms, 200000);
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 1);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 200000);
}

/* Time before the first report counts from the job's start, and no more than that. */
static void a_job_that_was_reported_late_is_charged_from_its_start(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON);

	w.seq = 1;
	w.running_s = 5000;
	rig_send_said(r, &w);
	assert_int_equal(rig_load_job(r, w.job).running_ns, 1000 * S_NS);
}

static void reeves_job_numbers_continue_without_slurms(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON);
	int64_t first = rig_job(r, NOON);

	rig_send_said(r, &w);
	assert_int_equal(rig_job(r, NOON + S_NS), first + 1);
}

static void an_id_that_comes_again_after_the_end_is_the_next_generation(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), again = rig_said_of(7, NOON + 700 * S_NS),
			still;

	w.seq = 1;
	w.running_s = 10;
	w.state = JOB_ENDED;
	rig_send_said(r, &w);
	still = w;
	rig_send_said(r, &still); /* its end, said again */
	assert_int_equal(still.job, w.job);
	/* No task of the new one has run: the row cannot be distinguished from the rest of the old one. */
	still = rig_said_of(7, 0);
	still.state = JOB_STARTING;
	rig_send_said(r, &still);
	assert_int_equal(still.job, w.job);
	again.seq = 1;
	rig_send_said(r, &again);
	assert_int_equal(again.job, store_slurm_number(1, 1, 7));
	assert_int_equal(rig_load_job(r, w.job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, again.job).state, JOB_RUNNING);
	/* Without a description it is the last generation. */
	again.is_not_told = true;
	rig_send_said(r, &again);
	assert_int_equal(again.job, store_slurm_number(1, 1, 7));
}

/* slurmctld died before it saved a start, and starts the attempt again at once. */
static void the_same_attempt_once_more_on_its_node_is_the_next_generation(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), other = rig_said_of(7, NOON + 30 * S_NS),
			again = rig_said_of(7, NOON + 11 * S_NS);

	w.seq = 1;
	w.running_s = 10;
	w.state = JOB_ENDED;
	rig_send_said(r, &w);
	again.seq = 2;
	again.told.started_ns = NOON + 10 * S_NS;
	again.running_s = 5;
	rig_send_said(r, &again); /* it did not begin after the end */
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	other.node = "e2"; /* which may be a node of the same run, with another clock */
	rig_send_said(r, &other);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 1);
	again.told.started_ns++;
	rig_send_said(r, &again);
	assert_int_equal(again.job, store_slurm_number(1, 1, 7));
	assert_int_equal(again.n_refusals, 0);
	assert_int_equal(rig_load_job(r, again.job).running_ns, 5 * S_NS);
	assert_int_equal(rig_load_job(r, w.job).running_ns, 10 * S_NS);
}

static void say_row(struct rig *r, int64_t job, int64_t start_s)
{
	assert_int_equal(
		db_run(r->store->db, NULL,
		       "INSERT INTO slurm_attempts VALUES(1, 7, ?2, ?1, 1, 2, ?2, 0, 0, 0, 0,"
		       " 1, 'e1', 'e1', 0, 0, 0, 0, 1, ?2, 0, 0)",
		       "ii", job, start_s),
		0);
}

/* Slurm's word on the second start came before the agent's on the first run, which was taken for it. */
static void the_next_run_takes_the_row_of_its_start_along(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), again = rig_said_of(7, NOON + 40 * S_NS);
	const int64_t start_s = NOON / S_NS;

	w.seq = again.seq = 1;
	w.running_s = 10;
	w.state = JOB_ENDED;
	rig_send_said(r, &w);
	say_row(r, w.job, start_s + 9); /* of the first run */
	say_row(r, w.job, start_s + 10);
	again.running_s = 5;
	rig_send_said(r, &again);
	assert_int_equal(again.job, store_slurm_number(1, 1, 7));
	assert_int_equal(rig_number(r, "SELECT start_s FROM slurm_attempts WHERE job = "
				       "(SELECT MIN(job) FROM jobs)"),
			 start_s + 9);
	assert_int_equal(rig_number(r, "SELECT start_s FROM slurm_attempts WHERE job = "
				       "(SELECT MAX(job) FROM jobs)"),
			 start_s + 10);
}

/* slurmctld died before it saved that it had queued the job again, and starts the first attempt once more, after the second one. */
static void an_earlier_attempt_once_more_is_the_next_generation(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), next = rig_said_of(7, NOON + 20 * S_NS),
			again = rig_said_of(7, NOON + 40 * S_NS);

	w.seq = next.seq = again.seq = 1;
	w.running_s = next.running_s = 10;
	w.state = next.state = JOB_ENDED;
	rig_send_said(r, &w);
	next.told.attempt = 2;
	rig_send_said(r, &next);
	assert_int_equal(next.job, w.job);
	again.running_s = 5;
	rig_send_said(r, &again);
	assert_int_equal(again.job, store_slurm_number(1, 1, 7));
	assert_int_equal(rig_load_job(r, again.job).running_ns, 5 * S_NS);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM attempts"), 3);
}

static void an_id_of_another_owner_is_another_job(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), other = rig_said_of(7, NOON);

	rig_send_said(r, &w);
	other.told.uid = 1002;
	rig_send_said(r, &other);
	assert_int_equal(other.job, store_slurm_number(1, 1, 7));
}

static void each_cluster_has_its_own_ids(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), other = rig_said_of(7, NOON);

	rig_send_said(r, &w);
	other.cluster = "west";
	other.node = "w1";
	rig_send_said(r, &other);
	assert_int_equal(other.job >> 40, 2);
	assert_int_equal(store_slurm_id(other.job), 7);
}

static void a_requeue_is_the_next_attempt_also_where_the_end_was_never_reported(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), again = rig_said_of(7, NOON + 100 * S_NS);

	w.seq = again.seq = 1;
	w.running_s = again.running_s = 50;
	rig_send_said(r, &w);
	again.told.attempt = 2;
	again.node = "e2";
	rig_send_said(r, &again);
	assert_int_equal(again.job, w.job);
	assert_int_equal(rig_load_job(r, w.job).state, JOB_RUNNING);
	assert_string_equal(rig_load_job(r, w.job).node, "e2");
	assert_int_equal(rig_number(r, "SELECT closed FROM attempts WHERE attempt = 1"), 2);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 200000);
	/* The first attempt's node is back with its end: it counts, and the job runs on. */
	w.seq = 2;
	w.running_s = 60;
	w.state = JOB_ENDED;
	rig_send_said(r, &w);
	assert_int_equal(w.n_refusals, 0);
	assert_int_equal(rig_load_job(r, w.job).state, JOB_RUNNING);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 220000);
}

static void a_second_node_that_an_old_agent_did_not_announce_counts_nothing(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), other;
	char note[STORE_SLURM_NOTED_MAX];

	w.seq = 1;
	w.running_s = 100;
	rig_send_said(r, &w);
	other = w;
	other.node = "e2";
	for (int i = 0; i < 2; i++) {
		rig_send_said(r, &other);
		assert_int_equal(other.n_acks, 1);
		assert_int_equal(other.n_refusals, 0);
		assert_int_equal(other.job, 0);
	}
	assert_int_equal(rig_number(r, "SELECT SUM(charge_requested_ms) FROM rollups"), 200000);
	assert_int_equal(store_slurm_noted(r->store, w.job, note, NULL), 1);
	assert_string_equal(note,
			    "it also runs on node e2: what it uses and holds is counted on "
			    "node e1 alone");
}

static struct rig_said part_of_two_nodes(const char *node, int64_t ncpus)
{
	struct rig_said w = rig_said_of(7, NOON);

	w.node = node;
	w.seq = 1;
	w.told.ncpus = ncpus;
	w.told.nodes = 2;
	w.told.job_ncpus = 6;
	w.told.mem_bytes = 1000;
	return w;
}

static void a_job_on_two_nodes_is_one_job_with_a_part_on_each(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2), b = part_of_two_nodes("e2", 4);

	a.running_s = 100;
	b.running_s = 90;
	for (int i = 0; i < 2; i++) {
		rig_send_said(r, &a);
		rig_send_said(r, &b);
		assert_int_equal(b.job, a.job);
		assert_int_equal(b.n_acks, 1);
		assert_int_equal(b.n_refusals, 0);
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM parts"), 2);
	assert_int_equal(rig_number(r, "SELECT ncpus FROM parts WHERE node = 'e2'"), 4);
	assert_int_equal(rig_number(r, "SELECT mem_bytes FROM jobs"), 2000);
	/* The time of the first node, the cores of both; what both used. */
	assert_int_equal(rig_load_job(r, a.job).charge_requested_ms, 600000);
	assert_int_equal(rig_number(r, "SELECT SUM(cpu_ms) FROM rollups"), 190000);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM events WHERE what = 'slurm'"), 0);
}

static void gpus_of_a_job_are_those_of_all_its_nodes(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2), b = part_of_two_nodes("e2", 4);

	a.told.ngpus = 1;
	b.told.ngpus = 4;
	a.told.job_ngpus = b.told.job_ngpus = 5;
	rig_send_said(r, &a);
	rig_send_said(r, &b);
	assert_int_equal(rig_number(r, "SELECT ngpus FROM jobs"), 5);
	assert_int_equal(rig_number(r, "SELECT ngpus FROM parts WHERE node = 'e2'"), 4);
}

static void gpus_are_as_many_on_each_node_where_the_whole_is_not_known(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2);

	a.told.ngpus = 4;
	rig_send_said(r, &a);
	assert_int_equal(rig_number(r, "SELECT ngpus FROM jobs"), 8);
}

static void a_part_that_ends_leaves_the_job_to_slurm(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2), b = part_of_two_nodes("e2", 4);

	rig_send_said(r, &a);
	rig_send_said(r, &b);
	b.seq = 2;
	b.running_s = 40;
	b.state = JOB_ENDED;
	rig_send_said(r, &b);
	assert_int_equal(b.n_acks, 1);
	assert_int_equal(rig_load_job(r, a.job).state, JOB_RUNNING);
	assert_int_equal(rig_number(r, "SELECT want FROM jobs"), DESIRED_RUN);
	a.seq = 2;
	a.running_s = 50;
	a.state = JOB_ENDED;
	rig_send_said(r, &a);
	assert_int_equal(rig_load_job(r, a.job).end, END_EXITED);
}

static int count_cancels(void *ctx, const struct store_desired *g, struct err *err)
{
	(void)err;
	*(int *)ctx += g->want == DESIRED_CANCEL;
	return 0;
}

/* Slurm's cancel names an id: when the agent runs scancel the job may run again. */
static void a_part_that_is_late_is_not_cancelled(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2), b = part_of_two_nodes("e2", 4);
	int n_cancels = 0;

	rig_send_said(r, &a);
	rig_send_said(r, &b);
	a.seq = 2;
	a.running_s = 50;
	a.state = JOB_ENDED;
	rig_send_said(r, &a);
	assert_int_equal(rig_load_job(r, a.job).state, JOB_ENDED);
	assert_int_equal(store_desired(r->store, "e2", count_cancels, &n_cancels, NULL), 0);
	assert_int_equal(n_cancels, 0);
	b.seq = 2;
	b.running_s = 50;
	b.state = JOB_ENDED;
	rig_send_said(r, &b);
	/* What it used still counts. */
	assert_int_equal(rig_number(r, "SELECT SUM(cpu_ms) FROM rollups"), 100000);
}

static void a_limit_on_one_node_ends_the_job_on_all(void **state)
{
	struct rig *r = *state;
	struct rig_said a = part_of_two_nodes("e1", 2), b = part_of_two_nodes("e2", 4);
	int n_cancels = 0;

	rig_send_said(r, &a);
	rig_send_said(r, &b);
	b.seq = 2;
	b.state = JOB_ENDED;
	b.end = END_LIMIT;
	rig_send_said(r, &b);
	assert_int_equal(store_desired(r->store, "e1", count_cancels, &n_cancels, NULL), 0);
	assert_int_equal(n_cancels, 1);
	a.seq = 2;
	a.state = JOB_ENDED;
	a.end = END_CANCELLED;
	rig_send_said(r, &a);
	assert_int_equal(rig_load_job(r, a.job).end, END_LIMIT);
}

/* Prologs run on all nodes of a job, tasks perhaps on one. */
static void a_node_without_a_task_does_not_take_the_job(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON), idle = rig_said_of(7, 0);

	idle.node = "e2";
	idle.state = JOB_STARTING;
	rig_send_said(r, &idle);
	assert_int_equal(idle.job + (int64_t)idle.n_refusals, 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
	rig_send_said(r, &w);
	assert_string_equal(rig_load_job(r, w.job).node, "e1");
	idle.state = JOB_ENDED;
	idle.seq = 1;
	rig_send_said(r, &idle);
	assert_int_equal(idle.n_acks, 1);
	assert_int_equal(rig_load_job(r, w.job).state, JOB_RUNNING);
}

static void a_job_that_ended_before_its_first_task_is_on_record(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, 0);

	w.state = JOB_ENDED;
	w.seq = 1;
	rig_send_said(r, &w);
	assert_int_equal(w.n_acks, 1);
	assert_int_equal(rig_load_job(r, w.job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, w.job).charge_requested_ms, 0);
}

static void silence_of_a_node_ends_no_job_of_slurm(void **state)
{
	struct rig *r = *state;
	struct store_lost_result lost = { 0 };
	struct rig_said w = rig_said_of(7, NOON);

	rig_send_said(r, &w);
	assert_int_equal(
		store_mark_lost_nodes(r->store, w.now_ns + S_NS, w.now_ns + S_NS, NULL), 1);
	assert_int_equal(store_end_lost_jobs(r->store, w.now_ns + S_NS, &lost, NULL), 0);
	assert_int_equal(lost.n_lost, 0);
	assert_int_equal(rig_load_job(r, w.job).state, JOB_RUNNING);
}

static void a_job_that_the_node_did_not_describe_is_neither_made_nor_refused(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON);

	w.is_not_told = true;
	w.seq = 1;
	rig_send_said(r, &w);
	assert_int_equal(w.job + (int64_t)(w.n_acks + w.n_refusals), 0);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs"), 0);
}

static void invalid_names_are_replaced(void **state)
{
	struct rig *r = *state;
	struct rig_said w = rig_said_of(7, NOON);
	char note[STORE_SLURM_NOTED_MAX];

	strcpy(w.told.user, "no name");
	strcpy(w.told.account, "x");
	*w.told.queue = '\0';
	rig_send_said(r, &w);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM jobs WHERE user = 'uid-1001' AND"
				       " account = 'x' AND queue = 'unknown'"),
			 1);
	assert_int_equal(store_slurm_noted(r->store, w.job, note, NULL), 1);
	assert_string_equal(note, "its account is unknown");
}

/* Slurm's generations have no room above 26 bits, and ids of PBS are larger. */
static void
a_job_of_pbs_keeps_its_whole_id_and_a_second_one_has_an_origin_of_its_own(void **state)
{
	const int64_t id = (INT64_C(1) << 39) + (9 << 25) + 7; /* 7[9] */
	struct rig *r = *state;
	struct rig_said w = rig_said_of(id, NOON), other = rig_said_of(id, NOON);
	int64_t job;

	w.is_pbs = other.is_pbs = true;
	rig_send_said(r, &w);
	assert_int_equal(w.job, (INT64_C(1) << 40) + id);
	assert_int_equal(store_pbs_id(w.job), id);
	rig_send_said(r, &w);
	assert_int_equal(w.n_priced, 0);
	other.told.uid = 1002;
	rig_send_said(r, &other);
	assert_int_equal(other.job, (INT64_C(2) << 40) + id);
	assert_int_equal(store_pbs_known(r->store, "east", id, &job, NULL), 1);
	assert_int_equal(job, other.job);
	assert_int_equal(store_pbs_known(r->store, "east", 7, &job, NULL), 0);
	/* Without a description it is the last one. */
	other.is_not_told = true;
	rig_send_said(r, &other);
	assert_int_equal(other.job, (INT64_C(2) << 40) + id);
}

/* The advice of the one job of `r` that `reeve eff` has. */
static void expect_advice(struct rig *r, int64_t job, const char *words)
{
	const struct store_eff_ask ask = { .filter = { .jobs = &job, .n_jobs = 1 },
					   .by = STORE_EFF_BY_JOB,
					   .limit = 1 };
	_cleanup_(store_eff_rows_done) struct store_eff_rows found = { 0 };
	_cleanup_json_ json_t *doc = NULL;
	const json_t *row;

	assert_int_equal(store_eff_sums(r->store, &ask, &found, NULL), 0);
	assert_int_equal(store_eff_encode(&found, &doc, NULL), 0);
	row = json_array_get(json_object_get(doc, "rows"), 0);
	assert_string_equal(json_string_value(json_object_get(row, "advice")), words);
}

static void advice_has_the_options_of_the_engine_that_started_the_job(void **state)
{
	struct rig *r = *state;
	struct rig_said slurm = rig_said_of(70, NOON), pbs = rig_said_of(71, NOON),
			again = rig_said_of(71, NOON);

	pbs.is_pbs = again.is_pbs = true;
	pbs.cluster = again.cluster = "west";
	again.told.uid = 1002; /* another job of this id: of the origin "west #2" */
	slurm.seq = pbs.seq = again.seq = 1;
	slurm.running_s = pbs.running_s = again.running_s = 60;
	slurm.state = pbs.state = again.state = JOB_ENDED;
	slurm.end = pbs.end = again.end = END_LIMIT;
	rig_send_said(r, &slurm);
	rig_send_said(r, &pbs);
	rig_send_said(r, &again);
	assert_int_not_equal(pbs.job, again.job);
	expect_advice(r, slurm.job, "next time request more vmem: at least --vmem=2560M");
	expect_advice(r, pbs.job, "next time request more vmem: at least -l vmem=2560mb");
	expect_advice(r, again.job, "next time request more vmem: at least -l vmem=2560mb");
}

#define RIG(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_number_has_origin_generation_and_id),
		RIG(a_job_is_made_once_and_charged),
		RIG(a_job_that_was_reported_late_is_charged_from_its_start),
		RIG(reeves_job_numbers_continue_without_slurms),
		RIG(an_id_that_comes_again_after_the_end_is_the_next_generation),
		RIG(the_same_attempt_once_more_on_its_node_is_the_next_generation),
		RIG(the_next_run_takes_the_row_of_its_start_along),
		RIG(an_earlier_attempt_once_more_is_the_next_generation),
		RIG(an_id_of_another_owner_is_another_job),
		RIG(each_cluster_has_its_own_ids),
		RIG(a_requeue_is_the_next_attempt_also_where_the_end_was_never_reported),
		RIG(a_second_node_that_an_old_agent_did_not_announce_counts_nothing),
		RIG(a_job_on_two_nodes_is_one_job_with_a_part_on_each),
		RIG(gpus_of_a_job_are_those_of_all_its_nodes),
		RIG(gpus_are_as_many_on_each_node_where_the_whole_is_not_known),
		RIG(a_part_that_ends_leaves_the_job_to_slurm),
		RIG(a_part_that_is_late_is_not_cancelled),
		RIG(a_limit_on_one_node_ends_the_job_on_all),
		RIG(a_node_without_a_task_does_not_take_the_job),
		RIG(a_job_that_ended_before_its_first_task_is_on_record),
		RIG(silence_of_a_node_ends_no_job_of_slurm),
		RIG(a_job_that_the_node_did_not_describe_is_neither_made_nor_refused),
		RIG(invalid_names_are_replaced),
		RIG(a_job_of_pbs_keeps_its_whole_id_and_a_second_one_has_an_origin_of_its_own),
		RIG(advice_has_the_options_of_the_engine_that_started_the_job),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
