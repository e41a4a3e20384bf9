/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The controller's table of interactive steps: which terminal is attached, in whatever order its messages come; lost terminals; bounds. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/api/console/console_table.h"

static struct console_table table;
static int64_t now_ns;
static int n_lost;

static struct console_entry *add_step(int64_t job, uint32_t uid, bool keeps, int *ret)
{
	const struct store_step_place place = { .id = { .job = job, .step = 1, .attempt = 1 },
						.uid = uid,
						.keeps = keeps,
						.node = "n1",
						.address = "" };
	struct console_entry *e = NULL;
	struct err err;

	*ret = console_table_add(&table, &place, now_ns, &e, &err);
	return e;
}

static struct console_entry *one_step(bool keeps)
{
	int r;
	struct console_entry *e = add_step(1, 1000, keeps, &r);

	assert_int_equal(r, 0);
	return e;
}

/* A message of a terminal; the codes in it are not the controller's to check. */
struct sent {
	uint64_t session, number;
	bool is_attached;
	int64_t offset, acked;
	const char *typed; /* NULL: none */
	bool is_end;
	const char *credential;
};

/* A message of the terminal `token`. Returns as console_entry_claim(), then console_entry_set_input(). */
static int send_message(struct console_entry *e, const char *token, struct sent m)
{
	static uint8_t buf[CONSOLE_MESSAGE_MAX], state[CONSOLE_STATE_SIZE], data[1000];
	const struct console_state s = { .session = m.session,
					 .number = m.number,
					 .offset = m.offset,
					 .acked = { m.acked },
					 .is_attached = m.is_attached };
	const struct console_data d = { .session = m.session,
					.number = m.number,
					.offset = m.offset,
					.is_end = m.is_end,
					.data = m.typed,
					.size = m.typed ? strlen(m.typed) : 0 };
	struct console_input in = { .state = { state, console_encode_state(&s, state) } };
	const struct console_claim claim = { .token = token };
	struct err err;
	int r = console_entry_claim(e, &claim, now_ns, &err);

	if (m.typed)
		in.data = (struct console_part){ data, console_encode_data(&d, data) };
	if (m.credential)
		in.credential = (struct console_part){ (const uint8_t *)m.credential,
						       strlen(m.credential) };
	return r < 0 ? r
		     : console_entry_set_input(e, buf, console_encode_input(&in, buf),
					       (uint64_t)now_ns / 1000, &err);
}

/* The message that the node would get now. */
static struct console_input input_of(const struct console_entry *e)
{
	struct console_input m;

	assert_int_equal(console_decode_input(e->input.data, e->input.size, &m, NULL), 0);
	return m;
}

static void count_lost(void *ctx, const struct console_entry *e)
{
	(void)ctx, (void)e;
	n_lost++;
}

static void a_message_overtaken_by_the_detachment_does_not_attach_again(void **unused)
{
	struct console_entry *e = one_step(true);

	(void)unused;
	assert_int_equal(
		send_message(e, "first", (struct sent){ .number = 1, .is_attached = true }), 1);
	assert_int_equal(send_message(e, "first", (struct sent){ .number = 3 }), 1);
	assert_false(e->is_attached);
	/* Sent before, on another connection. */
	assert_int_equal(
		send_message(e, "first", (struct sent){ .number = 2, .is_attached = true }), 0);
	assert_false(e->is_attached);
	assert_int_equal(
		send_message(e, "second", (struct sent){ .number = 1, .is_attached = true }),
		1);
	assert_true(e->is_attached);
	assert_int_equal(
		send_message(e, "first", (struct sent){ .number = 2, .is_attached = true }),
		-EBUSY);
	console_table_clear(&table);
}

/* A message of the step, and the controller's answer. */
static int set_output(struct console_entry *e, const struct console_output *m)
{
	static uint8_t buf[CONSOLE_MESSAGE_MAX];
	size_t n = console_encode_output(m, buf), size = m->streams[CONSOLE_OUT].size;
	struct err err;

	memcpy(buf + n, m->streams[CONSOLE_OUT].data, size);
	return console_entry_set_output(e, buf, n + size, &err);
}

/* A message of the step, which has all input before `heard`. Returns as console_entry_set_output(). */
static int show_message(struct console_entry *e, uint64_t serial, uint64_t heard)
{
	const struct console_output m = { .serial = serial,
					  .heard = heard,
					  .session = 1,
					  .streams = {
						  { .offset = 5, .data = "x", .size = 1 } } };

	return set_output(e, &m);
}

static void output_for_another_terminal_is_not_shown_to_a_new_one(void **unused)
{
	struct console_entry *e = one_step(true);
	uint64_t first;

	(void)unused;
	send_message(e, "first", (struct sent){ .number = 1, .is_attached = true });
	first = e->input.serial;
	assert_int_equal(show_message(e, 1, first), 1);
	send_message(e, "first", (struct sent){ .number = 2 });
	assert_non_null(e->output.data);
	send_message(e, "second", (struct sent){ .number = 1, .is_attached = true });
	assert_null(e->output.data);
	assert_int_equal(show_message(e, 2, first), 0);
	assert_null(e->output.data);
	assert_int_equal(show_message(e, 3, e->input.serial), 1);
	console_table_clear(&table);
}

static void check_data(const struct console_entry *e, int64_t offset, const char *text)
{
	struct console_data d;

	assert_int_equal(console_decode_data(input_of(e).data, &d, NULL), 0);
	assert_int_equal(d.offset, offset);
	assert_int_equal(d.size, strlen(text));
	assert_memory_equal(d.data, text, d.size);
	assert_int_equal(console_entry_input_end(e), offset + (int64_t)strlen(text));
}

static void check_no_data(const struct console_entry *e, int64_t end)
{
	assert_int_equal(input_of(e).data.size, 0);
	assert_int_equal(console_entry_input_end(e), end);
}

static void a_poll_keeps_the_input_that_was_sent_before_it(void **unused)
{
	struct console_entry *e = one_step(true);
	struct sent m = { .number = 1, .is_attached = true, .offset = 10, .typed = "abcdef" };

	(void)unused;
	assert_int_equal(console_entry_input_end(e), 0);
	send_message(e, "t", m);
	check_data(e, 10, "abcdef");
	/* As it was sealed, though the step has read some of it. */
	m = (struct sent){ .number = 2, .is_attached = true, .offset = 12 };
	assert_int_equal(send_message(e, "t", m), 0);
	check_data(e, 10, "abcdef");
	/* All of it. */
	m = (struct sent){ .number = 3, .is_attached = true, .offset = 16 };
	send_message(e, "t", m);
	check_no_data(e, 16);
	/* The end of input stays until other input comes. */
	m = (struct sent){
		.number = 4, .is_attached = true, .offset = 16, .typed = "g", .is_end = true
	};
	assert_int_equal(send_message(e, "t", m), 1);
	m = (struct sent){ .number = 5, .is_attached = true, .offset = 17 };
	assert_int_equal(send_message(e, "t", m), 0);
	check_data(e, 16, "g");
	/* Another terminal's is none of this one. */
	m = (struct sent){ .session = 1, .number = 6, .is_attached = true };
	assert_int_equal(send_message(e, "t", m), 1);
	check_no_data(e, 0);
	console_table_clear(&table);
}

static void the_end_of_input_is_told_at_once_and_once(void **unused)
{
	struct console_entry *e = one_step(true);
	struct sent m = { .number = 1, .is_attached = true };

	(void)unused;
	assert_int_equal(send_message(e, "t", m), 1);
	m = (struct sent){ .number = 2, .is_attached = true, .typed = "", .is_end = true };
	assert_int_equal(send_message(e, "t", m), 1);
	m.number = 3; /* in each poll */
	assert_int_equal(send_message(e, "t", m), 0);
	console_table_clear(&table);
}

static void a_key_goes_to_the_node_with_the_message_that_has_it(void **unused)
{
	struct console_entry *e = one_step(true);
	struct sent m = { .number = 1, .is_attached = true, .credential = "MUNGE:key:" };
	struct console_part p;

	(void)unused;
	assert_int_equal(send_message(e, "t", m), 1);
	p = input_of(e).credential;
	assert_int_equal(p.size, 10);
	assert_memory_equal(p.bytes, "MUNGE:key:", 10);
	m = (struct sent){ .number = 2, .is_attached = true };
	assert_int_equal(send_message(e, "t", m), 0);
	assert_int_equal(input_of(e).credential.size, 0);
	console_table_clear(&table);
}

static void a_message_without_the_state_of_the_terminal_is_refused(void **unused)
{
	struct console_entry *e = one_step(true);
	uint8_t buf[CONSOLE_HEAD_MAX];
	size_t n = console_encode_input(&(struct console_input){ .serial = 1 }, buf);
	struct err err;

	(void)unused;
	assert_int_equal(console_entry_set_input(e, buf, n, 1, &err), -EBADMSG);
	assert_null(e->input.data);
	console_table_clear(&table);
}

/* A terminal acknowledges output that came before the last of it; that could wait. The step then asks for acknowledgements of
 * what the terminal has acknowledged already. */
static void an_acknowledgement_that_could_wait_is_sent_when_the_step_asks_for_it(void **unused)
{
	struct console_entry *e = one_step(true);
	struct sent m = { .number = 1, .is_attached = true };
	struct console_output end = { .serial = 2, .heard = UINT32_MAX, .session = 1 };
	uint64_t told;

	(void)unused;
	send_message(e, "t", m);
	told = e->input.serial;
	assert_int_equal(show_message(e, 1, told), 1);
	m.number = 2;
	m.acked = 6;
	assert_int_equal(send_message(e, "t", m), 0);
	assert_int_equal(e->input.serial, told);
	end.heard = told;
	end.streams[CONSOLE_OUT] =
		(struct console_chunk){ .offset = 5, .data = "x", .size = 1, .is_end = true };
	assert_int_equal(set_output(e, &end), 1);
	m.number = 3;
	assert_int_equal(send_message(e, "t", m), 1);
	assert_true(e->input.serial > told);
	/* Once. */
	m.number = 4;
	assert_int_equal(send_message(e, "t", m), 0);
	console_table_clear(&table);
}

static void a_terminal_that_was_lost_is_attached_again_by_its_next_message(void **unused)
{
	struct console_entry *e = one_step(true);

	(void)unused;
	send_message(e, "first", (struct sent){ .number = 1, .is_attached = true });
	console_table_check(&table, now_ns + CONSOLE_LOST_NS + 1, 1, count_lost, NULL);
	assert_false(e->is_attached);
	assert_int_equal(
		send_message(e, "first", (struct sent){ .number = 2, .is_attached = true }), 1);
	assert_true(e->is_attached);
	console_table_clear(&table);
}

static void a_silent_terminal_is_told_to_its_node_once(void **unused)
{
	struct console_entry *e = one_step(false);
	struct console_state state;

	(void)unused;
	n_lost = 0;
	send_message(e, "t", (struct sent){ .number = 1, .is_attached = true });
	console_table_check(&table, now_ns + CONSOLE_LOST_NS, 1, count_lost, NULL);
	assert_int_equal(n_lost, 0);
	assert_true(e->is_attached);
	assert_false(input_of(e).is_lost);
	console_table_check(&table, now_ns + CONSOLE_LOST_NS + 1, 1, count_lost, NULL);
	console_table_check(&table, now_ns + CONSOLE_LOST_NS + 2, 1, count_lost, NULL);
	assert_int_equal(n_lost, 1);
	assert_true(input_of(e).is_lost);
	/* The terminal's sealed part stays as it was. */
	assert_int_equal(console_decode_state(input_of(e).state, &state, NULL), 0);
	assert_true(state.is_attached && !state.hangs_up);
	send_message(e, "t", (struct sent){ .number = 2, .is_attached = true });
	assert_false(input_of(e).is_lost);
	console_table_clear(&table);
	/* A number that never came. */
	e = one_step(false);
	console_table_check(&table, now_ns + CONSOLE_LOST_NS + 1, 1, count_lost, NULL);
	assert_int_equal(n_lost, 2);
	assert_true(input_of(e).is_lost);
	console_table_clear(&table);
}

static void consoles_are_bounded_for_a_user_and_in_all(void **unused)
{
	int r, job = 0;

	(void)unused;
	for (; job < CONSOLES_PER_USER; job++) {
		add_step(job + 1, 1000, false, &r);
		assert_int_equal(r, 0);
	}
	add_step(job + 1, 1000, false, &r);
	assert_int_equal(r, -EDQUOT);
	for (uint32_t uid = 2000; job < CONSOLES_MAX; uid++) {
		/* Each takes all it may; 30 of them do not get everything. */
		do
			add_step(job + 1, uid, false, &r);
		while (r == 0 && ++job < CONSOLES_MAX);
		assert_true(r == 0 || r == -EDQUOT);
		assert_true(uid >= 2030 || job < CONSOLES_MAX);
	}
	add_step(job + 1, 1, false, &r);
	assert_int_equal(r, -ENOSPC);
	console_table_check(&table, now_ns + CONSOLE_IDLE_NS + 1, 1, count_lost, NULL);
	assert_int_equal(table.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_poll_keeps_the_input_that_was_sent_before_it),
		cmocka_unit_test(
			an_acknowledgement_that_could_wait_is_sent_when_the_step_asks_for_it),
		cmocka_unit_test(a_message_overtaken_by_the_detachment_does_not_attach_again),
		cmocka_unit_test(output_for_another_terminal_is_not_shown_to_a_new_one),
		cmocka_unit_test(
			a_terminal_that_was_lost_is_attached_again_by_its_next_message),
		cmocka_unit_test(a_silent_terminal_is_told_to_its_node_once),
		cmocka_unit_test(the_end_of_input_is_told_at_once_and_once),
		cmocka_unit_test(a_key_goes_to_the_node_with_the_message_that_has_it),
		cmocka_unit_test(a_message_without_the_state_of_the_terminal_is_refused),
		cmocka_unit_test(consoles_are_bounded_for_a_user_and_in_all),
	};

	now_ns = 1000 * S_NS;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
