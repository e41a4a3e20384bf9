/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_store_steps - steps of running jobs in the ledger: which jobs may have some, which node's reports
 * count, how steps end. Times as in ledger_rig.h. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/nodes/lost.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"
#include "tests/unit/rig/ledger_rig.h"

#define LATER(s) (NOON + (s)*S_NS)

/* What a node says: of these steps, at `now`. How many ends were acknowledged. */
static size_t send_sync(struct rig *r, const char *node, struct sync_step *steps, size_t n,
			int64_t now_ns)
{
	const struct sync_job hold = { 1, 1, JOB_RUNNING };
	struct sync in = {
		.capacity = { .ncpus = 8, .mem_bytes = 64LL << 30, .jobfs_bytes = 64LL << 30 },
		.jobs = (struct sync_job *)&hold,
		.n_jobs = !strcmp(node, "n1") && rig_load_job(r, 1).state == JOB_RUNNING,
		.steps = steps,
		.n_steps = n
	};
	struct sync_from from = { .cluster = "main", .now_ns = now_ns, .lost_ns = 120 * S_NS };
	struct sync_result result;
	size_t acks;

	strcpy(in.node, node);
	strcpy(in.boot, "b1");
	snprintf(from.address, sizeof(from.address), "10.0.0.%c", node[1]);
	assert_int_equal(store_ingest(r->store, &in, &from, &result, NULL), 0);
	acks = result.n_step_acks;
	sync_result_done(&result);
	return acks;
}

static struct sync_step running_step(int64_t step)
{
	return (struct sync_step){ .id = { 1, step, 1 } };
}

static struct sync_step ended_step(int64_t step, int exit_status)
{
	struct sync_step t = running_step(step);

	t.has_ended = true;
	t.exit_status = exit_status;
	return t;
}

static int64_t start_job(struct rig *r)
{
	int64_t job = rig_job(r, NOON);

	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), LATER(1));
	return job;
}

/* n steps on n1: the number of the first one, or -outcome. */
static int64_t start_steps(struct rig *r, int64_t job, size_t n)
{
	const char *nodes[STORE_STEPS_OPEN_MAX + 1];
	struct store_steps_new new = { .job = job, .now_ns = LATER(2), .spec = "{}" };
	int64_t first = 0;
	int outcome;

	for (size_t i = 0; i < n; i++)
		nodes[i] = "n1";
	new.nodes = nodes;
	new.n_nodes = n;
	outcome = store_steps_add(r->store, &new, &first, NULL);
	assert_true(outcome >= 0);
	return outcome ? -outcome : first;
}

static int copy_step(void *ctx, const struct store_step *t, struct err *err)
{
	static char text[128], node[64];
	struct store_step *to = ctx;

	(void)err;
	*to = *t;
	snprintf(text, sizeof(text), "%s", t->text);
	snprintf(node, sizeof(node), "%s", t->node);
	to->text = text;
	to->node = node;
	return 0;
}

static struct store_step read_step(struct rig *r, int64_t step)
{
	const struct store_steps_range range = { 1, step - 1, 1 };
	struct store_step t = { 0 };

	assert_int_equal(store_steps(r->store, range, copy_step, &t, NULL), 0);
	assert_int_equal(t.step, step);
	return t;
}

static int count_step(void *ctx, const struct store_step *t, struct err *err)
{
	(void)t;
	(void)err;
	++*(int *)ctx;
	return 0;
}

static int n_open(struct rig *r, const char *node)
{
	int n = 0;

	assert_int_equal(store_steps_open(r->store, node, count_step, &n, NULL), 0);
	return n;
}

static void only_a_job_that_runs_has_steps(void **state)
{
	struct rig *r = *state;
	const struct store_desired_change cancel = {
		.job = 1, .want = DESIRED_CANCEL, .reason = "x", .now_ns = LATER(3)
	};
	char node[REQUEST_NAME_MAX];
	int64_t job = rig_job(r, NOON), first;

	assert_int_equal(start_steps(r, job, 1), -STORE_STEPS_NOT_RUNNING);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), LATER(1));
	assert_int_equal(start_steps(r, job, 1), 1);
	rig_send_report(r, rig_report(job, 2, JOB_SUSPENDED, 1), LATER(2));
	assert_int_equal(start_steps(r, job, 1), 2);
	assert_int_equal(store_set_desired(r->store, &cancel, node, NULL), 0);
	assert_int_equal(start_steps(r, job, 1), -STORE_STEPS_NOT_RUNNING);
	assert_int_equal(
		store_steps_add(r->store, &(struct store_steps_new){ .job = 9 }, &first, NULL),
		-ENOENT);
}

static void steps_are_numbered_consecutively_all_or_none(void **state)
{
	struct rig *r = *state;
	const char *nodes[] = { "n1", "n2" };
	struct store_steps_new new = { 1, LATER(2), nodes, 2, "{}" };
	int64_t first = 0, job = start_job(r);
	char *names = NULL;

	assert_int_equal(start_steps(r, job, 2), 1);
	assert_int_equal(store_steps_add(r->store, &new, &first, NULL),
			 STORE_STEPS_NOT_ITS_NODE);
	assert_int_equal(first, 1); /* n2 */
	assert_int_equal(start_steps(r, job, 1), 3);
	assert_int_equal(n_open(r, "n1"), 3);
	assert_int_equal(store_steps_nodes(r->store, job, &names, NULL), 0);
	assert_string_equal(names, "n1");
	free(names);
}

static void a_job_has_a_bound_of_open_steps_and_of_all_steps(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r);

	assert_int_equal(start_steps(r, job, STORE_STEPS_OPEN_MAX + 1), -STORE_STEPS_TOO_OPEN);
	assert_int_equal(start_steps(r, job, STORE_STEPS_OPEN_MAX), 1);
	assert_int_equal(start_steps(r, job, 1), -STORE_STEPS_TOO_OPEN);
	send_sync(r, "n1", &(struct sync_step){ { 1, 7, 1 }, true, 0, 0, NULL }, 1, LATER(3));
	assert_int_equal(start_steps(r, job, 1), STORE_STEPS_OPEN_MAX + 1);
	assert_int_equal(db_run(r->store->db, NULL,
				"UPDATE steps SET step = ?1, state = 2 WHERE step = ?2", "ii",
				(int64_t)STORE_STEPS_MAX - 1,
				(int64_t)STORE_STEPS_OPEN_MAX + 1),
			 0);
	assert_int_equal(start_steps(r, job, 2), -STORE_STEPS_TOO_MANY);
	assert_int_equal(start_steps(r, job, 1), STORE_STEPS_MAX);
}

static void a_report_of_another_node_changes_no_step(void **state)
{
	struct rig *r = *state;
	struct sync_step t = ended_step(1, 3), other = ended_step(1, 3);

	start_steps(r, start_job(r), 1);
	/* It may forget what it says, which is none of its steps. */
	assert_int_equal(send_sync(r, "n2", &t, 1, LATER(3)), 1);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_WANTED);
	other.id.attempt = 2;
	assert_int_equal(send_sync(r, "n1", &other, 1, LATER(4)), 1);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_WANTED);
}

static void the_first_reported_end_of_a_step_stays(void **state)
{
	struct rig *r = *state;
	struct sync_step t = running_step(1), end = ended_step(1, 3), again = ended_step(1, 4);
	char why[] = "not found";

	start_steps(r, start_job(r), 1);
	assert_int_equal(send_sync(r, "n1", &t, 1, LATER(3)), 0);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_RUNS);
	assert_int_equal(send_sync(r, "n1", &end, 1, LATER(4)), 1);
	assert_int_equal(read_step(r, 1).exit_status, 3);
	again.text = why;
	assert_int_equal(send_sync(r, "n1", &again, 1, LATER(5)), 1);
	assert_int_equal(send_sync(r, "n1", &t, 1, LATER(6)), 0);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_ENDED);
	assert_int_equal(read_step(r, 1).exit_status, 3);
	assert_string_equal(read_step(r, 1).text, "");
}

static void a_step_that_did_not_start_has_a_reason(void **state)
{
	struct rig *r = *state;
	char why[] = "not found";
	struct sync_step t = ended_step(1, -1);

	start_steps(r, start_job(r), 1);
	t.text = why;
	send_sync(r, "n1", &t, 1, LATER(3));
	assert_int_equal(read_step(r, 1).exit_status, -1);
	assert_int_equal(read_step(r, 1).signal, 0);
	assert_string_equal(read_step(r, 1).text, why);
}

static void a_step_that_its_node_no_longer_lists_ends_after_a_while(void **state)
{
	struct rig *r = *state;
	struct sync_step t = running_step(1);

	start_steps(r, start_job(r), 2); /* the second one was never shown: it is waited for */
	send_sync(r, "n1", &t, 1, LATER(3));
	assert_int_equal(send_sync(r, "n1", NULL, 0, LATER(4)), 0);
	assert_int_equal(send_sync(r, "n1", NULL, 0, LATER(13)), 0);
	send_sync(r, "n1", &t, 1, LATER(13)); /* it is there again: all over */
	assert_int_equal(send_sync(r, "n1", NULL, 0, LATER(15)), 0);
	assert_int_equal(send_sync(r, "n1", NULL, 0, LATER(24)), 0);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_RUNS);
	assert_int_equal(send_sync(r, "n1", NULL, 0, LATER(25)), 1);
	assert_int_equal(read_step(r, 1).state, STORE_STEP_ENDED);
	assert_string_equal(read_step(r, 1).text, "its node no longer knows it");
	assert_int_equal(read_step(r, 2).state, STORE_STEP_WANTED);
}

static void a_step_may_be_cancelled_until_it_has_ended(void **state)
{
	struct rig *r = *state;
	struct sync_step t = ended_step(1, -1);
	char node[REQUEST_NAME_MAX];

	start_steps(r, start_job(r), 1);
	assert_int_equal(store_steps_cancel(r->store, 1, 1, node, NULL), 0);
	assert_string_equal(node, "n1");
	assert_true(read_step(r, 1).is_cancelled);
	assert_int_equal(store_steps_cancel(r->store, 1, 1, node, NULL), 0);
	assert_int_equal(store_steps_cancel(r->store, 1, 2, node, NULL), -ENOENT);
	t.signal = 15;
	send_sync(r, "n1", &t, 1, LATER(3));
	assert_int_equal(store_steps_cancel(r->store, 1, 1, node, NULL), STORE_TOO_LATE);
	assert_int_equal(read_step(r, 1).signal, 15);
}

static void steps_end_with_their_job(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r);

	start_steps(r, job, 2);
	rig_send_report(r, rig_report(job, 2, JOB_ENDED, 5), LATER(5));
	assert_int_equal(n_open(r, "n1"), 0);
	assert_string_equal(read_step(r, 2).text, "the job ended");
	assert_int_equal(read_step(r, 2).exit_status, -1);
}

/* A step's end reported together with the job's end counts. */
static void the_end_of_a_step_in_the_same_exchange_as_the_jobs_counts(void **state)
{
	struct rig *r = *state;
	int64_t job = start_job(r);
	struct report last = rig_report(job, 2, JOB_ENDED, 5);
	struct sync_step t = ended_step(1, 4);
	struct sync in = { .capacity = { .ncpus = 8 },
			   .reports = &last,
			   .n_reports = 1,
			   .steps = &t,
			   .n_steps = 1,
			   .node = "n1",
			   .boot = "b1" };
	const struct sync_from from = { .address = "10.0.0.1",
					.cluster = "main",
					.now_ns = LATER(5),
					.lost_ns = 120 * S_NS };
	struct sync_result result;

	start_steps(r, job, 1);
	assert_int_equal(store_ingest(r->store, &in, &from, &result, NULL), 0);
	sync_result_done(&result);
	assert_int_equal(rig_load_job(r, job).state, JOB_ENDED);
	assert_int_equal(read_step(r, 1).exit_status, 4);
}

static void steps_end_with_their_attempt(void **state)
{
	struct rig *r = *state;
	struct store_lost_result lost;
	int64_t job = rig_job(r, NOON), late = LATER(1000);

	assert_int_equal(db_run(r->store->db, NULL, "UPDATE jobs SET request = ?1", "t",
				"{\"requeue\": true}"),
			 0);
	store_set_max_requeues(r->store, 1);
	rig_send_report(r, rig_report(job, 1, JOB_RUNNING, 1), LATER(1));
	start_steps(r, job, 1);
	assert_true(store_mark_lost_nodes(r->store, late - 120 * S_NS, late, NULL) >= 0);
	assert_int_equal(store_end_lost_jobs(r->store, late, &lost, NULL), 0);
	assert_int_equal(rig_load_job(r, job).state, JOB_QUEUED);
	assert_int_equal(n_open(r, "n1"), 0);
	assert_string_equal(read_step(r, 1).text, "the job ended");
}

/* --- output --- */

static void print_output(struct rig *r, int64_t step, enum sync_stream stream, const char *text)
{
	const struct sync_output o = { .job = 1,
				       .step = step,
				       .attempt = 1,
				       .stream = stream,
				       .size = strlen(text),
				       .data = text };
	const struct rig_sync what = { .outputs = &o, .n_outputs = 1, .now_ns = LATER(3) };
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &what, &result), 0);
	assert_int_equal(result.n_output_acks, 1);
	assert_int_equal(result.output_acks[0].step, step);
	assert_int_equal(result.output_acks[0].offset, strlen(text));
	sync_result_done(&result);
}

static void check_output(struct rig *r, struct store_read what, const char *text, bool is_end)
{
	struct store_text t = { 0 };

	assert_int_equal(store_output(r->store, what, &t, NULL), 0);
	assert_int_equal(t.size, strlen(text));
	assert_memory_equal(t.data ? t.data : "", text, t.size);
	assert_int_equal(t.is_end, is_end);
	free(t.data);
}

static void each_step_has_two_streams_of_its_own(void **state)
{
	struct rig *r = *state;
	struct sync_step end = ended_step(2, 0);
	int64_t job = start_job(r);

	start_steps(r, job, 2);
	print_output(r, 0, SYNC_OUT, "job");
	print_output(r, 1, SYNC_OUT, "one");
	print_output(r, 2, SYNC_OUT, "two");
	print_output(r, 2, SYNC_ERR, "two's");
	check_output(r, (struct store_read){ job, 0, SYNC_OUT, 0 }, "job", false);
	check_output(r, (struct store_read){ job, 1, SYNC_OUT, 1 }, "ne", false);
	check_output(r, (struct store_read){ job, 2, SYNC_OUT, 0 }, "two", false);
	check_output(r, (struct store_read){ job, 2, SYNC_ERR, 0 }, "two's", false);
	check_output(r, (struct store_read){ job, 1, SYNC_ERR, 0 }, "", false);
	send_sync(r, "n1", &end, 1, LATER(4));
	check_output(r, (struct store_read){ job, 2, SYNC_ERR, 0 }, "two's", true);
	check_output(r, (struct store_read){ job, 1, SYNC_OUT, 3 }, "", false);
}

struct heard {
	char text[128];
	int64_t since;
};

static int on_chunk(void *ctx, const struct store_steps_chunk *c, struct err *err)
{
	struct heard *h = ctx;
	size_t n = strlen(h->text);

	(void)err;
	snprintf(h->text + n, sizeof(h->text) - n, "%lld%s:%.*s ", (long long)c->step,
		 c->stream == SYNC_ERR ? "e" : "", (int)c->size, (const char *)c->data);
	return 0;
}

/* What came of steps 1 and 2 since. */
static int read_output(struct rig *r, struct heard *h)
{
	struct store_steps_span span = { 1, 1, 2, h->since };
	int outcome;

	h->text[0] = '\0';
	outcome = store_steps_output(r->store, &span, on_chunk, h, NULL);
	h->since = span.since;
	return outcome;
}

static void output_of_several_comes_in_the_order_in_which_it_came(void **state)
{
	struct rig *r = *state;
	struct sync_step ends[] = { ended_step(1, 0), ended_step(2, 0) };
	struct store_steps_span none = { 1, 1, 9, 0 };
	struct heard h = { .since = 0 };

	start_steps(r, start_job(r), 3);
	assert_int_equal(read_output(r, &h), 0);
	assert_string_equal(h.text, "");
	print_output(r, 2, SYNC_OUT, "b");
	print_output(r, 0, SYNC_OUT, "job");
	print_output(r, 1, SYNC_ERR, "a");
	print_output(r, 2, SYNC_OUT, "bc");
	print_output(r, 3, SYNC_OUT, "other");
	assert_int_equal(read_output(r, &h), 0);
	assert_string_equal(h.text, "2:b 1e:a 2:c ");
	assert_int_equal(read_output(r, &h), 0);
	assert_string_equal(h.text, "");
	print_output(r, 1, SYNC_OUT, "end");
	send_sync(r, "n1", ends, 2, LATER(4));
	assert_int_equal(read_output(r, &h), 0);
	assert_string_equal(h.text, "1:end ");
	assert_int_equal(read_output(r, &h), 1);
	assert_int_equal(store_steps_output(r->store, &none, on_chunk, &h, NULL), -ENOENT);
}

/* However much steps print, the ledger keeps so much of all of them; what is cut is marked. */
static void steps_of_a_job_share_the_bound_of_kept_output(void **state)
{
	static const char all[] = "INSERT INTO streams VALUES(1, 1, -1, 0, ?1, 0)";
	static const char cut[] =
		"abc\n[reeve: the output is cut here; write large output to a file]\n";
	struct rig *r = *state;
	int64_t job = start_job(r);

	start_steps(r, job, 3);
	assert_int_equal(
		db_run(r->store->db, NULL, all, "i", (int64_t)STORE_STEPS_OUTPUT_MAX - 6), 0);
	print_output(r, 1, SYNC_OUT, "123");
	print_output(r, 2, SYNC_OUT, "abcdef");
	print_output(r, 2, SYNC_OUT, "abcdefghi");
	print_output(r, 3, SYNC_OUT, "xyz");
	print_output(r, 0, SYNC_OUT, "job");
	check_output(r, (struct store_read){ job, 1, SYNC_OUT, 0 }, "123", false);
	check_output(r, (struct store_read){ job, 2, SYNC_OUT, 0 }, cut, false);
	check_output(r, (struct store_read){ job, 3, SYNC_OUT, 0 }, cut + 3, false);
	check_output(r, (struct store_read){ job, 0, SYNC_OUT, 0 }, "job", false);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, rig_open, rig_close)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(only_a_job_that_runs_has_steps),
		TEST(steps_are_numbered_consecutively_all_or_none),
		TEST(a_job_has_a_bound_of_open_steps_and_of_all_steps),
		TEST(a_report_of_another_node_changes_no_step),
		TEST(the_first_reported_end_of_a_step_stays),
		TEST(a_step_that_did_not_start_has_a_reason),
		TEST(a_step_that_its_node_no_longer_lists_ends_after_a_while),
		TEST(a_step_may_be_cancelled_until_it_has_ended),
		TEST(steps_end_with_their_job),
		TEST(the_end_of_a_step_in_the_same_exchange_as_the_jobs_counts),
		TEST(steps_end_with_their_attempt),
		TEST(each_step_has_two_streams_of_its_own),
		TEST(steps_of_a_job_share_the_bound_of_kept_output),
		TEST(output_of_several_comes_in_the_order_in_which_it_came),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
