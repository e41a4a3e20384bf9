/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_uplink - when the uplink sends, polls, backs off and ends its wait early. This file stands in for
 * common/http: it answers, fails or stays silent as each test says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <systemd/sd-event.h>
#include <cmocka.h>
#include "agent/report/store.h"
#include "agent/report/uplink.h"
#include "common/err.h"

/* --- the double of common/http --- */
struct http {
	http_done_fn done;
	void *ctx;
	bool busy;
};

static struct http line;
static bool may_linger; /* the acknowledgement of the next exchange may be late */
static int n_started, n_cancelled, last_reports, last_output, start_result;
static long last_wait;
static int64_t last_number;

int http_open(const struct http_config *c, struct http **ret, struct err *err)
{
	(void)c;
	(void)err;
	line = (struct http){ 0 };
	*ret = &line;
	return 0;
}

struct http *http_close(struct http *h)
{
	(void)h;
	return NULL;
}

int http_attach(struct http *h, struct sd_event *event, struct err *err)
{
	(void)h;
	(void)event;
	(void)err;
	return 0;
}

int http_start(struct http *h, struct http_call call, http_done_fn done, void *ctx,
	       struct err *err)
{
	char path[64];

	assert_false(h->busy);
	if (start_result < 0)
		return err_set(err, start_result, "no munge");
	snprintf(path, sizeof(path), "/v1/node/sync?wait=%ld", call.wait_s);
	if (may_linger)
		strcat(path, "&linger_ms=20");
	assert_string_equal(call.path, path);
	*h = (struct http){ done, ctx, true };
	n_started++;
	last_wait = call.wait_s;
	last_number = json_integer_value(json_object_get(call.body, "number"));
	last_reports = (int)json_array_size(json_object_get(call.body, "reports"));
	last_output = (int)json_array_size(json_object_get(call.body, "output"));
	return 0;
}

static int n_addresses, n_failed;

bool http_has_next(const struct http *h)
{
	(void)h;
	return n_failed > 0 && n_failed < n_addresses;
}

int http_count(const struct http *h)
{
	(void)h;
	return n_addresses;
}

void http_cancel(struct http *h)
{
	if (h->busy)
		n_cancelled++;
	h->busy = false;
}

static void send_answer(int result, const char *json)
{
	struct err err = { "" };

	assert_true(line.busy);
	line.busy = false;
	if (result)
		err_set(&err, 0, "result %d", result);
	n_failed = !result ? 0 : n_failed < n_addresses ? n_failed + 1 : 1;
	line.done(line.ctx, result, json ? json_loads(json, 0, NULL) : NULL, &err);
}

/* --- the agent's side --- */
static char dir[] = "/tmp/reeve-test-uplink-XXXXXX";
static struct db *db;
static struct spool *spool;
static sd_event *event;
static struct uplink *uplink;
static int n_up, n_down, n_wants, n_chunks;
static bool kick_on_want, grow_on_want;

static int describe_node(void *ctx, struct sync *ret)
{
	(void)ctx;
	*ret = (struct sync){
		.node = "n1", .boot = "b", .version = "0", .topology = "t", .tier = 1
	};
	return 0;
}

static int next_output(void *ctx, int index, struct sync_output *ret)
{
	static const char data[300 << 10];

	(void)ctx;
	if (index >= n_chunks)
		return 0;
	*ret = (struct sync_output){
		.job = 1, .attempt = 1, .data = data, .size = sizeof(data)
	};
	return 1;
}

static bool is_busy;

static bool tell_busy(void *ctx)
{
	(void)ctx;
	return is_busy;
}

static void on_link(void *ctx, bool up, const char *why)
{
	(void)ctx;
	assert_int_equal(up, why[0] == '\0');
	n_up += up;
	n_down += !up;
}

static void on_want(void *ctx, const struct sync_order *order)
{
	(void)ctx;
	(void)order;
	n_wants++;
	if (kick_on_want)
		uplink_kick(uplink);
	if (grow_on_want)
		uplink_list_grew(uplink);
}

static const struct sync_handlers handlers = { .on_want = on_want };

static int set_up(void **unused)
{
	char path[64];
	struct uplink_config c = { .handlers = &handlers,
				   .describe = describe_node,
				   .next_output = next_output,
				   .is_busy = tell_busy,
				   .on_link = on_link,
				   .wait_s = 25 };

	(void)unused;
	snprintf(path, sizeof(path), "%s/agent.db", dir);
	remove(path);
	n_started = n_cancelled = n_up = n_down = n_wants = n_chunks = start_result = 0;
	kick_on_want = grow_on_want = is_busy = may_linger = false;
	n_addresses = 1;
	n_failed = 0;
	if (store_open(path, &db, NULL) != 0 || spool_open(db, 1 << 20, &spool, NULL) < 0 ||
	    sd_event_new(&event) < 0)
		return -1;
	c.event = event;
	c.spool = spool;
	return uplink_open(&c, &uplink, NULL);
}

static int tear_down(void **unused)
{
	(void)unused;
	uplink = uplink_close(uplink);
	event = sd_event_unref(event);
	spool = spool_close(spool);
	db = db_close(db);
	return 0;
}

static int make_dir(void **unused)
{
	(void)unused;
	return mkdtemp(dir) ? 0 : -1;
}

static int drop_dir(void **unused)
{
	char command[128];

	(void)unused;
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	return system(command);
}

/* Runs the loop until nothing happens for `ms`; returns how long the first event took. */
static int64_t run_event_loop(int ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_MONOTONIC, &a);
	if (sd_event_run(event, (uint64_t)ms * 1000) <= 0)
		return -1;
	clock_gettime(CLOCK_MONOTONIC, &b);
	return (b.tv_sec - a.tv_sec) * 1000 + (b.tv_nsec - a.tv_nsec) / 1000000;
}

static void put_state(int64_t job, enum job_state state)
{
	struct report r = { .job = job, .attempt = 1, .at_ns = 1, .state = state };

	r.end.kind = state == JOB_ENDED ? END_EXITED : END_NONE;
	assert_int_equal(spool_put(spool, &r, NULL), 0);
}

static void put_report(int64_t job)
{
	put_state(job, JOB_RUNNING);
}

/* Brings it into an idle long poll. */
static void into_poll(void)
{
	assert_true(run_event_loop(500) >= 0);
	send_answer(0, "{}");
	assert_true(run_event_loop(500) >= 0);
	assert_int_equal(n_started, 2);
	assert_int_equal(last_wait, 25);
}

static void the_first_exchange_is_at_once_then_it_polls(void **unused)
{
	(void)unused;
	assert_true(run_event_loop(500) >= 0);
	assert_int_equal(n_started, 1);
	assert_int_equal(last_wait, 0);
	assert_int_equal(n_up, 0);
	send_answer(0, "{}");
	assert_int_equal(n_up, 1);
	assert_in_range(run_event_loop(500), 0, 350);
	assert_int_equal(last_wait, 25);
}

static void a_kick_ends_the_wait_and_many_kicks_make_one_exchange(void **unused)
{
	(void)unused;
	into_poll();
	put_report(1);
	for (int i = 0; i < 10; i++)
		uplink_kick(uplink);
	assert_int_equal(n_cancelled, 1);
	assert_in_range(run_event_loop(500), 0, 350);
	assert_int_equal(run_event_loop(50), -1);
	assert_int_equal(n_started, 3);
	assert_int_equal(last_reports, 1);
	assert_int_equal(last_wait, 0);
}

static void a_kick_while_reports_are_under_way_waits_for_them(void **unused)
{
	(void)unused;
	into_poll();
	put_report(1);
	uplink_kick(uplink);
	run_event_loop(500);
	uplink_kick(uplink);
	uplink_kick(uplink);
	assert_int_equal(run_event_loop(50), -1);
	assert_int_equal(n_cancelled, 1);
	send_answer(0, "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":1}]}");
	assert_in_range(run_event_loop(500), 0, 350);
	assert_int_equal(n_started, 4);
	assert_int_equal(last_reports, 0);
	assert_int_equal(last_wait, 25);
}

static void no_poll_begins_at_once_where_a_kick_would_cut_it_short(void **unused)
{
	(void)unused;
	is_busy = true;
	into_poll();
	put_report(1);
	uplink_kick(uplink);
	run_event_loop(500);
	send_answer(0, "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":1}]}");
	assert_in_range(run_event_loop(500), 15, 450); /* it begins all the same */
	assert_int_equal(last_wait, 25);
	put_report(2);
	uplink_kick(uplink);
	run_event_loop(500);
	send_answer(0, "{\"acks\":[{\"job\":2,\"attempt\":1,\"seq\":1}]}");
	put_report(3);
	uplink_kick(uplink);
	run_event_loop(500);
	assert_int_equal(last_reports, 1);
	assert_int_equal(n_cancelled, 2); /* the two polls that had begun */
}

/* Not of output, which would stand until the answer comes. */
static void the_answer_to_an_end_may_wait_for_the_next_job(void **unused)
{
	(void)unused;
	into_poll();
	put_report(1);
	put_state(2, JOB_ENDED);
	uplink_kick(uplink);
	may_linger = true;
	run_event_loop(500);
	assert_int_equal(n_started, 3);
	send_answer(0, "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":1}]}");
	n_chunks = 1;
	may_linger = false;
	uplink_kick(uplink);
	run_event_loop(500);
	assert_int_equal(n_started, 4);
	assert_int_equal(last_reports, 1);
	assert_int_equal(last_output, 1);
}

static void more_reports_than_fit_one_document_follow_at_once(void **unused)
{
	char acks[64 * 1024] = "{\"acks\":[";

	(void)unused;
	into_poll();
	assert_int_equal(spool_begin(spool, NULL), 0);
	for (int i = 1; i <= 170; i++)
		put_report(i);
	assert_int_equal(spool_commit(spool, NULL), 0);
	uplink_kick(uplink);
	run_event_loop(500);
	assert_int_equal(last_reports, 100);
	for (int i = 1; i <= 100; i++)
		sprintf(acks + strlen(acks), "%s{\"job\":%d,\"attempt\":1,\"seq\":9}",
			i > 1 ? "," : "", i);
	strcat(acks, "]}");
	send_answer(0, acks);
	assert_in_range(run_event_loop(500), 0, 350);
	assert_int_equal(last_reports, 70);
}

static void reports_that_are_not_acknowledged_are_not_sent_in_a_hurry(void **unused)
{
	(void)unused;
	into_poll();
	put_report(1);
	uplink_kick(uplink);
	run_event_loop(500);
	send_answer(0, "{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}");
	assert_in_range(run_event_loop(1500), 900, 1300);
	assert_int_equal(last_reports, 1);
}

static void an_order_repeated_in_every_answer_makes_no_storm(void **unused)
{
	(void)unused;
	into_poll();
	send_answer(0, "{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"cancel\"}]}");
	assert_int_equal(n_wants, 1);
	assert_in_range(run_event_loop(1500), 700, 1300);
	kick_on_want = true;
	send_answer(0, "{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}");
	assert_in_range(run_event_loop(1500), 0, 350);
}

static void the_exchange_after_a_new_job_follows_soon(void **unused)
{
	(void)unused;
	into_poll();
	grow_on_want = true;
	send_answer(0, "{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}");
	assert_in_range(run_event_loop(1500), 30, 450);
	assert_int_equal(last_wait, 25);
	grow_on_want = false;
	send_answer(0, "{\"jobs\":[{\"job\":1,\"attempt\":1,\"want\":\"run\"}]}");
	assert_in_range(run_event_loop(1500), 700, 1300);
}

static void without_a_controller_it_backs_off_and_a_kick_retries_at_once(void **unused)
{
	static const int result[] = { -ECONNREFUSED, 503, -EACCES };
	struct uplink_status st;

	(void)unused;
	for (int i = 0; i < 2; i++) {
		assert_in_range(run_event_loop(3000), i ? 400 : 0, i ? 1200 : 350);
		send_answer(result[i], NULL);
	}
	assert_in_range(run_event_loop(3000), 900, 2100);
	send_answer(result[2], NULL);
	uplink_kick(uplink); /* does not shorten the pause */
	assert_int_equal(run_event_loop(1500), -1);
	assert_int_equal(n_down, 1);
	uplink_get_status(uplink, &st);
	assert_int_equal(st.failures, 3);
	assert_non_null(strstr(st.why, "result -13"));
	uplink_retry(uplink);
	assert_in_range(run_event_loop(500), 0, 350);
	send_answer(0, "{}");
	assert_int_equal(n_up, 1);
	uplink_get_status(uplink, &st);
	assert_true(st.up);
	assert_int_equal(st.failures, 0);
	assert_string_equal(st.why, "");
}

/* The leader is gone: the other controller gets the next exchange at once; when neither answers there is a pause.
 */
static void each_controller_is_asked_before_there_is_a_pause(void **unused)
{
	(void)unused;
	n_addresses = 2;
	into_poll();
	send_answer(-ECONNREFUSED, NULL);
	assert_true(run_event_loop(5000) >= 0);
	assert_int_equal(n_started, 3);
	assert_int_equal(last_wait, 25);
	send_answer(0, "{}");
	assert_int_equal(n_down, 0);
	assert_true(run_event_loop(5000) >= 0);
	send_answer(503, NULL);
	assert_true(run_event_loop(5000) >= 0);
	assert_int_equal(n_started, 5);
	send_answer(-ETIMEDOUT, NULL);
	assert_int_equal(n_down, 1);
	assert_int_equal(run_event_loop(200), -1); /* a pause */
	assert_true(run_event_loop(5000) >= 0);
	assert_int_equal(n_started, 6);
}

/* The number separates a delayed report from a later one. */
static void exchanges_are_numbered_and_numbers_grow(void **unused)
{
	int64_t first;

	(void)unused;
	into_poll();
	first = last_number;
	assert_true(first > 0);
	uplink_kick(uplink);
	assert_true(run_event_loop(5000) >= 0);
	assert_true(last_number > first);
}

static void a_malformed_answer_is_a_failure_and_loses_nothing(void **unused)
{
	struct spool_status st;

	(void)unused;
	into_poll();
	put_report(1);
	uplink_kick(uplink);
	run_event_loop(500);
	send_answer(0, "{\"acks\":[{\"job\":1,\"attempt\":1,\"seq\":9}],\"jobs\":7}");
	assert_int_equal(n_down, 1);
	assert_int_equal(spool_get_status(spool, &st, NULL), 0);
	assert_int_equal(st.reports, 1);
	assert_in_range(run_event_loop(1500), 400, 1100);
	assert_int_equal(last_reports, 1);
}

static void an_exchange_that_cannot_start_is_tried_again(void **unused)
{
	(void)unused;
	start_result = -ENOENT;
	assert_true(run_event_loop(500) >= 0);
	assert_int_equal(n_down, 1);
	start_result = 0;
	assert_in_range(run_event_loop(1500), 400, 1100);
	assert_int_equal(n_started, 1);
}

static void output_is_sent_up_to_a_bound(void **unused)
{
	(void)unused;
	into_poll();
	n_chunks = 100;
	uplink_kick(uplink);
	run_event_loop(500);
	assert_int_equal(last_output, 4);
	assert_int_equal(last_wait, 0);
}

static void answers_must_be_signed(void **unused)
{
	struct uplink_config c = { .event = event, .http = { .answer_uid = -1 } };
	struct uplink *u;

	(void)unused;
	assert_int_equal(uplink_open(&c, &u, NULL), -EINVAL);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_exchange_is_at_once_then_it_polls),
		TEST(a_kick_ends_the_wait_and_many_kicks_make_one_exchange),
		TEST(a_kick_while_reports_are_under_way_waits_for_them),
		TEST(no_poll_begins_at_once_where_a_kick_would_cut_it_short),
		TEST(the_answer_to_an_end_may_wait_for_the_next_job),
		TEST(more_reports_than_fit_one_document_follow_at_once),
		TEST(reports_that_are_not_acknowledged_are_not_sent_in_a_hurry),
		TEST(an_order_repeated_in_every_answer_makes_no_storm),
		TEST(the_exchange_after_a_new_job_follows_soon),
		TEST(without_a_controller_it_backs_off_and_a_kick_retries_at_once),
		TEST(exchanges_are_numbered_and_numbers_grow),
		TEST(each_controller_is_asked_before_there_is_a_pause),
		TEST(a_malformed_answer_is_a_failure_and_loses_nothing),
		TEST(an_exchange_that_cannot_start_is_tried_again),
		TEST(output_is_sent_up_to_a_bound),
		TEST(answers_must_be_signed),
	};

	return cmocka_run_group_tests(tests, make_dir, drop_dir);
}
