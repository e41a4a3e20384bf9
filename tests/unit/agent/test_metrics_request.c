/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_metrics_request - what a client of the agent's metrics asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "agent/metrics/request.h"

static char buffer[METRICS_REQUEST_MAX + 1];

/* -1: not complete. */
static int status_of(const char *text)
{
	struct metrics_request r;

	strcpy(buffer, text);
	return metrics_request_parse(buffer, strlen(text), &r) ? r.status : -1;
}

static void a_request_has_its_status(void **unused)
{
	(void)unused;
	assert_int_equal(status_of("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"), 200);
	assert_int_equal(status_of("GET /metrics?x=1 HTTP/1.0\n\n"), 200);
	assert_int_equal(status_of("HEAD /metrics HTTP/1.1\r\n\r\n"), 200);
	assert_int_equal(status_of("GET / HTTP/1.1\r\n\r\n"), 404);
	assert_int_equal(status_of("GET /metricsx HTTP/1.1\r\n\r\n"), 404);
	assert_int_equal(status_of("POST /metrics HTTP/1.1\r\n\r\n"), 405);
	assert_int_equal(status_of("get /metrics HTTP/1.1\r\n\r\n"), 405);
	assert_int_equal(status_of("GET /metrics\r\n\r\n"), 400);
	assert_int_equal(status_of("GET /metrics HTTP/2\r\n\r\n"), 400);
	assert_int_equal(status_of("GET http://n1/metrics HTTP/1.1\r\n\r\n"), 400);
	assert_int_equal(status_of("\x16\x03\x01\r\n\r\n"), 400);
	assert_int_equal(status_of("\r\n\r\n"), 400);
	assert_int_equal(status_of("\n\n"), 400);
}

static void a_part_of_a_head_is_waited_for_up_to_its_bound(void **unused)
{
	static const char whole[] = "GET /metrics HTTP/1.1\r\nAccept: text/plain\r\n\r\n";
	struct metrics_request r;

	(void)unused;
	for (size_t n = 0; n < sizeof(whole) - 1; n++) {
		memcpy(buffer, whole, n);
		assert_false(metrics_request_parse(buffer, n, &r));
	}
	memset(buffer, 'a', METRICS_REQUEST_MAX);
	assert_false(metrics_request_parse(buffer, METRICS_REQUEST_MAX - 1, &r));
	assert_true(metrics_request_parse(buffer, METRICS_REQUEST_MAX, &r));
	assert_int_equal(r.status, 431);
}

static void headers_are_found_whatever_their_case_and_the_first_counts(void **unused)
{
	struct metrics_request r;

	(void)unused;
	strcpy(buffer, "GET /metrics HTTP/1.1\r\nX-Accept: no\r\naccept:  a/b \r\n"
		       "ACCEPT: c\r\nauthorization: Bearer x\r\n\r\n");
	assert_true(metrics_request_parse(buffer, strlen(buffer), &r));
	assert_string_equal(r.accept, "a/b ");
	assert_string_equal(r.authorization, "Bearer x");
	strcpy(buffer, "GET /metrics HTTP/1.1\r\nAcceptx: a\r\n\r\nAccept: behind\r\n");
	assert_true(metrics_request_parse(buffer, strlen(buffer), &r));
	assert_null(r.accept);
	assert_null(r.authorization);
}

static void a_nul_byte_is_no_part_of_a_head(void **unused)
{
	char text[] = "GET /metrics HTTP/1.1\r\nA\0: b\r\n\r\n";
	struct metrics_request r;

	(void)unused;
	assert_true(metrics_request_parse(text, sizeof(text) - 1, &r));
	assert_int_equal(r.status, 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_has_its_status),
		cmocka_unit_test(a_part_of_a_head_is_waited_for_up_to_its_bound),
		cmocka_unit_test(headers_are_found_whatever_their_case_and_the_first_counts),
		cmocka_unit_test(a_nul_byte_is_no_part_of_a_head),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
