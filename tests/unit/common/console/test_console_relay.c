/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The document in which messages of interactive steps travel between node and controller: whole, and none that reaches beyond its bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/wire/console/console_relay.h"
#include "common/wire/wire.h"

static struct console_relay_step make_step(int64_t number, const char *text)
{
	return (struct console_relay_step){ .id = { .job = 7, .attempt = 1, .step = number },
					    .seen = 9,
					    .message = text,
					    .size = (int64_t)strlen(text) };
}

static void messages_come_back_as_they_were(void **state)
{
	struct console_relay_step steps[] = { make_step(1, "first"), make_step(2, ""),
					      make_step(3, "third") };
	const struct console_relay r = { .node = "n1", .steps = steps, .n_steps = 3 };
	_cleanup_json_ json_t *doc = NULL, *again = NULL;
	struct console_relay back;
	size_t size;
	char *text;

	(void)state;
	assert_int_equal(console_relay_encode(&r, &doc, NULL), 0);
	text = wire_format_whole(doc, &size);
	assert_int_equal(wire_parse_whole(text, size, &again, NULL), 0);
	free(text);
	assert_int_equal(console_relay_decode(again, &back, NULL), 0);
	assert_int_equal(back.n_steps, 3);
	assert_memory_equal(back.steps[0].message, "first", 5);
	assert_int_equal(back.steps[1].size, 0);
	assert_null(back.steps[1].message);
	assert_memory_equal(back.steps[2].message, "third", 5);
	assert_int_equal(back.steps[2].seen, 9);
	console_relay_done(&back);
}

static void a_size_that_the_bytes_do_not_have_is_refused(void **state)
{
	static const struct {
		const char *sizes[2], *bytes, *words;
	} bad[] = {
		{ { "3", "3" }, "abcde", "steps[1].size: fewer bytes" },
		{ { "1", "1" }, "abc", "more bytes" },
		{ { "9223372036854775807", "1" }, "abc", "size" },
		{ { "-1", "4" }, "abc", "size" },
		{ { "1", "0" }, "", "steps[0].size: fewer bytes" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		_cleanup_json_ json_t *doc = NULL;
		struct console_relay r;
		struct err err = { "" };
		char text[400];
		int n = snprintf(text, sizeof(text),
				 "{\"schema\":\"reeve/1\",\"node\":\"n1\",\"steps\":["
				 "{\"job\":1,\"attempt\":1,\"step\":1,\"size\":%s},"
				 "{\"job\":1,\"attempt\":1,\"step\":2,\"size\":%s}]}%c%s",
				 bad[i].sizes[0], bad[i].sizes[1], 0, bad[i].bytes);

		assert_int_equal(wire_parse_whole(text, (size_t)n, &doc, NULL), 0);
		assert_int_equal(console_relay_decode(doc, &r, &err), -EINVAL);
		if (!strstr(err.text, bad[i].words))
			fail_msg("%zu: %s", i, err.text);
		console_relay_done(&r);
	}
}

static void steps_without_bytes_have_no_message(void **state)
{
	static const char text[] =
		"{\"schema\":\"reeve/1\",\"node\":\"n1\",\"steps\":["
		"{\"job\":1,\"attempt\":1,\"step\":1},{\"job\":1,\"attempt\":1,\"step\":2}]}";
	_cleanup_json_ json_t *doc = NULL;
	struct console_relay r;

	(void)state;
	assert_int_equal(wire_parse_whole(text, strlen(text), &doc, NULL), 0);
	assert_int_equal(console_relay_decode(doc, &r, NULL), 0);
	assert_int_equal(r.n_steps, 2);
	assert_null(r.steps[0].message);
	assert_null(r.steps[1].message);
	console_relay_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_come_back_as_they_were),
		cmocka_unit_test(a_size_that_the_bytes_do_not_have_is_refused),
		cmocka_unit_test(steps_without_bytes_have_no_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
