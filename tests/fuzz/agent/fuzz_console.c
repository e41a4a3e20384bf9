/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fuzz_console.c - any bytes as a message between a terminal and an interactive step: refused with words, or its parts lie within the bytes,
 * and a node takes nothing of it, since its terminal has sealed none of it.
 *
 * links: common/err common/model/console/console common/seal/seal agent/launch/step/session
 *
 * libs: -lnettle
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "agent/launch/step/session.h"
#include "common/err.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_within(const uint8_t *data, size_t size, const void *part, size_t n)
{
	const uint8_t *p = part;

	if (n && (p < data || p + n > data + size))
		abort();
}

/* A node with a terminal of the session that the message names. */
static void check_parts(const struct console_input *m)
{
	struct step_session_key key = { .magic = STEP_SESSION_KEY_MAGIC, .key = "secret" };
	struct console_state state;
	struct console_data typed;
	struct step_session s;

	if (console_decode_state(m->state, &state, NULL) == 0)
		key.session = state.session;
	else if (console_decode_data(m->data, &typed, NULL) == 0)
		key.session = typed.session;
	step_session_init(&s, 1);
	step_session_begin(&s, &key);
	if (step_session_take_state(&s, m->state, &state) > 0 ||
	    step_session_take_data(&s, m->data, &typed) > 0)
		abort();
}

static void check_input(const uint8_t *data, size_t size)
{
	struct console_input m;
	struct console_data typed;
	struct err err = { "" };

	if (console_decode_input(data, size, &m, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	check_within(data, size, m.credential.bytes, m.credential.size);
	check_within(data, size, m.state.bytes, m.state.size);
	check_within(data, size, m.data.bytes, m.data.size);
	if (console_decode_data(m.data, &typed, NULL) == 0)
		check_within(data, size, typed.data, typed.size);
	check_parts(&m);
}

static void check_output(const uint8_t *data, size_t size)
{
	struct console_output m;
	struct err err = { "" };

	if (console_decode_output(data, size, &m, &err) < 0) {
		if (!*err.text)
			abort();
		return;
	}
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		check_within(data, size, m.streams[i].data, m.streams[i].size);
	if (!console_refusal_words(m.refusal))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_input(data, size);
	check_output(data, size);
	return 0;
}
