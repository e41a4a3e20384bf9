/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_former - an attempt that begins once more: the report of its run before is sent first, and neither takes the other's place. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "agent/report/former.h"
#include "agent/report/spool.h"
#include "agent/report/store.h"
#include "common/cleanup.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "tests/unit/rig/db_fault.h"

static char path[] = "/tmp/reeve-test-former-XXXXXX";
static struct db *db;
static struct spool *spool;

static int reopen_spool(void)
{
	spool = spool ? spool_close(spool) : NULL;
	db = db ? db_close(db) : NULL;
	if (store_open(path, &db, NULL) != 0)
		return -1;
	return spool_open(db, 1 << 20, &spool, NULL);
}

static int remove_files(void)
{
	static const char *const ends[] = { "", "-wal", "-shm" };
	char file[128];

	for (size_t i = 0; i < ARRAY_LEN(ends); i++) {
		snprintf(file, sizeof(file), "%s%s", path, ends[i]);
		if (unlink(file) < 0 && errno != ENOENT)
			return -1;
	}
	return 0;
}

static int set_up(void **unused)
{
	(void)unused;
	db_fault_left = 0;
	return remove_files() < 0 ? -1 : reopen_spool();
}

static int tear_down(void **unused)
{
	(void)unused;
	db_fault_left = 0;
	spool = spool_close(spool);
	db = db_close(db);
	return remove_files();
}

/* Its sequence number. `ms`: its time, and for how long the job has run. */
static int64_t put_report(int64_t job, int64_t ms, enum job_state state)
{
	struct report r = { .job = job,
			    .attempt = 1,
			    .at_ns = ms * 1000000,
			    .state = state,
			    .running_ns = ms };

	r.end.kind = state == JOB_ENDED ? END_EXITED : END_NONE;
	assert_int_equal(spool_put(spool, &r, NULL), 0);
	return r.seq;
}

/* What is to be sent now, as "JOB:SEQ ..." */
static const char *list_sent(int max)
{
	static char text[256];
	_cleanup_json_ json_t *out = json_array();
	int count = spool_fill(spool, max, out, NULL);
	size_t n = 0;

	*text = '\0';
	assert_int_equal(count, json_array_size(out));
	for (size_t i = 0; i < json_array_size(out); i++) {
		const json_t *r = json_array_get(out, i);

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%d:%d", i ? " " : "",
				      (int)json_integer_value(json_object_get(r, "job")),
				      (int)json_integer_value(json_object_get(r, "seq")));
	}
	return text;
}

static struct spool_status get_status(void)
{
	struct spool_status s;

	assert_int_equal(spool_get_status(spool, &s, NULL), 0);
	return s;
}

/* The run that began at `ms`, of alice. */
static int try_to_set_aside(int64_t job, int64_t ms)
{
	const struct sync_slurm_job told = { .job = job,
					     .attempt = 1,
					     .uid = 1001,
					     .user = "alice",
					     .ncpus = 2,
					     .nodes = 1,
					     .started_ns = ms * 1000000 };

	return spool_set_aside(spool, &told, NULL);
}

static int64_t set_aside(int64_t ms)
{
	int64_t seq = put_report(5, ms, JOB_ENDED);

	assert_int_equal(try_to_set_aside(5, ms - 10), 0);
	return seq;
}

static void the_run_before_is_sent_first_also_by_the_next_agent(void **unused)
{
	(void)unused;
	assert_int_equal(set_aside(100), 100);
	assert_int_equal(put_report(5, 200, JOB_RUNNING), 200);
	assert_int_equal(put_report(6, 210, JOB_RUNNING), 210);
	for (int again = 0; again < 2; again++) {
		assert_string_equal(list_sent(500), "5:100 6:210");
		assert_int_equal(get_status().reports, 3);
		assert_int_equal(get_status().final, 1);
		assert_int_equal(get_status().oldest_ns, 100 * 1000000);
		assert_int_equal(reopen_spool(), 0);
	}
	assert_int_equal(spool_ack(spool, 5, 1, 99, NULL), 0);
	assert_string_equal(list_sent(500), "5:100 6:210");
	assert_int_equal(spool_ack(spool, 5, 1, 100, NULL), 0);
	assert_string_equal(list_sent(500), "5:200 6:210");
	assert_int_equal(get_status().reports, 2);
}

/* So that a restored ledger does not take what is held back for lost. */
static void not_all_reports_are_in_an_exchange_that_holds_one_back(void **unused)
{
	char ledger[SYNC_LEDGER_MAX];
	int64_t restored_ns;

	(void)unused;
	assert_int_equal(spool_set_ledger(spool, "one", 7, NULL), 0);
	put_report(5, 100, JOB_RUNNING);
	spool_name_ledger(spool, 500, ledger, &restored_ns);
	assert_int_equal(restored_ns, 7);
	set_aside(200);
	put_report(5, 300, JOB_RUNNING);
	spool_name_ledger(spool, 500, ledger, &restored_ns);
	assert_string_equal(ledger, "one");
	assert_int_equal(restored_ns, 0);
	assert_int_equal(spool_ack(spool, 5, 1, 200, NULL), 0);
	spool_name_ledger(spool, 500, ledger, &restored_ns);
	assert_int_equal(restored_ns, 7);
}

/* Its acknowledgement does not settle the job of now. */
static void each_end_is_acknowledged_by_itself(void **unused)
{
	int64_t bytes;

	(void)unused;
	set_aside(100);
	bytes = get_status().bytes;
	assert_true(bytes > 0);
	put_report(5, 200, JOB_ENDED);
	assert_true(get_status().bytes >= 2 * bytes);
	assert_int_equal(spool_ack(spool, 5, 1, 100, NULL), 0);
	assert_string_equal(list_sent(500), "5:200");
	assert_int_equal(spool_ack(spool, 5, 1, 200, NULL), SPOOL_FINAL);
	assert_string_equal(list_sent(500), "");
	assert_int_equal(get_status().bytes, 0);
}

static void of_three_runs_one_after_the_other_is_sent(void **unused)
{
	(void)unused;
	set_aside(100);
	set_aside(200);
	put_report(5, 300, JOB_ENDED);
	assert_int_equal(get_status().final, 3);
	assert_string_equal(list_sent(500), "5:100");
	assert_int_equal(spool_ack(spool, 5, 1, 100, NULL), 0);
	assert_string_equal(list_sent(500), "5:200");
	assert_int_equal(spool_ack(spool, 5, 1, 200, NULL), 0);
	assert_string_equal(list_sent(500), "5:300");
	assert_int_equal(spool_ack(spool, 5, 1, 300, NULL), SPOOL_FINAL);
}

/* Numbers follow the clock. */
static void after_the_clock_was_set_back_the_order_is_the_same(void **unused)
{
	(void)unused;
	set_aside(500);
	set_aside(200);
	put_report(5, 100, JOB_RUNNING);
	assert_string_equal(list_sent(500), "5:500");
	assert_int_equal(spool_ack(spool, 5, 1, 500, NULL), 0);
	assert_string_equal(list_sent(500), "5:200");
	assert_int_equal(spool_ack(spool, 5, 1, 200, NULL), 0);
	assert_string_equal(list_sent(500), "5:100");
}

static void what_the_store_refuses_waits_in_memory_as_well(void **unused)
{
	struct report r = { .job = 5, .attempt = 1, .at_ns = 200000000, .state = JOB_RUNNING };

	(void)unused;
	set_aside(100);
	assert_int_equal(spool_put_unsaved(spool, &r, NULL), 0);
	assert_string_equal(list_sent(500), "5:100");
	assert_int_equal(spool_ack(spool, 5, 1, 100, NULL), 0);
	assert_string_equal(list_sent(500), "5:200");
}

static void many_runs_of_before_leave_room_for_others(void **unused)
{
	(void)unused;
	for (int job = 10; job < 20; job++) {
		put_report(job, 100, JOB_ENDED);
		assert_int_equal(try_to_set_aside(job, 90), 0);
	}
	put_report(20, 210, JOB_RUNNING);
	assert_string_equal(list_sent(2), "10:100 20:210");
	assert_int_equal(spool_ack(spool, 10, 1, 100, NULL), 0);
	assert_string_equal(list_sent(2), "11:100 20:210");
}

static void an_attempt_whose_end_is_not_there_is_not_set_aside(void **unused)
{
	struct report r = { .job = 6, .attempt = 1, .at_ns = 200000000, .state = JOB_ENDED };

	(void)unused;
	assert_int_equal(try_to_set_aside(5, 90), -ENOENT);
	put_report(5, 100, JOB_RUNNING);
	assert_int_equal(try_to_set_aside(5, 90), -ENOENT);
	put_report(6, 100, JOB_RUNNING);
	assert_int_equal(spool_put_unsaved(spool, &r, NULL), 0);
	assert_int_equal(try_to_set_aside(6, 90), -ENOENT);
	assert_string_equal(list_sent(500), "6:200 5:100");
}

static void while_the_store_fails_nothing_changes(void **unused)
{
	int failures = 0;

	(void)unused;
	put_report(5, 100, JOB_ENDED);
	for (int nth = 1;; nth++) {
		int r;

		db_fault_left = nth;
		r = try_to_set_aside(5, 90);
		db_fault_left = 0;
		if (r == 0)
			break;
		failures++;
		assert_string_equal(list_sent(500), "5:100");
		assert_int_equal(get_status().reports, 1);
	}
	assert_true(failures >= 2);
	put_report(5, 200, JOB_RUNNING);
	assert_string_equal(list_sent(500), "5:100");
}

/* A ledger that takes neither run. */
static void a_refusal_forgets_both(void **unused)
{
	(void)unused;
	set_aside(100);
	put_report(5, 200, JOB_RUNNING);
	assert_int_equal(spool_forget(spool, 5, 1, NULL), 0);
	assert_string_equal(list_sent(500), "");
	assert_int_equal(get_status().reports, 0);
	assert_int_equal(get_status().bytes, 0);
}

/* The controller tells the runs apart by their starts. A job that did not begin once more after all is not in the lists. */
static void an_exchange_describes_the_run_before_alone(void **unused)
{
	struct former_lists lists = { .jobs = calloc(2, sizeof(*lists.jobs)),
				      .told = calloc(2, sizeof(*lists.told)),
				      .n_jobs = 2,
				      .n_told = 2 };

	(void)unused;
	lists.jobs[0] = (struct sync_job){ 4, 1, JOB_RUNNING };
	lists.jobs[1] = (struct sync_job){ 5, 1, JOB_RUNNING };
	lists.told[0] = (struct sync_slurm_job){ .job = 4, .attempt = 1, .started_ns = 40 };
	lists.told[1] = (struct sync_slurm_job){ .job = 5, .attempt = 1, .started_ns = 50 };
	assert_int_equal(spool_describe(spool, &lists), 0);
	assert_int_equal(lists.jobs[1].state, JOB_RUNNING);
	set_aside(100);
	set_aside(200);
	put_report(6, 100, JOB_ENDED);
	assert_int_equal(try_to_set_aside(6, 60), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(spool_describe(spool, &lists), 0);
		assert_int_equal(lists.n_jobs, 3);
		assert_int_equal(lists.n_told, 3);
		assert_int_equal(reopen_spool(), 0);
	}
	assert_int_equal(lists.jobs[0].state, JOB_RUNNING);
	assert_int_equal(lists.jobs[1].state, JOB_ENDED);
	assert_int_equal(lists.jobs[2].state, JOB_ENDED);
	assert_int_equal(lists.jobs[2].job, 6);
	assert_int_equal(lists.told[0].started_ns, 40);
	assert_int_equal(lists.told[1].started_ns, 90 * 1000000);
	assert_int_equal(lists.told[2].started_ns, 60 * 1000000);
	assert_string_equal(lists.told[2].user, "alice");
	assert_int_equal(spool_ack(spool, 5, 1, 100, NULL), 0);
	assert_int_equal(spool_describe(spool, &lists), 0);
	assert_int_equal(lists.told[1].started_ns, 190 * 1000000);
	free(lists.jobs);
	free(lists.told);
}

static int make_file(void **unused)
{
	int fd = db_fault_install() < 0 ? -1 : mkstemp(path);

	(void)unused;
	return fd < 0 ? -1 : close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_run_before_is_sent_first_also_by_the_next_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			not_all_reports_are_in_an_exchange_that_holds_one_back, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(each_end_is_acknowledged_by_itself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(of_three_runs_one_after_the_other_is_sent,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			after_the_clock_was_set_back_the_order_is_the_same, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_the_store_refuses_waits_in_memory_as_well,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_runs_of_before_leave_room_for_others,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			an_attempt_whose_end_is_not_there_is_not_set_aside, set_up, tear_down),
		cmocka_unit_test_setup_teardown(while_the_store_fails_nothing_changes, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_exchange_describes_the_run_before_alone,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_forgets_both, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, make_file, NULL);
}
