/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of interactive steps: an encoded message is decoded the same; a message cut or out of bounds is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/console/console.h"

static uint8_t buf[CONSOLE_MESSAGE_MAX], part[CONSOLE_DATA_SIZE_MAX],
	large[CONSOLE_DATA_MAX + 1];

static void state_comes_back_as_it_was(void **unused)
{
	const struct console_state m = { .session = 1ULL << 63,
					 .number = 2,
					 .offset = INT64_MAX >> 1,
					 .acked = { 4, 5 },
					 .rows = 1000,
					 .cols = 7,
					 .is_attached = true,
					 .is_new = true };
	struct console_state back;
	size_t n = console_encode_state(&m, part);

	(void)unused;
	assert_int_equal(console_decode_state((struct console_part){ part, n }, &back, NULL),
			 0);
	assert_true(back.session == m.session && back.number == 2 && back.offset == m.offset);
	assert_true(back.acked[0] == 4 && back.acked[1] == 5 && back.rows == 1000 &&
		    back.cols == 7);
	assert_true(back.is_attached && back.is_new && !back.hangs_up);
}

static void data_come_back_as_they_were(void **unused)
{
	const struct console_data m = { .session = 1ULL << 63,
					.number = 3,
					.offset = INT64_MAX >> 1,
					.is_end = true,
					.data = "a\0b",
					.size = 3 };
	struct console_data back;
	size_t n = console_encode_data(&m, part);

	(void)unused;
	assert_int_equal(console_decode_data((struct console_part){ part, n }, &back, NULL), 0);
	assert_true(back.session == m.session && back.number == 3 && back.offset == m.offset &&
		    back.is_end);
	assert_int_equal(back.size, 3);
	assert_memory_equal(back.data, "a\0b", 3);
}

static void assert_part(struct console_part got, const void *bytes, size_t size)
{
	assert_int_equal(got.size, size);
	assert_memory_equal(got.bytes, bytes, size);
}

static void parts_of_a_message_come_back_as_they_were(void **unused)
{
	uint8_t state[CONSOLE_STATE_SIZE] = { 7, 7 };
	const struct console_data d = { .data = "typed", .size = 5 };
	const size_t n_data = console_encode_data(&d, part);
	const struct console_input whole = { .serial = 1ULL << 63,
					     .is_lost = true,
					     .credential = { (const uint8_t *)"MUNGE:x:", 8 },
					     .state = { state, sizeof(state) },
					     .data = { part, n_data } };
	struct console_input m, back;
	size_t n;

	(void)unused;
	for (int parts = 0; parts < 8; parts++) { /* each of them may be missing */
		m = whole;
		m.credential.size *= (parts & 1) != 0;
		m.state.size *= (parts & 2) != 0;
		m.data.size *= (parts & 4) != 0;
		n = console_encode_input(&m, buf);
		assert_int_equal(console_decode_input(buf, n, &back, NULL), 0);
		assert_true(back.serial == m.serial && back.is_lost);
		assert_part(back.credential, "MUNGE:x:", m.credential.size);
		assert_part(back.state, state, m.state.size);
		assert_part(back.data, part, m.data.size);
	}
}

/* As it is sent: the head, then the data. */
static size_t encode_output(const struct console_output *m)
{
	size_t n = console_encode_output(m, buf);

	for (int i = 0; n && i < CONSOLE_STREAMS; i++) {
		memcpy(buf + n, m->streams[i].data ? m->streams[i].data : "",
		       m->streams[i].size);
		n += m->streams[i].size;
	}
	return n;
}

static void output_comes_back_as_it_was(void **unused)
{
	const struct console_output m = { .serial = 9,
					  .heard = 1ULL << 63,
					  .refusal = CONSOLE_CHANGED,
					  .refused = 77,
					  .session = 1ULL << 62,
					  .number = 10,
					  .acked = 8,
					  .streams = { { 10, "out", 3, false },
						       { 20, "er", 2, true } },
					  .is_full = true };
	struct console_output back;
	size_t n = encode_output(&m);

	(void)unused;
	assert_int_equal(console_decode_output(buf, n, &back, NULL), 0);
	assert_true(back.serial == 9 && back.heard == m.heard && back.acked == 8 &&
		    back.is_full && !back.takes_no_input);
	assert_true(back.refusal == CONSOLE_CHANGED && back.refused == 77 &&
		    back.session == m.session && back.number == 10);
	assert_true(back.streams[0].offset == 10 && back.streams[0].size == 3 &&
		    !back.streams[0].is_end);
	assert_true(back.streams[1].offset == 20 && back.streams[1].size == 2 &&
		    back.streams[1].is_end);
	assert_memory_equal(back.streams[0].data, "out", 3);
	assert_memory_equal(back.streams[1].data, "er", 2);
}

static void what_is_cut_is_refused(void **unused)
{
	const struct console_output o = { .session = 1, .streams = { { 0, "out", 3, false } } };
	const struct console_state s = { .session = 1 };
	const struct console_data d = { .data = "typed", .size = 5 };
	struct console_input in = { .credential = { (const uint8_t *)"MUNGE:x:", 8 } }, back_in;
	struct console_output back;
	struct console_state state;
	struct console_data data;
	struct err err = { "" };
	size_t n = encode_output(&o);

	(void)unused;
	for (size_t k = 0; k < n; k++)
		assert_int_equal(console_decode_output(buf, k, &back, &err), -EBADMSG);
	assert_string_equal(err.text, "the message of an interactive step is malformed");
	assert_int_equal(console_decode_input(buf, n, &back_in, &err), -EBADMSG);
	n = console_encode_state(&s, part);
	for (size_t k = 0; k < n; k++)
		assert_int_equal(
			console_decode_state((struct console_part){ part, k }, &state, &err),
			-EBADMSG);
	assert_int_equal(
		console_decode_state((struct console_part){ part, n + 1 }, &state, &err),
		-EBADMSG);
	in.state = (struct console_part){ part, n };
	n = console_encode_input(&in, buf);
	for (size_t k = 0; k < n; k++) /* without its last part it is a shorter message */
		assert_int_equal(console_decode_input(buf, k, &back_in, &err), -EBADMSG);
	n = console_encode_data(&d, part);
	for (size_t k = 0; k < n - d.size; k++)
		assert_int_equal(
			console_decode_data((struct console_part){ part, k }, &data, &err),
			-EBADMSG);
	assert_int_equal(console_decode_data((struct console_part){ part, sizeof(part) + 1 },
					     &data, &err),
			 -EBADMSG);
}

static void what_is_beyond_its_bounds_is_refused(void **unused)
{
	const struct console_data many = { .data = large, .size = sizeof(large) };
	const struct console_output sum = { .streams = { { 0, large, CONSOLE_DATA_MAX, false },
							 { 0, large, 1, false } } };
	const struct console_output none = { .streams = { { 0, "x", 1, false } } };
	const struct console_state plain = { .rows = 1 };
	struct console_input in = { .credential = { large, CONSOLE_CREDENTIAL_MAX + 1 } };
	struct console_part p = { part, console_encode_state(&plain, part) };
	struct console_output out;
	struct console_state s;
	size_t n;

	(void)unused;
	part[24 + 7] = 0xff; /* the offset is negative */
	assert_int_equal(console_decode_state(p, &s, NULL), -EBADMSG);
	console_encode_state(&plain, part);
	part[16] = 8; /* a flag that there is not */
	assert_int_equal(console_decode_state(p, &s, NULL), -EBADMSG);
	console_encode_state(&plain, part);
	assert_int_equal(console_decode_state(p, &s, NULL), 0);
	assert_int_equal(console_encode_data(&many, part), 0);
	assert_int_equal(console_encode_output(&sum, buf), 0);
	assert_int_equal(console_encode_input(&in, buf), 0);
	in = (struct console_input){ .state = { large, CONSOLE_STATE_SIZE - 1 } };
	assert_int_equal(console_encode_input(&in, buf), 0);
	in = (struct console_input){ .data = { large, CONSOLE_MAC_SIZE } };
	assert_int_equal(console_encode_input(&in, buf), 0);
	/* Without a session nothing is sealed: there are no data. */
	n = encode_output(&none);
	assert_int_equal(console_decode_output(buf, n, &out, NULL), -EBADMSG);
	n = encode_output(&(struct console_output){ .refusal = CONSOLE_BAD_KEY });
	assert_int_equal(console_decode_output(buf, n, &out, NULL), 0);
	buf[4] = CONSOLE_REFUSAL_COUNT;
	assert_int_equal(console_decode_output(buf, n, &out, NULL), -EBADMSG);
}

static void every_refusal_has_words(void **unused)
{
	(void)unused;
	assert_string_equal(console_refusal_words(CONSOLE_ACCEPTED), "");
	for (int i = CONSOLE_ACCEPTED + 1; i < CONSOLE_REFUSAL_COUNT; i++)
		assert_true(strlen(console_refusal_words((enum console_refusal)i)) > 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_comes_back_as_it_was),
		cmocka_unit_test(data_come_back_as_they_were),
		cmocka_unit_test(parts_of_a_message_come_back_as_they_were),
		cmocka_unit_test(output_comes_back_as_it_was),
		cmocka_unit_test(what_is_cut_is_refused),
		cmocka_unit_test(what_is_beyond_its_bounds_is_refused),
		cmocka_unit_test(every_refusal_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
