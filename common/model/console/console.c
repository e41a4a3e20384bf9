/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - encodes and decodes the messages of interactive steps; see console.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/model/console/console.h"

#define INPUT_MAGIC 0x32494352U	 /* "RCI2" */
#define OUTPUT_MAGIC 0x324f4352U /* "RCO2" */

enum input_flag { INPUT_LOST = 1, INPUT_FLAGS = 1 };
enum state_flag {
	STATE_ATTACHED = 1,
	STATE_HANGUP = 2,
	STATE_NEW = 4,
	STATE_FLAGS = 7,
};
enum data_flag { DATA_END = 1, DATA_FLAGS = 1 };
enum output_flag {
	OUTPUT_END_OUT = 1,
	OUTPUT_END_ERR = 2,
	OUTPUT_FULL = 4,
	OUTPUT_NO_INPUT = 8,
	OUTPUT_FLAGS = 15,
};

/* Offsets stay so far below INT64_MAX that offset + size never overflows. */
#define OFFSET_MAX (INT64_MAX >> 1)

/* A place in a message that is written or read number by number. */
struct cursor {
	uint8_t *to;
	const uint8_t *from;
	size_t left;
	bool is_short; /* the message ended within a number */
};

static void write_number(struct cursor *c, uint64_t n, size_t bytes)
{
	uint64_t le = htole64(n);

	memcpy(c->to, &le, bytes);
	c->to += bytes;
}

static uint64_t read_number(struct cursor *c, size_t bytes)
{
	uint64_t le = 0;

	if (c->left < bytes) {
		c->is_short = true;
		return 0;
	}
	memcpy(&le, c->from, bytes);
	c->from += bytes;
	c->left -= bytes;
	return le64toh(le);
}

/* A number outside 0 ... `max` makes the message invalid. */
static int64_t read_bounded(struct cursor *c, size_t bytes, uint64_t max)
{
	uint64_t n = read_number(c, bytes);

	c->is_short |= n > max;
	return c->is_short ? 0 : (int64_t)n;
}

static int refuse_message(const char *what, struct err *err)
{
	return err_set(err, -EBADMSG, "the message of %s is malformed", what);
}

const char *console_refusal_words(enum console_refusal why)
{
	static const char *const words[CONSOLE_REFUSAL_COUNT] = {
		[CONSOLE_ACCEPTED] = "",
		[CONSOLE_BAD_KEY] =
			"its key is not one that the job's user made for this command",
		[CONSOLE_EARLIER] =
			"by the clocks of their machines it began before the one that the "
			"command has; set the clocks, or attach again a little later",
		[CONSOLE_CHANGED] = "what was typed there was changed on its way to the node",
	};

	return words[why];
}

/* ---- input ---- */

static void write_part(struct cursor *c, struct console_part p)
{
	if (p.size)
		memcpy(c->to, p.bytes, p.size);
	c->to += p.size;
}

static struct console_part read_part(struct cursor *c, size_t size)
{
	struct console_part p = { c->from, size };

	c->is_short |= c->left < size;
	if (c->is_short || !size)
		return (struct console_part){ NULL, 0 };
	c->from += size;
	c->left -= size;
	return p;
}

static bool has_sizes(const struct console_input *m)
{
	return m->credential.size <= CONSOLE_CREDENTIAL_MAX &&
	       (!m->state.size || m->state.size == CONSOLE_STATE_SIZE) &&
	       (!m->data.size || m->data.size >= CONSOLE_DATA_HEAD + CONSOLE_MAC_SIZE) &&
	       m->data.size <= CONSOLE_DATA_SIZE_MAX;
}

size_t console_encode_input(const struct console_input *m, uint8_t *buf)
{
	struct cursor c = { .to = buf };

	if (!has_sizes(m))
		return 0;
	write_number(&c, INPUT_MAGIC, 4);
	write_number(&c, m->is_lost ? INPUT_LOST : 0, 4);
	write_number(&c, m->serial, 8);
	write_number(&c, m->credential.size, 4);
	write_number(&c, m->state.size, 4);
	write_part(&c, m->credential);
	write_part(&c, m->state);
	write_part(&c, m->data);
	return (size_t)(c.to - buf);
}

int console_decode_input(const void *buf, size_t size, struct console_input *ret,
			 struct err *err)
{
	struct cursor c = { .from = buf, .left = size };
	uint64_t magic = read_number(&c, 4);
	int64_t flags = read_bounded(&c, 4, INPUT_FLAGS);
	size_t credential, state;

	*ret = (struct console_input){ .is_lost = flags & INPUT_LOST };
	ret->serial = read_number(&c, 8);
	credential = (size_t)read_bounded(&c, 4, CONSOLE_CREDENTIAL_MAX);
	state = (size_t)read_bounded(&c, 4, CONSOLE_STATE_SIZE);
	ret->credential = read_part(&c, credential);
	ret->state = read_part(&c, state);
	ret->data = read_part(&c, c.left);
	if (magic != INPUT_MAGIC || c.is_short || !has_sizes(ret))
		return refuse_message("a terminal", err);
	return 0;
}

size_t console_encode_state(const struct console_state *s,
			    uint8_t buf[static CONSOLE_STATE_SIZE])
{
	struct cursor c = { .to = buf };

	write_number(&c, s->session, 8);
	write_number(&c, s->number, 8);
	write_number(&c,
		     (s->is_attached ? STATE_ATTACHED : 0) | (s->hangs_up ? STATE_HANGUP : 0) |
			     (s->is_new ? STATE_NEW : 0),
		     4);
	write_number(&c, (uint64_t)s->rows, 2);
	write_number(&c, (uint64_t)s->cols, 2);
	write_number(&c, (uint64_t)s->offset, 8);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		write_number(&c, (uint64_t)s->acked[i], 8);
	return CONSOLE_STATE_SIZE;
}

int console_decode_state(struct console_part p, struct console_state *ret, struct err *err)
{
	struct cursor c = { .from = p.bytes, .left = p.size };
	int64_t flags;

	*ret = (struct console_state){ .session = read_number(&c, 8) };
	ret->number = read_number(&c, 8);
	flags = read_bounded(&c, 4, STATE_FLAGS);
	ret->is_attached = flags & STATE_ATTACHED;
	ret->hangs_up = flags & STATE_HANGUP;
	ret->is_new = flags & STATE_NEW;
	ret->rows = (int)read_bounded(&c, 2, CONSOLE_SIDE_MAX);
	ret->cols = (int)read_bounded(&c, 2, CONSOLE_SIDE_MAX);
	ret->offset = read_bounded(&c, 8, OFFSET_MAX);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		ret->acked[i] = read_bounded(&c, 8, OFFSET_MAX);
	if (c.is_short || c.left != CONSOLE_MAC_SIZE)
		return refuse_message("a terminal", err);
	return 0;
}

size_t console_encode_data(const struct console_data *d, uint8_t *buf)
{
	struct cursor c = { .to = buf };

	if (d->size > CONSOLE_DATA_MAX)
		return 0;
	write_number(&c, d->session, 8);
	write_number(&c, d->number, 8);
	write_number(&c, (uint64_t)d->offset, 8);
	write_number(&c, d->is_end ? DATA_END : 0, 4);
	if (d->size)
		memcpy(c.to, d->data, d->size);
	return CONSOLE_DATA_HEAD + d->size + CONSOLE_MAC_SIZE;
}

int console_decode_data(struct console_part p, struct console_data *ret, struct err *err)
{
	struct cursor c = { .from = p.bytes, .left = p.size };

	*ret = (struct console_data){ .session = read_number(&c, 8) };
	ret->number = read_number(&c, 8);
	ret->offset = read_bounded(&c, 8, OFFSET_MAX);
	ret->is_end = read_bounded(&c, 4, DATA_FLAGS) & DATA_END;
	if (c.is_short || c.left < CONSOLE_MAC_SIZE ||
	    c.left > CONSOLE_DATA_MAX + CONSOLE_MAC_SIZE)
		return refuse_message("a terminal", err);
	ret->data = c.from;
	ret->size = c.left - CONSOLE_MAC_SIZE;
	return 0;
}

/* ---- output ---- */

size_t console_encode_output(const struct console_output *m,
			     uint8_t buf[static CONSOLE_OUTPUT_HEAD])
{
	const struct console_chunk *s = m->streams;
	struct cursor c = { .to = buf };

	if (s[CONSOLE_OUT].size > CONSOLE_DATA_MAX ||
	    s[CONSOLE_ERR].size > CONSOLE_DATA_MAX - s[CONSOLE_OUT].size)
		return 0;
	write_number(&c, OUTPUT_MAGIC, 4);
	write_number(&c, (uint64_t)m->refusal, 4);
	write_number(&c, m->serial, 8);
	write_number(&c, m->heard, 8);
	write_number(&c, m->refused, 8);
	write_number(&c, m->session, 8);
	write_number(&c, m->number, 8);
	write_number(&c,
		     (s[CONSOLE_OUT].is_end ? OUTPUT_END_OUT : 0) |
			     (s[CONSOLE_ERR].is_end ? OUTPUT_END_ERR : 0) |
			     (m->is_full ? OUTPUT_FULL : 0) |
			     (m->takes_no_input ? OUTPUT_NO_INPUT : 0),
		     4);
	write_number(&c, (uint64_t)m->acked, 8);
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		write_number(&c, (uint64_t)s[i].offset, 8);
		write_number(&c, s[i].size, 4);
	}
	memset(c.to, 0, CONSOLE_MAC_SIZE);
	return CONSOLE_OUTPUT_HEAD;
}

static void read_sealed(struct cursor *c, struct console_output *ret)
{
	int64_t flags;

	ret->session = read_number(c, 8);
	ret->number = read_number(c, 8);
	flags = read_bounded(c, 4, OUTPUT_FLAGS);
	ret->is_full = flags & OUTPUT_FULL;
	ret->takes_no_input = flags & OUTPUT_NO_INPUT;
	ret->streams[CONSOLE_OUT].is_end = flags & OUTPUT_END_OUT;
	ret->streams[CONSOLE_ERR].is_end = flags & OUTPUT_END_ERR;
	ret->acked = read_bounded(c, 8, OFFSET_MAX);
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		ret->streams[i].offset = read_bounded(c, 8, OFFSET_MAX);
		ret->streams[i].size = (size_t)read_bounded(c, 4, CONSOLE_DATA_MAX);
	}
	read_part(c, CONSOLE_MAC_SIZE);
}

int console_decode_output(const void *buf, size_t size, struct console_output *ret,
			  struct err *err)
{
	struct cursor c = { .from = buf, .left = size };
	uint64_t magic = read_number(&c, 4);
	size_t sum = 0;

	*ret = (struct console_output){ .refusal = (enum console_refusal)read_bounded(
						&c, 4, CONSOLE_REFUSAL_COUNT - 1) };
	ret->serial = read_number(&c, 8);
	ret->heard = read_number(&c, 8);
	ret->refused = read_number(&c, 8);
	read_sealed(&c, ret);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		sum += ret->streams[i].size;
	if (magic != OUTPUT_MAGIC || c.is_short || sum != c.left || sum > CONSOLE_DATA_MAX ||
	    (!ret->session && sum))
		return refuse_message("an interactive step", err);
	ret->streams[CONSOLE_OUT].data = c.from;
	ret->streams[CONSOLE_ERR].data = c.from + ret->streams[CONSOLE_OUT].size;
	return 0;
}
