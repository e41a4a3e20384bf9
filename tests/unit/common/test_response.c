/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_response - a response is read the same in pieces of any size; what could be read in two ways is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/http/response.h"
#include "common/wire/wire.h"

struct read {
	int result, status;
	char body[256];
	bool closes;
	char credential[64];
	int64_t next;
	char fault[64];
};

/* In pieces of that size; `ended`: the connection is closed behind the last byte. */
static struct read read_response(const char *bytes, size_t size, size_t piece, bool ended)
{
	struct http_buffer body = { NULL, 0, 0 };
	struct response *r = calloc(1, sizeof(*r));
	struct read got = { .result = 0 };

	assert_non_null(r);
	r->body = &body;
	r->body_max = sizeof(got.body) - 1;
	for (size_t at = 0; at < size && got.result == 0; at += piece)
		got.result =
			response_feed(r, bytes + at, size - at < piece ? size - at : piece);
	if (got.result == 0 && ended)
		got.result = response_end(r);
	got.status = r->status;
	got.closes = r->closes;
	if (body.size)
		memcpy(got.body, body.data, body.size);
	snprintf(got.credential, sizeof(got.credential), "%.60s", r->credential);
	got.next = r->next;
	snprintf(got.fault, sizeof(got.fault), "%s", r->fault ? r->fault : "");
	free(body.data);
	free(r);
	return got;
}

static struct read in_any_pieces(const char *bytes, bool ended)
{
	size_t size = strlen(bytes);
	struct read whole = read_response(bytes, size, size ? size : 1, ended);

	for (size_t piece = 1; piece < size; piece++) {
		struct read part = read_response(bytes, size, piece, ended);

		assert_int_equal(part.result, whole.result);
		assert_int_equal(part.status, whole.status);
		assert_string_equal(part.fault, whole.fault);
		if (whole.result == 1) {
			assert_string_equal(part.body, whole.body);
			assert_string_equal(part.credential, whole.credential);
			assert_int_equal(part.next, whole.next);
		}
	}
	return whole;
}

static void test_forms(void **state)
{
	static const struct {
		const char *bytes, *body;
		int status;
		bool ended, closes;
	} good[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "abc", 200, false, false },
		{ "HTTP/1.1 200\r\ncontent-length:3 \t\r\n\r\nabc", "abc", 200, false, false },
		{ "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", "abc", 200, false, false },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", "abc",
		  200, false, false },
		{ "HTTP/1.1 404 Not Found\r\nConnection: Keep-Alive, Close\r\nContent-Length: 0\r\n\r\n",
		  "", 404, false, true },
		{ "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\na", "a", 200, false, true },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 X\r\nContent-Length: 1\r\n\r\na",
		  "a", 503, false, false },
		{ "HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", "", 204, false,
		  false },
		{ "HTTP/1.1 200 OK\r\n\r\nall of it", "all of it", 200, true, true },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n"
		  "3\r\nabc\r\n0A;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
		  "abc0123456789", 200, false, false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct read r = in_any_pieces(good[i].bytes, good[i].ended);

		assert_int_equal(r.result, 1);
		assert_int_equal(r.status, good[i].status);
		assert_string_equal(r.body, good[i].body);
		assert_int_equal(r.closes, good[i].closes);
	}
}

static void test_refusals(void **state)
{
	static const struct {
		const char *bytes, *fault;
	} bad[] = {
		{ "SSH-2.0-OpenSSH_9.2\r\n", "it is not HTTP/1.1" },
		{ "HTTP/2 200\r\n", "it is not HTTP/1.1" },
		{ "HTTP/1.1 2x0 OK\r\n", "its status line has no status" },
		{ "HTTP/1.1 2000\r\n", "its status line has no status" },
		{ "HTTP/1.1 101 Switching\r\n", "it changes to another protocol" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n",
		  "its Content-Length is no number" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9999999999999999999\r\n",
		  "its Content-Length is no number" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n",
		  "it has two lengths" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
		  "it has a length and chunks" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n",
		  "its Transfer-Encoding is not chunked" },
		{ "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n",
		  "its body is encoded, which was not asked for" },
		{ "HTTP/1.1 200 OK\r\nX: y\r\n folded\r\n", "a line of its header is none" },
		{ "HTTP/1.1 200 OK\r\nContent-Length : 3\r\n", "a line of its header is none" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
		  "the size of a chunk is no number" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n",
		  "a chunk is too large" },
		{ "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
		  "a chunk is longer than its size" },
		{ "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab", "it ends in the middle" },
		{ "", "the connection was closed without one" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct read r = in_any_pieces(bad[i].bytes, true);

		assert_int_equal(r.result, -EPROTO);
		assert_string_equal(r.fault, bad[i].fault);
	}
}

/* A sender that never comes to an end fills no memory. */
static void test_bounds(void **state)
{
	static const char line[] =
		"X: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n";
	static const char chunks[] = "1\r\na\r\n";
	char long_line[RESPONSE_LINE_MAX + 1];
	struct http_buffer body = { NULL, 0, 0 };
	struct response *r = calloc(1, sizeof(*r));
	size_t n = 0;

	(void)state;
	assert_non_null(r);
	*r = (struct response){ .body = &body, .body_max = 100 };
	assert_int_equal(response_feed(r, "HTTP/1.1 200 OK\r\n", 17), 0);
	while (response_feed(r, line, sizeof(line) - 1) == 0)
		n += sizeof(line);
	assert_string_equal(r->fault, "its header is too long");
	assert_true(n <= RESPONSE_HEAD_MAX * 2);
	memset(long_line, 'a', sizeof(long_line));
	*r = (struct response){ .body = &body, .body_max = 100 };
	assert_int_equal(response_feed(r, long_line, sizeof(long_line)), -EPROTO);
	*r = (struct response){ .body = &body, .body_max = 100 };
	assert_int_equal(
		response_feed(r, "HTTP/1.1 200\r\nTransfer-Encoding: chunked\r\n\r\n", 44), 0);
	for (n = 0; response_feed(r, chunks, sizeof(chunks) - 1) == 0; n++)
		;
	assert_int_equal(n, 100);
	assert_int_equal(response_feed(r, chunks, 4), -EMSGSIZE);
	*r = (struct response){ .body = &body, .body_max = 100 };
	assert_int_equal(response_feed(r, "HTTP/1.1 200\0 OK\r\n", 18), -EPROTO);
	free(body.data);
	free(r);
}

static void test_credential(void **state)
{
	char bytes[AUTH_HEADER_MAX + 128];
	char *p = bytes + sprintf(bytes, "HTTP/1.1 200 OK\r\n" AUTH_ANSWER_HEADER ": ");

	(void)state;
	assert_string_equal(
		in_any_pieces("HTTP/1.1 200 OK\r\nx-reeve-credential:  Munge MUNGE:ab:  "
			      "\r\nContent-Length: 0\r\n\r\n",
			      false)
			.credential,
		"Munge MUNGE:ab:");
	memset(p, 'a', AUTH_HEADER_MAX);
	strcpy(p + AUTH_HEADER_MAX, "\r\nContent-Length: 0\r\n\r\n");
	assert_int_equal(read_response(bytes, strlen(bytes), 7, false).result, 1);
	assert_string_equal(read_response(bytes, strlen(bytes), 7, false).credential, "");
}

static int64_t next_of(const char *value)
{
	char bytes[256];

	snprintf(bytes, sizeof(bytes), "HTTP/1.1 200 OK\r\n%s%s\r\nContent-Length: 0\r\n\r\n",
		 WIRE_NEXT_HEADER ": ", value);
	return in_any_pieces(bytes, false).next;
}

static void test_next(void **state)
{
	(void)state;
	assert_int_equal(next_of("12"), 12);
	assert_int_equal(next_of("999999999999999999"), 999999999999999999);
	assert_int_equal(next_of("1000000000000000000"), 0);
	assert_int_equal(next_of("-12"), 0);
	assert_int_equal(next_of("12, 13"), 0);
	assert_int_equal(next_of(""), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms),  cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_bounds), cmocka_unit_test(test_credential),
		cmocka_unit_test(test_next),
	};

	return cmocka_run_group_tests_name("response", tests, NULL, NULL);
}
