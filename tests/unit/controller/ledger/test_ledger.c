/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_ledger - what a ledger must never do, whatever nodes say and whenever the disk fails. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/changes.h"
#include "tests/unit/rig/fail_vfs.h"
#include "tests/unit/rig/ledger_rig.h"

#define SUM "SELECT SUM(charge_requested_ms) FROM rollups"

static void slices_sum_to_the_charge_in_job_and_rollups(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct rig_job j;

	for (int64_t s = 1; s <= 100; s++)
		rig_send_report(r, rig_report(job, s, JOB_RUNNING, s), NOON + s * S_NS);
	rig_send_report(r, rig_report(job, 101, JOB_ENDED, 101), NOON + 101 * S_NS);
	j = rig_load_job(r, job);
	assert_int_equal(j.state, JOB_ENDED);
	assert_int_equal(j.end, END_EXITED);
	assert_int_equal(j.charge_requested_ms, 252500);
	assert_int_equal(j.charge_used_ms, 101000);
	assert_int_equal(rig_number(r, SUM), 252500);
	assert_int_equal(rig_number(r, "SELECT SUM(charge_used_ms) FROM rollups"), 101000);
	assert_int_equal(rig_number(r, "SELECT SUM(core_ms) FROM rollups"), 202000);
	assert_int_equal(rig_number(r, "SELECT SUM(cpu_ms) FROM rollups"), 101000);
	assert_int_equal(
		rig_number(r, "SELECT SUM(jobs_started * 10 + jobs_ended) FROM rollups"), 11);
}

static void the_only_slice_of_the_shortest_job_is_charged(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_ENDED, 0);

	rep.running_ns = 3000000; /* 3 ms */
	rig_send_report(r, rep, NOON + S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 8); /* 7.5, half up */
	assert_int_equal(rig_number(r, SUM), 8);
}

/* Every order of three reports of one attempt, each said twice: the same end. */
static void repeats_gaps_and_late_reports_are_harmless(void **state)
{
	struct rig *r = *state;
	static const int orders[6][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
					  { 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };

	for (int o = 0; o < 6; o++) {
		int64_t job = rig_job(r, NOON);
		const struct report all[] = { rig_report(job, 1, JOB_RUNNING, 10),
					      rig_report(job, 2, JOB_RUNNING, 20),
					      rig_report(job, 3, JOB_ENDED, 25) };
		struct rig_job j;

		for (int i = 0; i < 6; i++)
			rig_send_report(r, all[orders[o][i / 2]], NOON + 30 * S_NS);
		j = rig_load_job(r, job);
		assert_int_equal(j.state, JOB_ENDED);
		assert_int_equal(j.end, END_EXITED);
		assert_int_equal(j.charge_requested_ms, 62500);
		assert_int_equal(rig_number(r, SUM), 62500 * (o + 1));
	}
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 6);
}

static void counters_that_were_reset_lower_no_charge(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 50), NOON + 60 * S_NS);
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 5), NOON + 70 * S_NS);
	assert_int_equal(rig_load_job(r, job).running_ns, 50 * S_NS);
	assert_int_equal(rig_number(r, SUM), 125000);
}

static void suspended_time_is_recorded_and_free(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_SUSPENDED, 20);

	rig_send_report(r, rep, NOON + 20 * S_NS);
	rep.seq = 2;
	rep.suspended_ns = 120 * S_NS;
	rep.at_ns += 120 * S_NS;
	rig_send_report(r, rep, NOON + 140 * S_NS);
	assert_int_equal(rig_load_job(r, job).charge_requested_ms, 50000);
	assert_int_equal(rig_load_job(r, job).suspended_ns, 120 * S_NS);
	assert_int_equal(rig_number(r, SUM), 50000);
	assert_int_equal(rig_number(r, "SELECT SUM(suspended_ms) FROM rollups"), 120000);
}

static void usage_is_split_at_midnight_without_loss(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), two_days = 2 * 86400;
	int64_t day = NOON / DAY_NS;
	char sql[128];

	/* One report for 48 hours from noon: 12, 24 and 12 hours. */
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, two_days), NOON + two_days * S_NS);
	assert_int_equal(rig_number(r, SUM), 2500 * two_days);
	for (int64_t i = 0; i < 3; i++) {
		snprintf(sql, sizeof(sql), SUM " WHERE day = %lld", (long long)(day + i));
		assert_int_equal(rig_number(r, sql), 2500 * (i == 1 ? 86400 : 43200));
	}
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups"), 3);
}

static void a_wrong_clock_of_a_node_moves_nothing_to_other_days(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report rep = rig_report(job, 1, JOB_RUNNING, 10);

	rep.started_ns = 5;
	rep.at_ns = 9000 * DAY_NS;
	rig_send_report(r, rep, NOON + 10 * S_NS);
	rep = rig_report(job, 2, JOB_ENDED, 20);
	rep.at_ns = rep.ended_ns = 40000 * DAY_NS;
	rig_send_report(r, rep, NOON + 20 * S_NS);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups"), 1);
	assert_int_equal(rig_number(r, "SELECT MIN(day) FROM rollups"), NOON / DAY_NS);
	assert_int_equal(rig_number(r, SUM), 50000);
}

static void reports_of_foreign_jobs_are_refused_and_change_nothing(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct report reps[] = { rig_report(job + 7, 1, JOB_ENDED, 10),
				 rig_report(job, 1, JOB_ENDED, 10),
				 rig_report(job, 1, JOB_QUEUED, 10) };
	struct rig_sync say = { .reports = reps, .n_reports = 3, .now_ns = NOON };
	struct sync_result result;

	reps[1].attempt = 2;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_acks, 0);
	assert_int_equal(result.n_refusals, 3);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_STARTING);
	assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM rollups"), 0);
}

static void figures_beyond_charging_are_refused_alone(void **state)
{
	struct rig *r = *state;
	int64_t a = rig_job(r, NOON), b = rig_job(r, NOON);
	struct report reps[] = { rig_report(a, 1, JOB_RUNNING, 0),
				 rig_report(b, 1, JOB_RUNNING, 4) };
	struct rig_sync say = { .reports = reps,
				.n_reports = 2,
				.now_ns = NOON + 3650 * DAY_NS };
	struct sync_result result;

	usage_set(&reps[0].usage, &reps[0].usage.rss_peak_bytes, INT64_MAX);
	reps[0].running_ns = 3650 * DAY_NS;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_refusals, 1);
	assert_int_equal(result.n_acks, 1);
	sync_result_done(&result);
	assert_int_equal(rig_number(r, SUM), 10000);
}

static void a_reboot_ends_the_jobs_of_the_node_and_late_reports_still_count(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct rig_sync say = { .boot = "b2", .now_ns = NOON + 500 * S_NS };
	struct report rep = rig_report(job, 2, JOB_ENDED, 60);
	struct sync_result result;

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 40), NOON + 40 * S_NS);
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_true(result.has_freed);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
	assert_int_equal(rig_number(r, SUM), 100000);
	say.reports = &rep;
	say.n_reports = 1;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	assert_int_equal(result.n_acks, 1);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).end, END_EXITED);
	assert_int_equal(rig_number(r, SUM), 150000);
	assert_int_equal(rig_number(r, "SELECT SUM(jobs_ended) FROM rollups"), 1);
}

static int count_given(void *ctx, const struct store_desired *g, struct err *err)
{
	(void)g;
	(void)err;
	++*(int *)ctx;
	return 0;
}

static void
a_job_that_its_node_does_not_list_is_neither_started_again_nor_lost_at_once(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct rig_sync say = { .now_ns = NOON + 50 * S_NS };
	struct sync_result result;
	int n = 0;

	assert_int_equal(store_desired(r->store, "n1", count_given, &n, NULL), 0);
	assert_int_equal(n, 1);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 40), NOON + 40 * S_NS);
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
	n = 0;
	assert_int_equal(store_desired(r->store, "n1", count_given, &n, NULL), 0);
	assert_int_equal(n, 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	/* The overtaken list was followed by one that has it. */
	rig_send_report(r, rig_report(job, 2, JOB_RUNNING, 52), NOON + 52 * S_NS);
	say.now_ns = NOON + 60 * S_NS;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_RUNNING);
	say.now_ns = NOON + 71 * S_NS;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).end, END_NODE_LOST);
}

static void a_job_that_its_node_never_listed_is_dispatched_again_after_a_reboot(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct rig_sync say = { .boot = "b2", .now_ns = NOON + 500 * S_NS };
	struct sync_result result;
	int n = 0;

	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_STARTING);
	assert_int_equal(store_desired(r->store, "n1", count_given, &n, NULL), 0);
	assert_int_equal(n, 1);
}

static void count_changed(void *ctx, const struct store_changes *c)
{
	*(size_t *)ctx += c->n;
}

/* The n-th report, ten seconds after the one before; of `ran_s` running since the start. */
static void report_again(struct rig *r, int64_t job, int64_t n, int64_t ran_s)
{
	struct report rep = rig_report(job, n, JOB_RUNNING, ran_s);

	rep.at_ns = NOON + n * 10 * S_NS;
	rep.suspended_ns = 10 * n * S_NS - rep.running_ns;
	rig_send_report(r, rep, rep.at_ns);
}

static void a_job_that_runs_on_is_announced_once_in_a_while(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON), n = 0;
	size_t n_changed = 0;

	assert_int_equal(store_listen(r->store, count_changed, &n_changed), 0);
	report_again(r, job, ++n, 10);
	assert_int_equal(n_changed, 1);
	while (n < 40)
		report_again(r, job, n + 1, (n + 1) * 10), n++;
	assert_int_equal(n_changed, 3); /* twice more in 39 reports */
	report_again(r, job, ++n, 405); /* suspended for five seconds */
	assert_int_equal(n_changed, 4);
	report_again(r, job, ++n, 415);
	assert_int_equal(n_changed, 4);
	assert_int_equal(rig_load_job(r, job).running_ns, 415 * S_NS);
}

static void jobs_that_began_together_are_not_announced_together(void **state)
{
	enum { JOBS = 16 };
	struct rig *r = *state;
	struct report reports[JOBS];
	struct sync_job jobs[JOBS];
	struct sync_result result;
	size_t n_changed = 0;

	for (int i = 0; i < JOBS; i++)
		jobs[i] = (struct sync_job){ rig_job(r, NOON), 1, JOB_RUNNING };
	assert_int_equal(store_listen(r->store, count_changed, &n_changed), 0);
	for (int64_t n = 1; n <= 2 * JOBS; n++) {
		const struct rig_sync say = { .reports = reports,
					      .n_reports = JOBS,
					      .jobs = jobs,
					      .n_jobs = JOBS,
					      .now_ns = NOON + n * 10 * S_NS };

		for (int i = 0; i < JOBS; i++)
			reports[i] = rig_report(jobs[i].job, n, JOB_RUNNING, n * 10);
		n_changed = 0;
		assert_int_equal(rig_send_sync(r, &say, &result), 0);
		sync_result_done(&result);
		assert_int_equal(n_changed, n == 1 ? JOBS : 1);
	}
}

static void two_machines_cannot_be_one_node_at_once(void **state)
{
	struct rig *r = *state;
	struct rig_sync say = { .address = "10.0.0.2", .now_ns = NOON + 10 * S_NS };
	struct sync_result result;

	rig_job(r, NOON);
	assert_int_equal(rig_send_sync(r, &say, &result), -EBUSY);
	say.now_ns = NOON + 121 * S_NS;
	assert_int_equal(rig_send_sync(r, &say, &result), 0);
	sync_result_done(&result);
}

static void suspension_frees_cores_alone(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct store_desired_change change = { .job = job,
					       .want = DESIRED_SUSPEND,
					       .now_ns = NOON };
	_cleanup_free_ struct fit_node *before = NULL, *after = NULL;
	char node[REQUEST_NAME_MAX];
	size_t n;

	assert_int_equal(store_nodes_in_use(r->store, "main", &before, &n, NULL), 0);
	assert_int_equal(before[0].in_use.ncpus, 2);
	assert_int_equal(store_set_desired(r->store, &change, node, NULL), 0);
	assert_string_equal(node, "n1");
	rig_send_report(r, rig_report(job, 1, JOB_SUSPENDED, 4), NOON + 4 * S_NS);
	assert_int_equal(store_nodes_in_use(r->store, "main", &after, &n, NULL), 0);
	assert_int_equal(after[0].in_use.ncpus, 0);
	assert_int_equal(after[0].in_use.mem_bytes, 10000000000);
	assert_int_equal(after[0].in_use.jobfs_bytes, 1000);
}

static void a_desired_state_does_not_change_an_ended_job(void **state)
{
	struct rig *r = *state;
	int64_t job = rig_job(r, NOON);
	struct store_desired_change change = { .job = job,
					       .want = DESIRED_CANCEL,
					       .reason = "cancelled by alice",
					       .now_ns = NOON };
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(r->store, &change, node, NULL), 0);
	change.want = DESIRED_RUN;
	assert_int_equal(store_set_desired(r->store, &change, node, NULL), STORE_TOO_LATE);
	rig_send_report(r, rig_report(job, 1, JOB_ENDED, 4), NOON + 4 * S_NS);
	assert_int_equal(store_set_desired(r->store, &change, node, NULL), STORE_TOO_LATE);
	change.job = 999;
	assert_int_equal(store_set_desired(r->store, &change, node, NULL), -ENOENT);
}

/* The exchange that the disk disturbs: a running report, a last report, output, a new job. */
static int exchange_with_fault(struct rig *r, int64_t a, int64_t b)
{
	static char text[5000];
	struct report reps[] = { rig_report(a, 9, JOB_RUNNING, 90),
				 rig_report(b, 4, JOB_ENDED, 30) };
	struct sync_job holds[] = { { a, 1, JOB_RUNNING } };
	struct sync_output out = { .job = a, .attempt = 1, .size = sizeof(text), .data = text };
	struct rig_sync say = { .reports = reps,
				.n_reports = 2,
				.jobs = holds,
				.n_jobs = 1,
				.outputs = &out,
				.n_outputs = 1,
				.now_ns = NOON + 100 * S_NS };
	struct sync_result result;
	int rc = rig_send_sync(r, &say, &result);

	if (rc < 0)
		return rc;
	assert_int_equal(result.n_acks, 2);
	assert_int_equal(result.n_output_acks, 1);
	assert_int_equal(result.output_acks[0].offset, sizeof(text));
	sync_result_done(&result);
	return 0;
}

/* For every n: the n-th change on disk fails and all after it. What was not acknowledged is not
 * there, what was acknowledged is there after the worst (reopened from disk), and the node's
 * repeat brings the right sum. */
static void no_failure_of_the_disk_leaves_half_an_exchange(void **state)
{
	int failures = 0;

	(void)state;
	fail_vfs_install();
	for (int n = 1;; n++) {
		void *own = NULL;
		struct rig *r;
		int64_t a, b, before;
		int rc;

		assert_int_equal(rig_open(&own), 0);
		r = own;
		a = rig_job(r, NOON);
		b = rig_job(r, NOON);
		rig_send_report(r, rig_report(a, 1, JOB_RUNNING, 10), NOON + 10 * S_NS);
		before = rig_number(r, SUM);
		fail_vfs_at(n);
		rc = exchange_with_fault(r, a, b);
		if (!fail_vfs_off()) {
			assert_int_equal(rc, 0);
			rig_close(&own);
			break;
		}
		failures += rc < 0;
		rig_reopen(r);
		if (rc < 0) {
			assert_int_equal(rig_number(r, SUM), before);
			assert_int_equal(rig_load_job(r, b).state, JOB_STARTING);
			assert_int_equal(rig_number(r, "SELECT COUNT(*) FROM chunks"), 0);
		}
		assert_int_equal(exchange_with_fault(r, a, b), 0);
		assert_int_equal(exchange_with_fault(r, a, b), 0);
		assert_int_equal(rig_number(r, SUM), 225000 + 75000);
		assert_int_equal(rig_load_job(r, a).charge_requested_ms, 225000);
		assert_int_equal(rig_load_job(r, b).state, JOB_ENDED);
		assert_int_equal(rig_number(r, "SELECT SUM(size) FROM chunks"), 5000);
		rig_close(&own);
	}
	assert_true(failures >= 3);
}

int main(void)
{
#define RIG(test) cmocka_unit_test_setup_teardown(test, rig_open, rig_close)
	const struct CMUnitTest tests[] = {
		RIG(slices_sum_to_the_charge_in_job_and_rollups),
		RIG(the_only_slice_of_the_shortest_job_is_charged),
		RIG(repeats_gaps_and_late_reports_are_harmless),
		RIG(counters_that_were_reset_lower_no_charge),
		RIG(suspended_time_is_recorded_and_free),
		RIG(usage_is_split_at_midnight_without_loss),
		RIG(a_wrong_clock_of_a_node_moves_nothing_to_other_days),
		RIG(reports_of_foreign_jobs_are_refused_and_change_nothing),
		RIG(figures_beyond_charging_are_refused_alone),
		RIG(a_reboot_ends_the_jobs_of_the_node_and_late_reports_still_count),
		RIG(a_job_that_its_node_does_not_list_is_neither_started_again_nor_lost_at_once),
		RIG(a_job_that_its_node_never_listed_is_dispatched_again_after_a_reboot),
		RIG(a_job_that_runs_on_is_announced_once_in_a_while),
		RIG(jobs_that_began_together_are_not_announced_together),
		RIG(two_machines_cannot_be_one_node_at_once),
		RIG(suspension_frees_cores_alone),
		RIG(a_desired_state_does_not_change_an_ended_job),
		cmocka_unit_test(no_failure_of_the_disk_leaves_half_an_exchange),
	};

	/* The last one is of SQLite: its disk fails. */
	return _cmocka_run_group_tests("tests", tests, ARRAY_LEN(tests) - !rig_is_sqlite(),
				       NULL, NULL);
}
