/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of interactive steps: what is encoded is decoded the same; what is cut or out of bounds is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/console/console.h"

static uint8_t buf[CONSOLE_MESSAGE_MAX], large[CONSOLE_DATA_MAX + 1];

static void input_comes_back_as_it_was(void **unused)
{
	const struct console_input m = { .serial = 1ULL << 63,
					 .number = 2,
					 .offset = INT64_MAX >> 1,
					 .acked = { 4, 5 },
					 .rows = 1000,
					 .cols = 7,
					 .is_end = true,
					 .is_attached = true,
					 .is_new = true,
					 .data = "a\0b",
					 .size = 3 };
	struct console_input back;
	size_t n = console_encode_input(&m, buf);

	(void)unused;
	assert_int_equal(console_decode_input(buf, n, &back, NULL), 0);
	assert_true(back.serial == m.serial && back.number == 2 && back.offset == m.offset);
	assert_true(back.acked[0] == 4 && back.acked[1] == 5 && back.rows == 1000 &&
		    back.cols == 7);
	assert_true(back.is_end && back.is_attached && back.is_new && !back.hangs_up);
	assert_int_equal(back.size, 3);
	assert_memory_equal(back.data, "a\0b", 3);
}

static void output_comes_back_as_it_was(void **unused)
{
	const struct console_output m = { .serial = 9,
					  .heard = 1ULL << 63,
					  .acked = 8,
					  .streams = { { 10, "out", 3, false },
						       { 20, "er", 2, true } },
					  .is_full = true };
	struct console_output back;
	size_t n = console_encode_output(&m, buf);

	(void)unused;
	assert_int_equal(console_decode_output(buf, n, &back, NULL), 0);
	assert_true(back.serial == 9 && back.heard == m.heard && back.acked == 8 &&
		    back.is_full && !back.takes_no_input);
	assert_true(back.streams[0].offset == 10 && back.streams[0].size == 3 &&
		    !back.streams[0].is_end);
	assert_true(back.streams[1].offset == 20 && back.streams[1].size == 2 &&
		    back.streams[1].is_end);
	assert_memory_equal(back.streams[0].data, "out", 3);
	assert_memory_equal(back.streams[1].data, "er", 2);
}

static void what_is_cut_is_refused(void **unused)
{
	const struct console_output o = { .streams = { { 0, "out", 3, false } } };
	const struct console_input i = { .size = 0 };
	struct console_output back;
	struct console_input in;
	struct err err = { "" };
	size_t n = console_encode_output(&o, buf);

	(void)unused;
	for (size_t k = 0; k < n; k++)
		assert_int_equal(console_decode_output(buf, k, &back, &err), -EBADMSG);
	assert_string_equal(err.text, "the message of an interactive step is malformed");
	assert_int_equal(console_decode_input(buf, n, &in, &err), -EBADMSG);
	n = console_encode_input(&i, buf);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(console_decode_input(buf, k, &in, &err), -EBADMSG);
}

static void what_is_beyond_its_bounds_is_refused(void **unused)
{
	const struct console_input many = { .data = large, .size = sizeof(large) };
	const struct console_output sum = { .streams = { { 0, large, CONSOLE_DATA_MAX, false },
							 { 0, large, 1, false } } };
	const struct console_input plain = { .rows = 1 };
	struct console_input in;
	size_t n = console_encode_input(&plain, buf);

	(void)unused;
	buf[15 + 16] = 0xff; /* the offset is negative */
	assert_int_equal(console_decode_input(buf, n, &in, NULL), -EBADMSG);
	console_encode_input(&plain, buf);
	buf[4] = 16; /* a flag that there is not */
	assert_int_equal(console_decode_input(buf, n, &in, NULL), -EBADMSG);
	assert_int_equal(console_encode_input(&many, buf), 0);
	assert_int_equal(console_encode_output(&sum, buf), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_comes_back_as_it_was),
		cmocka_unit_test(output_comes_back_as_it_was),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(what_is_beyond_its_bounds_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
