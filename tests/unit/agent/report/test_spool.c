/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_spool - reports wait for their acknowledgement, and the documents that carry them and their answers. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "agent/report/store.h"
#include "agent/report/sync.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "tests/unit/rig/db_fault.h"
#include "tests/unit/rig/fail_vfs.h"

static char dir[] = "/tmp/reeve-test-spool-XXXXXX";
static char path[128];
static struct db *db;
static struct spool *spool;

static int reopen_spool(int64_t max_bytes)
{
	spool = spool ? spool_close(spool) : NULL;
	db = db ? db_close(db) : NULL;
	if (store_open(path, &db, NULL) != 0)
		return -1;
	return spool_open(db, max_bytes, &spool, NULL);
}

static int set_up(void **unused)
{
	char command[256];

	(void)unused;
	db_fault_left = 0;
	fail_vfs_off();
	snprintf(command, sizeof(command), "rm -rf '%s' && mkdir '%s'", dir, dir);
	return system(command) ? -1 : reopen_spool(1 << 20);
}

static int tear_down(void **unused)
{
	(void)unused;
	spool = spool_close(spool);
	db = db_close(db);
	return 0;
}

static int make_dir(void **unused)
{
	(void)unused;
	if (db_fault_install() < 0 || !mkdtemp(dir))
		return -1;
	fail_vfs_install();
	snprintf(path, sizeof(path), "%s/agent.db", dir);
	return 0;
}

static int drop_dir(void **unused)
{
	char command[256];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

static struct report new_report(int64_t job, int64_t at_ms, enum job_state state)
{
	struct report r = { .job = job,
			    .attempt = 1,
			    .at_ns = at_ms * 1000000,
			    .state = state,
			    .running_ns = at_ms };

	r.end.kind = state == JOB_ENDED ? END_EXITED : END_NONE;
	return r;
}

static int put_report(int64_t job, int64_t at_ms, enum job_state state, int64_t *ret_seq)
{
	struct report r = new_report(job, at_ms, state);
	int rc = spool_put(spool, &r, NULL);

	if (ret_seq)
		*ret_seq = r.seq;
	return rc;
}

static struct spool_status get_status(void)
{
	struct spool_status s;

	assert_int_equal(spool_get_status(spool, &s, NULL), 0);
	return s;
}

static void only_the_latest_report_of_an_attempt_is_kept_and_its_number_grows(void **unused)
{
	_cleanup_json_ json_t *out = json_array();
	int64_t seq, last = 0;

	(void)unused;
	for (int i = 1; i <= 10; i++) {
		assert_int_equal(put_report(5, 100, JOB_RUNNING, &seq), 0);
		assert_true(seq > last);
		last = seq;
		if (i == 5)
			reopen_spool(1 << 20);
	}
	assert_int_equal(get_status().reports, 1);
	assert_int_equal(spool_fill(spool, 500, out, NULL), 1);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(out, 0), "seq")),
			 last);
}

static void report_numbers_grow_over_acknowledgements_and_a_lost_store(void **unused)
{
	int64_t before, after;

	(void)unused;
	put_report(5, 1000, JOB_RUNNING, &before);
	assert_int_equal(spool_ack(spool, 5, 1, before, NULL), 0);
	assert_int_equal(get_status().reports, 0);
	put_report(5, 1000, JOB_RUNNING, &after);
	assert_true(after > before);
	tear_down(NULL);
	set_up(NULL);
	put_report(5, 2000, JOB_RUNNING, &before);
	assert_true(before > after);
}

static void an_ack_forgets_only_what_it_covers(void **unused)
{
	int64_t first, second;

	(void)unused;
	put_report(5, 1, JOB_RUNNING, &first);
	put_report(5, 2, JOB_RUNNING, &second);
	assert_int_equal(spool_ack(spool, 5, 1, first, NULL), 0);
	assert_int_equal(get_status().reports, 1);
	assert_int_equal(spool_ack(spool, 5, 1, second, NULL), 0);
	assert_int_equal(spool_ack(spool, 5, 1, second, NULL), 0);
	assert_int_equal(spool_ack(spool, 99, 1, 7, NULL), 0);
	assert_int_equal(get_status().reports, 0);
	assert_int_equal(get_status().bytes, 0);
}

static void a_final_report_stays_until_it_is_acknowledged(void **unused)
{
	int64_t interim, final;

	(void)unused;
	put_report(5, 1, JOB_RUNNING, &interim);
	put_report(5, 2, JOB_ENDED, &final);
	assert_int_equal(put_report(5, 3, JOB_RUNNING, NULL), -EALREADY);
	assert_int_equal(put_report(5, 3, JOB_ENDED, NULL), -EALREADY);
	assert_int_equal(spool_ack(spool, 5, 1, interim, NULL), 0);
	reopen_spool(1 << 20);
	assert_int_equal(spool_ack(spool, 5, 1, final, NULL), SPOOL_FINAL);
	assert_int_equal(spool_ack(spool, 5, 1, final, NULL), 0);
	assert_int_equal(get_status().final, 0);
}

/* An agent that is killed in between sends them once more. */
static void what_is_acknowledged_changes_the_store_with_the_next_flush(void **unused)
{
	int64_t interim, final;

	(void)unused;
	put_report(5, 1, JOB_RUNNING, &interim);
	put_report(6, 1, JOB_ENDED, &final);
	for (int is_flushed = 0; is_flushed < 2; is_flushed++) {
		assert_int_equal(get_status().reports, 2);
		db_fault_left = 1;
		assert_int_equal(spool_ack(spool, 5, 1, interim, NULL), 0);
		assert_int_equal(spool_ack(spool, 6, 1, final, NULL), SPOOL_FINAL);
		assert_int_equal(get_status().reports, 0);
		assert_int_equal(get_status().final, 0);
		assert_int_equal(get_status().bytes, 0);
		assert_int_equal(db_fault_left, 1);
		db_fault_left = 0;
		if (is_flushed)
			assert_int_equal(spool_flush(spool, NULL), 0);
		reopen_spool(1 << 20);
	}
	assert_int_equal(get_status().reports, 0);
	assert_int_equal(get_status().bytes, 0);
	put_report(5, 0, JOB_RUNNING, &final);
	assert_true(final > interim);
}

/* It is not started again, although the store has it in the outbox still. */
static void an_order_of_a_job_that_was_acknowledged_repeats_its_report(void **unused)
{
	_cleanup_json_ json_t *out = json_array();
	int64_t seq;

	(void)unused;
	assert_int_equal(spool_set_ledger(spool, "one", 0, NULL), 0);
	put_report(5, 1, JOB_ENDED, &seq);
	assert_int_equal(spool_ack(spool, 5, 1, seq, NULL), SPOOL_FINAL);
	assert_int_equal(spool_fill(spool, 500, out, NULL), 0);
	assert_int_equal(spool_repeat(spool, 5, 1, NULL), 1);
	assert_int_equal(spool_fill(spool, 500, out, NULL), 1);
	assert_int_equal(spool_ack(spool, 5, 1, seq, NULL), SPOOL_FINAL);
	assert_int_equal(spool_set_ledger(spool, "one", 7, NULL), 0);
	assert_int_equal(get_status().final, 1);
}

static void
at_the_bound_the_oldest_interim_reports_are_dropped_and_final_ones_never(void **unused)
{
	_cleanup_json_ json_t *out = json_array();
	int64_t one, seq;

	(void)unused;
	put_report(1, 1, JOB_RUNNING, NULL);
	one = get_status().bytes;
	reopen_spool(7 * one);
	put_report(2, 2, JOB_ENDED, NULL);
	for (int i = 3; i <= 4; i++)
		assert_int_equal(put_report(i, i, JOB_RUNNING, NULL), 0);
	for (int i = 5; i <= 12; i++)
		put_report(i, i, JOB_RUNNING, NULL);
	assert_true(get_status().bytes <= 7 * one);
	assert_true(get_status().dropped > 0);
	assert_int_equal(get_status().final, 1);
	assert_false(spool_is_full(spool));
	assert_true(spool_fill(spool, 500, out, NULL) >= 2);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(out, 0), "job")), 2);
	assert_int_equal(json_integer_value(json_object_get(
				 json_array_get(out, json_array_size(out) - 1), "job")),
			 12);
	/* The next report repeats what was dropped, and its seq goes on. */
	put_report(1, 9, JOB_RUNNING, &seq);
	assert_true(seq > 1);
}

static void a_spool_full_of_final_reports_drops_interim_ones_alone(void **unused)
{
	(void)unused;
	reopen_spool(2000);
	for (int i = 1; i <= 20; i++)
		assert_true(put_report(i, i, JOB_ENDED, NULL) >= 0);
	assert_int_equal(get_status().final, 20);
	assert_true(spool_is_full(spool));
	assert_int_equal(put_report(50, 50, JOB_RUNNING, NULL), SPOOL_DROPPED);
	assert_int_equal(get_status().final, 20);
	for (int i = 1; i <= 20; i++)
		spool_ack(spool, i, 1, INT64_MAX, NULL);
	assert_false(spool_is_full(spool));
}

static void documents_are_filled_round_robin_so_that_no_report_is_blocked(void **unused)
{
	int seen[30] = { 0 };

	(void)unused;
	for (int i = 0; i < 30; i++)
		put_report(i + 1, i + 1, JOB_RUNNING, NULL);
	for (int round = 0; round < 5; round++) {
		_cleanup_json_ json_t *out = json_array();

		assert_int_equal(spool_fill(spool, 6, out, NULL), 6);
		for (size_t i = 0; i < 6; i++)
			seen[json_integer_value(
				     json_object_get(json_array_get(out, i), "job")) -
			     1]++;
	}
	for (int i = 0; i < 30; i++)
		assert_int_equal(seen[i], 1);
}

/* For every n: the n-th write fails. The totals stay what the rows say, the report is either
 * there with its new seq or the old one is, and the next put works. */
static void a_failed_write_keeps_rows_and_totals_together(void **unused)
{
	int failures = 0;

	(void)unused;
	for (int n = 1; n < 200; n++) {
		int64_t old, seq = 0;
		int r;

		tear_down(NULL);
		set_up(NULL);
		put_report(1, 1, JOB_RUNNING, &old);
		db_fault_left = n;
		r = put_report(1, 2, JOB_ENDED, &seq);
		if (db_fault_left)
			break;
		failures += r < 0;
		assert_int_equal(get_status().reports, 1);
		assert_int_equal(get_status().final, r < 0 ? 0 : 1);
		if (r < 0) {
			assert_int_equal(seq, 0);
			assert_int_equal(put_report(1, 3, JOB_ENDED, &seq), 0);
		}
		assert_true(seq > old);
	}
	assert_true(failures > 0);
}

static void a_put_inside_a_transaction_is_undone_with_it(void **unused)
{
	(void)unused;
	put_report(1, 1, JOB_RUNNING, NULL);
	assert_int_equal(db_begin(db, NULL), 0);
	put_report(1, 2, JOB_ENDED, NULL);
	put_report(2, 2, JOB_RUNNING, NULL);
	db_rollback(db);
	assert_int_equal(get_status().reports, 1);
	assert_int_equal(get_status().final, 0);
}

/* The calls of the handlers, as text. */
static char heard[2048];

static void note_order(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void note_order(const char *format, ...)
{
	size_t n = strlen(heard);
	va_list ap;

	va_start(ap, format);
	vsnprintf(heard + n, sizeof(heard) - n, format, ap);
	va_end(ap);
}

static void hear_want(void *ctx, const struct sync_order *o)
{
	(void)ctx;
	note_order("want %d-%d %d %s '%s' %s;", (int)o->job, o->attempt, o->want,
		   o->request ? o->request->name : "-", o->reason, o->bad ? "bad" : "");
}

static void hear_settled(void *ctx, int64_t job, int32_t attempt)
{
	(void)ctx;
	note_order("settled %d-%d;", (int)job, attempt);
}

static void hear_refused(void *ctx, int64_t job, int32_t attempt, const char *why)
{
	(void)ctx;
	note_order("refused %d-%d %s;", (int)job, attempt, why);
}

static void hear_output(void *ctx, const struct sync_output_ack *c)
{
	(void)ctx;
	note_order("output %d-%d %d %d;", (int)c->job, c->attempt, c->stream, (int)c->offset);
}

static void hear_step(void *ctx, const struct sync_step_order *o)
{
	(void)ctx;
	note_order("step %d-%d %d %d %s %s;", (int)o->id.job, o->id.attempt, (int)o->id.step,
		   o->want, o->command.argv ? o->command.argv[0] : "-", o->bad ? "bad" : "");
}

static void hear_step_ack(void *ctx, struct sync_step_id id)
{
	(void)ctx;
	note_order("step ack %d-%d %d;", (int)id.job, id.attempt, (int)id.step);
}

static const struct sync_handlers handlers = { .on_want = hear_want,
					       .on_step = hear_step,
					       .on_step_ack = hear_step_ack,
					       .on_settled = hear_settled,
					       .on_refused = hear_refused,
					       .on_output_ack = hear_output };

static int apply_answer(const char *text, struct err *err)
{
	_cleanup_json_ json_t *j = json_loads(text, 0, NULL);

	assert_non_null(j);
	heard[0] = '\0';
	return sync_apply(j, spool, &handlers, NULL, err);
}

static void an_answer_removes_acknowledged_reports_and_calls_its_handlers(void **unused)
{
	(void)unused;
	put_report(1, 1, JOB_ENDED, NULL);
	put_report(2, 1, JOB_RUNNING, NULL);
	put_report(3, 1, JOB_RUNNING, NULL);
	assert_int_equal(
		apply_answer(
			"{\"schema\":\"reeve/1\",\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":99},"
			"{\"job\":2,\"attempt\":1,\"seq\":99}],\"refused\":[{\"job\":3,"
			"\"attempt\":1,"
			"\"why\":\"not "
			"ours\"}],\"output_acks\":[{\"job\":2,\"attempt\":1,\"stream\":"
			"\"err\",\"offset\":77}],\"jobs\":[{\"job\":2,\"attempt\":1,\"want\":"
			"\"suspend\"},{\"job\":4,\"attempt\":1,\"want\":\"cancel\",\"reason\":"
			"\"by "
			"ann\"}]}",
			NULL),
		3);
	assert_string_equal(heard, "settled 1-1;output 2-1 1 77;refused 3-1 not ours;"
				   "want 2-1 1 - '' ;want 4-1 2 - 'by ann' ;");
	assert_int_equal(get_status().reports, 0);
}

static void an_answer_that_is_wrong_anywhere_does_nothing_at_all(void **unused)
{
	static const char *const wrong[][2] = {
		{ "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":9}],\"jobs\":[{\"job\":1,"
		  "\"attempt\":1,\"want\":\"explode\"}]}",
		  "jobs[0]" },
		{ "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":9},{\"job\":\"1\"}]}",
		  "acks[1]" },
		{ "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":9}],\"refused\":7}", "refused" },
		{ "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":9}],\"output_acks\":[{\"job\":1,"
		  "\"attempt\":1,\"stream\":\"log\",\"offset\":0}]}",
		  "output_acks[0]" },
		{ "{\"acks\":[{\"job\":-1,\"attempt\":1,\"seq\":9}]}", "acks[0]" },
		{ "{\"acks\":[{\"job\":1,\"attempt\":4294967297,\"seq\":9}]}", "acks[0]" },
		{ "{\"acks\":[3]}", "acks[0]" },
	};

	(void)unused;
	put_report(1, 1, JOB_ENDED, NULL);
	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		struct err err = { "" };

		assert_int_equal(apply_answer(wrong[i][0], &err), -EINVAL);
		assert_non_null(strstr(err.text, wrong[i][1]));
		assert_string_equal(heard, "");
		assert_int_equal(get_status().final, 1);
	}
	assert_int_equal(apply_answer("{}", NULL), 0);
}

static void a_request_that_cannot_be_read_reaches_the_handler_as_bad(void **unused)
{
	(void)unused;
	assert_int_equal(
		apply_answer("{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\",\"request\":"
			     "{\"name\":7}},{\"job\":2,\"attempt\":1,\"want\":\"run\"}]}",
			     NULL),
		0);
	assert_string_equal(heard, "want 1-1 0 - '' bad;want 2-1 0 - '' ;");
}

static void steps_come_last_and_a_bad_command_stops_no_other(void **unused)
{
	(void)unused;
	assert_int_equal(
		apply_answer(
			"{\"steps\":[{\"job\":1,\"attempt\":1,\"step\":4,\"want\":\"run\",\"argv\":7},"
			"{\"job\":1,\"attempt\":1,\"step\":5,\"want\":\"run\",\"argv\":[\"ls\"]},"
			"{\"job\":1,\"attempt\":1,\"step\":2,\"want\":\"cancel\"}],"
			"\"step_acks\":[{\"job\":1,\"attempt\":1,\"step\":1}],"
			"\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}",
			NULL),
		1);
	assert_string_equal(heard, "want 1-1 0 - '' ;step ack 1-1 1;step 1-1 4 0 - bad;"
				   "step 1-1 5 0 ls ;step 1-1 2 1 - ;");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

static int64_t make_report(int64_t job, enum job_state state, int64_t last_seq)
{
	struct report r = new_report(job, 5, state);

	r.seq = last_seq;
	if (spool_put(spool, &r, NULL) < 0)
		assert_int_equal(spool_put_unsaved(spool, &r, NULL), 0);
	assert_true(r.seq > last_seq);
	return r.seq;
}

/* Its seq; 0: nothing of the job; -1: it is there twice. */
static int64_t sent_of(int64_t job)
{
	_cleanup_json_ json_t *out = json_array();
	int64_t seq = 0;
	const json_t *one;
	size_t i;

	assert_true(spool_fill(spool, 500, out, NULL) >= 0);
	json_array_foreach(out, i, one)
	{
		if (json_integer_value(json_object_get(one, "job")) != job)
			continue;
		seq = seq ? -1 : json_integer_value(json_object_get(one, "seq"));
	}
	return seq;
}

/* For every n: the n-th change of the store fails, and all after it until the job is settled.
 * Only the newest report is sent, nothing once it is acknowledged, and nothing stays; a ledger that is restored gets the final one. */
static void a_store_that_fails_from_any_change_on_loses_no_report_and_no_order(void **unused)
{
	int n = 0;

	(void)unused;
	do {
		struct err err = { "" };
		int64_t seq;

		tear_down(NULL);
		set_up(NULL);
		assert_int_equal(spool_set_ledger(spool, "one", 0, NULL), 0);
		put_report(2, 1, JOB_RUNNING, NULL);
		fail_vfs_at(++n);
		seq = make_report(1, JOB_RUNNING, 0);
		assert_int_equal(sent_of(1), seq);
		seq = make_report(1, JOB_RUNNING, seq);
		assert_int_equal(sent_of(1), seq);
		assert_true(
			apply_answer(
				"{\"schema\":\"reeve/1\",\"acks\":[{\"job\":1,\"attempt\":1,"
				"\"seq\":9000000000000000000}],\"jobs\":[{\"job\":1,"
				"\"attempt\":1,\"want\":\"cancel\"}]}",
				&err) >= 0);
		assert_string_equal(heard, "want 1-1 2 - '' ;");
		assert_int_equal(sent_of(1), 0);
		seq = make_report(1, JOB_ENDED, seq);
		assert_int_equal(sent_of(1), seq);
		assert_true(
			apply_answer(
				"{\"schema\":\"reeve/1\",\"acks\":[{\"job\":1,\"attempt\":1,"
				"\"seq\":9000000000000000000}],\"refused\":[{\"job\":2,"
				"\"attempt\":1,\"why\":\"no\"}]}",
				&err) >= 0);
		assert_string_equal(heard, "settled 1-1;refused 2-1 no;");
		assert_int_equal(sent_of(1), 0);
		assert_int_equal(sent_of(2), 0);
		if (!fail_vfs_off())
			break;
		assert_int_equal(spool_flush(spool, NULL), 0);
		assert_int_equal(get_status().reports, 0);
		assert_int_equal(spool_set_ledger(spool, "one", 7, NULL), 0);
		assert_int_equal(sent_of(1), seq);
	} while (n < 500);
	assert_in_range(n, 20, 499);
}

static void a_report_in_memory_does_not_delay_those_of_the_store(void **unused)
{
	_cleanup_json_ json_t *out = json_array();
	const json_t *one;
	unsigned seen = 0;
	size_t i;

	(void)unused;
	for (int64_t job = 1; job <= 10; job++)
		put_report(job, 1, JOB_RUNNING, NULL);
	fail_vfs_at(1);
	for (int64_t job = 11; job <= 30; job++)
		make_report(job, JOB_ENDED, 0);
	for (int k = 0; k < 5; k++)
		assert_int_equal(spool_fill(spool, 8, out, NULL), 8);
	json_array_foreach(out, i, one) seen |=
		1u << json_integer_value(json_object_get(one, "job"));
	assert_int_equal(seen, 0x7ffffffe);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_the_latest_report_of_an_attempt_is_kept_and_its_number_grows),
		TEST(report_numbers_grow_over_acknowledgements_and_a_lost_store),
		TEST(an_ack_forgets_only_what_it_covers),
		TEST(a_final_report_stays_until_it_is_acknowledged),
		TEST(what_is_acknowledged_changes_the_store_with_the_next_flush),
		TEST(an_order_of_a_job_that_was_acknowledged_repeats_its_report),
		TEST(at_the_bound_the_oldest_interim_reports_are_dropped_and_final_ones_never),
		TEST(a_spool_full_of_final_reports_drops_interim_ones_alone),
		TEST(documents_are_filled_round_robin_so_that_no_report_is_blocked),
		TEST(a_failed_write_keeps_rows_and_totals_together),
		TEST(a_put_inside_a_transaction_is_undone_with_it),
		TEST(an_answer_removes_acknowledged_reports_and_calls_its_handlers),
		TEST(an_answer_that_is_wrong_anywhere_does_nothing_at_all),
		TEST(a_request_that_cannot_be_read_reaches_the_handler_as_bad),
		TEST(steps_come_last_and_a_bad_command_stops_no_other),
		TEST(a_store_that_fails_from_any_change_on_loses_no_report_and_no_order),
		TEST(a_report_in_memory_does_not_delay_those_of_the_store),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
