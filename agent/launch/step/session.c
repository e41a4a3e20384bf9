/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - the terminal of an interactive step; see session.h. */
#include <errno.h>
#include <string.h>
#include "agent/launch/step/session.h"
#include "common/cleanup.h"

#define PIECES_MAX 8

void step_session_init(struct step_session *s, uint64_t begin_ns)
{
	*s = (struct step_session){ .session = 0, .begin_ns = begin_ns };
}

static void refuse_terminal(struct step_session *s, uint64_t session, enum console_refusal why)
{
	s->refused = session;
	s->refusal = why;
}

bool step_session_is_key(const void *packet, size_t size)
{
	uint32_t magic;

	if (size != sizeof(struct step_session_key))
		return false;
	memcpy(&magic, packet, sizeof(magic));
	return magic == STEP_SESSION_KEY_MAGIC;
}

int step_session_begin(struct step_session *s, const struct step_session_key *k)
{
	if (s->session == k->session)
		return 0;
	if (k->is_refused) {
		refuse_terminal(s, k->session, CONSOLE_BAD_KEY);
		return 0;
	}
	if (k->session < s->session || k->session < s->begin_ns) {
		refuse_terminal(s, k->session, CONSOLE_EARLIER);
		return 0;
	}
	s->session = k->session;
	memcpy(s->key, k->key, sizeof(s->key));
	s->state_number = s->data_number = 0;
	s->is_over = false;
	return 1;
}

/* The bytes of a part without its code, which is behind them. */
static bool is_genuine(const struct step_session *s, struct console_part p, const char *label)
{
	const struct iovec piece = { (void *)p.bytes, p.size - SEAL_MAC_SIZE };

	return seal_is_good(s->key, &(struct seal_text){ label, &piece, 1 },
			    p.bytes + piece.iov_len);
}

static int end_session(struct step_session *s)
{
	s->is_over = true;
	refuse_terminal(s, s->session, CONSOLE_CHANGED);
	return -EBADMSG;
}

/* A malformed message names no terminal: it is ignored. */
int step_session_take_state(struct step_session *s, struct console_part p,
			    struct console_state *ret)
{
	struct console_state m;

	if (!p.size || s->is_over || console_decode_state(p, &m, NULL) < 0)
		return 0;
	if (!s->session || m.session != s->session || m.number <= s->state_number)
		return 0;
	if (!is_genuine(s, p, CONSOLE_STATE_LABEL))
		return end_session(s);
	s->state_number = m.number;
	*ret = m;
	return 1;
}

int step_session_take_data(struct step_session *s, struct console_part p,
			   struct console_data *ret)
{
	struct console_data m;

	if (!p.size || s->is_over || console_decode_data(p, &m, NULL) < 0)
		return 0;
	if (!s->session || m.session != s->session || m.number <= s->data_number)
		return 0;
	if (!is_genuine(s, p, CONSOLE_DATA_LABEL))
		return end_session(s);
	s->data_number = m.number;
	*ret = m;
	return 1;
}

void step_session_seal(const struct step_session *s, uint8_t head[static CONSOLE_OUTPUT_HEAD],
		       const struct iovec *data, size_t n)
{
	struct iovec pieces[PIECES_MAX] = { { head + CONSOLE_SEALED_AT, CONSOLE_SEALED_SIZE } };
	struct seal_text t = { CONSOLE_OUTPUT_LABEL, pieces, 1 };

	for (size_t i = 0; i < n && t.n < ARRAY_LEN(pieces); i++)
		pieces[t.n++] = data[i];
	seal_make(s->key, &t, head + CONSOLE_MAC_AT);
}
