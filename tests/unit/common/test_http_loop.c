/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_http_loop - calls of a command in an event loop, over sockets of its own. The test is the controller: it accepts, reads and
 * answers between two turns of the loop. Signatures are played. */
#include <arpa/inet.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include <cmocka.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/http/exchange.h"

int auth_sign(const char *socket, struct auth_text text, char ret[static AUTH_HEADER_MAX],
	      struct err *err)
{
	(void)socket, (void)text, (void)err;
	strcpy(ret, "Munge MUNGE:x:");
	return 0;
}

int auth_verify(const char *socket, const char *header, struct auth_text text,
		struct auth_who *ret, struct err *err)
{
	(void)socket, (void)header, (void)text, (void)ret;
	return err_set(err, -EACCES, "not played");
}

static sd_event *event;
static struct http *http;
static int listener, peer;
static int n_done, result;
static char words[512];

static struct sockaddr_in listen_here(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t size = sizeof(a);

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, size), 0);
	assert_int_equal(listen(listener, 5), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &size), 0);
	return a;
}

static int set_up(void **unused)
{
	struct http_config c = { .timeout_s = 20, .answer_uid = -1 };
	struct sockaddr_in a = listen_here();
	struct err err;
	char url[64];

	(void)unused;
	peer = -1;
	n_done = result = 0;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(a.sin_port));
	c.url = url;
	return sd_event_new(&event) < 0 || http_open(&c, &http, &err) < 0 ||
			       http_attach(http, event, &err) < 0
		       ? -1
		       : 0;
}

static int tear_down(void **unused)
{
	(void)unused;
	http = http_close(http);
	event = sd_event_unref(event);
	close(listener);
	if (peer >= 0)
		close(peer);
	return 0;
}

static void on_done(void *ctx, int r, json_t *answer, const struct err *err)
{
	assert_ptr_equal(ctx, &n_done);
	n_done++;
	result = r;
	snprintf(words, sizeof(words), "%s", err->text);
	if (r == 0)
		assert_int_equal(json_integer_value(json_object_get(answer, "n")), 7);
	json_decref(answer);
}

/* Until there is nothing to do for 50 ms, or the call has ended. */
static void run_loop(void)
{
	int before = n_done;

	while (n_done == before && sd_event_run(event, 50000) > 0)
		;
}

static void start_call(const char *method)
{
	struct http_call call = { .method = method, .path = "/v1/x" };
	struct err err;

	assert_int_equal(http_start(http, call, on_done, &n_done, &err), 0);
	run_loop();
}

static void take_connection(void)
{
	if (peer >= 0)
		close(peer);
	peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
}

static void read_request(const char *first)
{
	char text[4096];
	ssize_t n = recv(peer, text, sizeof(text) - 1, MSG_DONTWAIT);

	assert_true(n > 0);
	text[n] = '\0';
	assert_memory_equal(text, first, strlen(first));
	assert_non_null(strstr(text, "\r\n\r\n"));
}

static void send_bytes(const char *bytes)
{
	assert_int_equal(send(peer, bytes, strlen(bytes), MSG_NOSIGNAL), strlen(bytes));
	run_loop();
}

#define ANSWER                                                                                 \
	"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 26\r\n\r\n{\"schema\":\"reeve/1\",\"n\":7}"

static void calls_go_one_after_the_other_over_one_connection(void **unused)
{
	(void)unused;
	for (int i = 1; i <= 3; i++) {
		start_call("GET");
		if (i == 1)
			take_connection();
		read_request("GET /v1/x HTTP/1.1\r\n");
		assert_int_equal(n_done, i - 1);
		send_bytes(ANSWER);
		assert_int_equal(n_done, i);
		assert_int_equal(result, 0);
	}
	assert_null(http->transfer); /* libcurl was not loaded */
}

static void an_answer_may_come_byte_by_byte(void **unused)
{
	(void)unused;
	start_call("POST");
	take_connection();
	read_request("POST /v1/x HTTP/1.1\r\n");
	for (const char *p = ANSWER; *p; p++) {
		assert_int_equal(n_done, 0);
		assert_int_equal(send(peer, p, 1, MSG_NOSIGNAL), 1);
		assert_true(sd_event_run(event, 500000) > 0);
	}
	assert_int_equal(n_done, 1);
	assert_int_equal(result, 0);
}

static void a_controller_that_is_not_there_is_told_from_the_loop(void **unused)
{
	(void)unused;
	close(listener);
	for (int i = 1; i <= 2; i++) {
		struct http_call call = { .method = "GET", .path = "/v1/x" };
		struct err err;

		assert_int_equal(http_start(http, call, on_done, &n_done, &err), 0);
		assert_int_equal(n_done, i - 1);
		run_loop();
		assert_int_equal(n_done, i);
		assert_int_equal(result, -ECONNREFUSED);
		assert_non_null(strstr(words, "cannot reach the controller at http://127"));
	}
	listen_here(); /* for tear_down() */
}

static void a_connection_that_ends_is_no_answer_and_the_next_call_has_a_new_one(void **unused)
{
	(void)unused;
	start_call("GET");
	take_connection();
	close(peer);
	peer = -1;
	run_loop();
	assert_int_equal(n_done, 1);
	assert_int_equal(result, -EPROTO);
	start_call("GET");
	take_connection();
	send_bytes(ANSWER);
	assert_int_equal(result, 0);
}

/* The controller closes a connection that is idle at the very moment at which the next call is sent. */
static void a_get_over_a_connection_that_was_kept_is_made_again(void **unused)
{
	static const char *const methods[] = { "GET", "POST" };

	(void)unused;
	for (int i = 0; i < 2; i++) {
		start_call("GET");
		take_connection();
		send_bytes(ANSWER);
		start_call(methods[i]);
		close(peer);
		peer = -1;
		run_loop();
		assert_int_equal(n_done, i ? 4 : 1);
		if (i)
			break;
		take_connection();
		read_request("GET");
		send_bytes(ANSWER);
		assert_int_equal(n_done, 2);
		assert_int_equal(result, 0);
		http_cancel(http);
		shutdown(peer, SHUT_RDWR);
	}
	assert_int_equal(result, -EPROTO);
}

static void a_call_that_is_cancelled_leaves_no_answer_to_the_next(void **unused)
{
	(void)unused;
	start_call("GET");
	take_connection();
	http_cancel(http);
	start_call("GET");
	take_connection();
	read_request("GET");
	send_bytes(ANSWER);
	assert_int_equal(n_done, 1);
	assert_int_equal(result, 0);
	start_call("GET"); /* and closing amid a call is no fault */
}

static void an_answer_that_does_not_come_ends_the_call(void **unused)
{
	(void)unused;
	http->timeout_s = 1;
	start_call("GET");
	take_connection();
	while (n_done == 0)
		assert_true(sd_event_run(event, 10000000) > 0);
	assert_int_equal(result, -ETIMEDOUT);
	assert_non_null(strstr(words, "nothing came within 1 s"));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(calls_go_one_after_the_other_over_one_connection),
		TEST(an_answer_may_come_byte_by_byte),
		TEST(a_controller_that_is_not_there_is_told_from_the_loop),
		TEST(a_connection_that_ends_is_no_answer_and_the_next_call_has_a_new_one),
		TEST(a_get_over_a_connection_that_was_kept_is_made_again),
		TEST(a_call_that_is_cancelled_leaves_no_answer_to_the_next),
		TEST(an_answer_that_does_not_come_ends_the_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
