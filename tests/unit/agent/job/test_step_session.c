/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node takes of an interactive step's terminal what that has sealed, once and in its order; nothing that was made, changed, repeated or
 * kept back for another terminal on the way. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "agent/launch/step/session.h"
#include "common/cleanup.h"

static const struct step_session_key first = { .magic = STEP_SESSION_KEY_MAGIC,
					       .session = 100,
					       .key = { 1 } };
static const struct step_session_key second = { .magic = STEP_SESSION_KEY_MAGIC,
						.session = 200,
						.key = { 2 } };

/* A part as the terminal with this key makes it. */
struct made {
	uint8_t bytes[256];
	struct console_part part;
};

static void seal_made(struct made *m, size_t size, const uint8_t *key, const char *label)
{
	const struct iovec piece = { m->bytes, size - SEAL_MAC_SIZE };

	seal_make(key, &(struct seal_text){ label, &piece, 1 }, m->bytes + piece.iov_len);
	m->part = (struct console_part){ m->bytes, size };
}

static struct console_part make_state(struct made *m, const struct step_session_key *k,
				      uint64_t number, int rows)
{
	const struct console_state s = {
		.session = k->session, .number = number, .rows = rows, .is_attached = true
	};

	seal_made(m, console_encode_state(&s, m->bytes), k->key, CONSOLE_STATE_LABEL);
	return m->part;
}

static struct console_part make_data(struct made *m, const struct step_session_key *k,
				     uint64_t number, const char *text)
{
	const struct console_data d = {
		.session = k->session, .number = number, .data = text, .size = strlen(text)
	};

	seal_made(m, console_encode_data(&d, m->bytes), k->key, CONSOLE_DATA_LABEL);
	return m->part;
}

static struct step_session begin_session(void)
{
	struct step_session s;

	step_session_init(&s, 50);
	assert_int_equal(step_session_begin(&s, &first), 1);
	return s;
}

static void what_a_terminal_sealed_is_taken_once_and_in_its_order(void **unused)
{
	struct step_session s = begin_session();
	struct console_state state;
	struct console_data data;
	struct made m, again;

	(void)unused;
	assert_int_equal(step_session_take_state(&s, make_state(&m, &first, 1, 24), &state), 1);
	assert_int_equal(state.rows, 24);
	assert_int_equal(step_session_take_state(&s, m.part, &state), 0);
	assert_int_equal(step_session_take_data(&s, make_data(&m, &first, 1, "ls\n"), &data),
			 1);
	assert_int_equal(data.size, 3);
	assert_memory_equal(data.data, "ls\n", 3);
	assert_int_equal(
		step_session_take_data(&s, make_data(&again, &first, 4, "rm\n"), &data), 1);
	/* Repeated, and delayed. */
	assert_int_equal(step_session_take_data(&s, m.part, &data), 0);
	assert_int_equal(step_session_take_data(&s, make_data(&m, &first, 3, "mv\n"), &data),
			 0);
	assert_int_equal(step_session_take_state(&s, (struct console_part){ NULL, 0 }, &state),
			 0);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &first, 5, 25), &state), 1);
	assert_false(s.is_over);
	assert_int_equal(s.refused, 0);
}

static void any_change_ends_the_terminal(void **unused)
{
	struct console_state state;
	struct console_data data;
	struct made m, changed;

	(void)unused;
	make_data(&m, &first, 1, "ls\n");
	/* Behind the session and the number, whose change makes it another one's or an old one. */
	for (size_t bit = 8 * 16; bit < 8 * m.part.size; bit++) {
		struct step_session s = begin_session();
		int r;

		changed = m;
		changed.bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		changed.part.bytes = changed.bytes;
		r = step_session_take_data(&s, changed.part, &data);
		if (console_decode_data(changed.part, &data, NULL) < 0) {
			assert_int_equal(r, 0); /* it is no message */
			continue;
		}
		assert_int_equal(r, -EBADMSG);
		assert_true(s.is_over && s.refused == 100 && s.refusal == CONSOLE_CHANGED);
		/* Nothing of it is taken any more. */
		assert_int_equal(step_session_take_data(&s, m.part, &data), 0);
		assert_int_equal(
			step_session_take_state(&s, make_state(&changed, &first, 9, 1), &state),
			0);
		/* Another terminal may come. */
		assert_int_equal(step_session_begin(&s, &second), 1);
		assert_int_equal(
			step_session_take_data(&s, make_data(&changed, &second, 1, "x"), &data),
			1);
	}
}

static void other_numbers_or_kinds_are_changes(void **unused)
{
	struct console_state state;
	struct console_data data;
	struct step_session s;
	struct made m;

	(void)unused;
	s = begin_session();
	make_state(&m, &first, 1, 24);
	m.bytes[8] = 9;
	assert_int_equal(step_session_take_state(&s, m.part, &state), -EBADMSG);
	/* A message sealed as one kind is not valid as the other. */
	s = begin_session();
	make_state(&m, &first, 1, 24);
	m.part.size = CONSOLE_STATE_SIZE;
	assert_true(step_session_take_data(&s, m.part, &data) <= 0);
	s = begin_session();
	seal_made(&m, CONSOLE_STATE_SIZE, first.key, CONSOLE_DATA_LABEL);
	assert_int_equal(step_session_take_state(&s, m.part, &state), -EBADMSG);
	s = begin_session();
	seal_made(&m, CONSOLE_STATE_SIZE, first.key, CONSOLE_OUTPUT_LABEL);
	assert_int_equal(step_session_take_state(&s, m.part, &state), -EBADMSG);
}

static void nothing_is_taken_before_there_is_a_key(void **unused)
{
	const struct step_session_key none = { .session = 0 };
	struct step_session s;
	struct console_state state;
	struct made m;

	(void)unused;
	step_session_init(&s, 50);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &first, 1, 24), &state), 0);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &none, 1, 24), &state), 0);
	assert_int_equal(s.refused, 0);
}

static void a_later_terminal_takes_over_and_an_earlier_one_never_comes_back(void **unused)
{
	const struct step_session_key old = { .magic = STEP_SESSION_KEY_MAGIC, .session = 49 };
	struct step_session s = begin_session();
	struct console_data data;
	struct made m, late;

	(void)unused;
	assert_int_equal(step_session_begin(&s, &first), 0); /* the same */
	assert_int_equal(s.refused, 0);
	assert_int_equal(step_session_begin(&s, &second), 1);
	assert_int_equal(step_session_take_data(&s, make_data(&late, &first, 7, "rm\n"), &data),
			 0);
	assert_int_equal(step_session_begin(&s, &first), 0);
	assert_true(s.refused == 100 && s.refusal == CONSOLE_EARLIER);
	assert_int_equal(step_session_take_data(&s, late.part, &data), 0);
	assert_int_equal(step_session_take_data(&s, make_data(&m, &second, 1, "ls\n"), &data),
			 1);
	/* A terminal older than the step's signature is refused too. */
	step_session_init(&s, 50);
	assert_int_equal(step_session_begin(&s, &old), 0);
	assert_true(s.refused == 49 && s.refusal == CONSOLE_EARLIER);
}

static void a_bad_key_is_refused_and_disturbs_no_other_terminal(void **unused)
{
	struct step_session_key bad = second;
	struct step_session s = begin_session();
	struct console_state state;
	struct made m;

	(void)unused;
	bad.is_refused = true;
	assert_int_equal(step_session_begin(&s, &bad), 0);
	assert_true(s.refused == 200 && s.refusal == CONSOLE_BAD_KEY && !s.is_over);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &second, 1, 24), &state),
			 0);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &first, 1, 24), &state), 1);
	/* Said of the present one it means nothing: that was proved before. */
	bad.session = first.session;
	s.refused = 0;
	assert_int_equal(step_session_begin(&s, &bad), 0);
	assert_int_equal(s.refused, 0);
	assert_int_equal(step_session_take_state(&s, make_state(&m, &first, 2, 24), &state), 1);
}

static void a_key_is_told_from_a_message(void **unused)
{
	uint8_t buf[sizeof(struct step_session_key)] = { 0 };
	struct made m;

	(void)unused;
	assert_true(step_session_is_key(&first, sizeof(first)));
	assert_false(step_session_is_key(&first, sizeof(first) - 1));
	assert_false(step_session_is_key(buf, sizeof(buf)));
	make_state(&m, &first, 1, 24);
	console_encode_input(&(struct console_input){ .serial = 1 }, buf);
	assert_false(step_session_is_key(buf, sizeof(buf)));
}

static void output_is_sealed_with_head_and_data(void **unused)
{
	struct step_session s = begin_session();
	const struct console_output m = { .session = 100,
					  .number = 3,
					  .streams = { { 0, "hello", 5, false } } };
	uint8_t message[CONSOLE_OUTPUT_HEAD + 5];
	const struct iovec ring[] = { { (void *)"hel", 3 }, { (void *)"lo", 2 } };
	struct iovec pieces[] = { { message + CONSOLE_SEALED_AT, CONSOLE_SEALED_SIZE },
				  { message + CONSOLE_OUTPUT_HEAD, 5 } };
	const struct seal_text t = { CONSOLE_OUTPUT_LABEL, pieces, 2 };

	(void)unused;
	assert_int_equal(console_encode_output(&m, message), CONSOLE_OUTPUT_HEAD);
	step_session_seal(&s, message, ring, 2);
	memcpy(message + CONSOLE_OUTPUT_HEAD, "hello", 5);
	assert_true(seal_is_good(first.key, &t, message + CONSOLE_MAC_AT));
	assert_false(seal_is_good(second.key, &t, message + CONSOLE_MAC_AT));
	message[CONSOLE_OUTPUT_HEAD] = 'j';
	assert_false(seal_is_good(first.key, &t, message + CONSOLE_MAC_AT));
	message[CONSOLE_OUTPUT_HEAD] = 'h';
	message[CONSOLE_SEALED_AT + 8] ^= 1; /* its number */
	assert_false(seal_is_good(first.key, &t, message + CONSOLE_MAC_AT));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_terminal_sealed_is_taken_once_and_in_its_order),
		cmocka_unit_test(any_change_ends_the_terminal),
		cmocka_unit_test(other_numbers_or_kinds_are_changes),
		cmocka_unit_test(nothing_is_taken_before_there_is_a_key),
		cmocka_unit_test(
			a_later_terminal_takes_over_and_an_earlier_one_never_comes_back),
		cmocka_unit_test(a_bad_key_is_refused_and_disturbs_no_other_terminal),
		cmocka_unit_test(a_key_is_told_from_a_message),
		cmocka_unit_test(output_is_sealed_with_head_and_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
