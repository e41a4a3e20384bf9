/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sealed.c - makes the key of a terminal, signs its input, checks the output that it shows; see sealed.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "cli/client/session/sealed.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/signature/signature.h"

_Static_assert(SEAL_KEY_SIZE == SIGNATURE_KEY_SIZE, "the statement has a whole key");
_Static_assert(SEAL_MAC_SIZE == CONSOLE_MAC_SIZE, "a part has room for a whole code");

int sealed_open(const struct cli *c, int64_t job, int64_t step, struct sealed *ret,
		struct err *err)
{
	struct signature_console s = { .job = job,
				       .step = step,
				       .began_ns = clock_ns(CLOCK_REALTIME) };
	_cleanup_free_ char *statement = NULL;
	int r;

	if (getrandom(s.key, sizeof(s.key), 0) != sizeof(s.key))
		return err_set(err, -errno, "getrandom: %m");
	r = signature_encode_console(&s, &statement, err);
	if (r == 0)
		r = cli_seal_text(c, statement, &ret->credential, err);
	if (r < 0)
		return r;
	if (strlen(ret->credential) > CONSOLE_CREDENTIAL_MAX)
		return err_set(err, -EMSGSIZE, "munge's credential is longer than %d bytes",
			       CONSOLE_CREDENTIAL_MAX);
	memcpy(ret->key, s.key, sizeof(ret->key));
	ret->session = (uint64_t)s.began_ns;
	return 0;
}

void sealed_done(struct sealed *s)
{
	free(s->credential);
	*s = (struct sealed){ .credential = NULL };
}

/* The code, behind the other bytes of a part. */
static struct console_part seal_part(const struct sealed *s, uint8_t *bytes, size_t size,
				     const char *label)
{
	const struct iovec piece = { bytes, size - SEAL_MAC_SIZE };

	seal_make(s->key, &(struct seal_text){ label, &piece, 1 }, bytes + piece.iov_len);
	return (struct console_part){ bytes, size };
}

size_t sealed_encode(struct sealed *s, const struct console_state *state,
		     const struct console_data *data, uint8_t *buf)
{
	static uint8_t typed[CONSOLE_DATA_SIZE_MAX];
	uint8_t head[CONSOLE_STATE_SIZE];
	struct console_state now = *state;
	struct console_input m = { .serial = 0 };

	now.session = s->session;
	now.number = ++s->state_number;
	m.state = seal_part(s, head, console_encode_state(&now, head), CONSOLE_STATE_LABEL);
	if (data) {
		struct console_data d = *data;

		d.session = s->session;
		d.number = now.number;
		m.data =
			seal_part(s, typed, console_encode_data(&d, typed), CONSOLE_DATA_LABEL);
	}
	if (!s->is_known)
		m.credential = (struct console_part){ (const uint8_t *)s->credential,
						      strlen(s->credential) };
	return console_encode_input(&m, buf);
}

int sealed_check(struct sealed *s, const void *message, const struct console_output *m,
		 struct err *err)
{
	const uint8_t *head = message;
	const struct iovec pieces[] = {
		{ (void *)(head + CONSOLE_SEALED_AT), CONSOLE_SEALED_SIZE },
		{ (void *)m->streams[CONSOLE_OUT].data, m->streams[CONSOLE_OUT].size },
		{ (void *)m->streams[CONSOLE_ERR].data, m->streams[CONSOLE_ERR].size },
	};
	const struct seal_text text = { CONSOLE_OUTPUT_LABEL, pieces, ARRAY_LEN(pieces) };

	if (m->refused == s->session)
		return err_set(err, -EPROTO, "the node refuses this terminal: %s",
			       console_refusal_words(m->refusal));
	if (m->session != s->session || m->number <= s->number)
		return 0;
	if (!seal_is_good(s->key, &text, head + CONSOLE_MAC_AT))
		return err_set(err, -EPROTO,
			       "what the command printed was changed on its way from the node; "
			       "nothing more of it is shown");
	s->number = m->number;
	s->is_known = true;
	return 1;
}
