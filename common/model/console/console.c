/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - encodes and decodes the messages of interactive steps; see console.h. */
#include <endian.h>
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/model/console/console.h"

#define INPUT_MAGIC 0x31494352U	 /* "RCI1" */
#define OUTPUT_MAGIC 0x314f4352U /* "RCO1" */

enum input_flag {
	INPUT_END = 1,
	INPUT_ATTACHED = 2,
	INPUT_HANGUP = 4,
	INPUT_NEW = 8,
	INPUT_FLAGS = 15,
};
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

size_t console_encode_input(const struct console_input *m, uint8_t *buf)
{
	struct cursor c = { .to = buf };

	if (m->size > CONSOLE_DATA_MAX)
		return 0;
	write_number(&c, INPUT_MAGIC, 4);
	write_number(&c,
		     (m->is_end ? INPUT_END : 0) | (m->is_attached ? INPUT_ATTACHED : 0) |
			     (m->hangs_up ? INPUT_HANGUP : 0) | (m->is_new ? INPUT_NEW : 0),
		     4);
	write_number(&c, m->serial, 8);
	write_number(&c, m->number, 8);
	write_number(&c, (uint64_t)m->offset, 8);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		write_number(&c, (uint64_t)m->acked[i], 8);
	write_number(&c, (uint64_t)m->rows, 2);
	write_number(&c, (uint64_t)m->cols, 2);
	if (m->size)
		memcpy(c.to, m->data, m->size);
	return (size_t)(c.to - buf) + m->size;
}

int console_decode_input(const void *buf, size_t size, struct console_input *ret,
			 struct err *err)
{
	struct cursor c = { .from = buf, .left = size };
	uint64_t magic = read_number(&c, 4);
	int64_t flags = read_bounded(&c, 4, INPUT_FLAGS);

	*ret = (struct console_input){ .is_end = flags & INPUT_END,
				       .is_attached = flags & INPUT_ATTACHED,
				       .hangs_up = flags & INPUT_HANGUP,
				       .is_new = flags & INPUT_NEW };
	ret->serial = read_number(&c, 8);
	ret->number = read_number(&c, 8);
	ret->offset = read_bounded(&c, 8, OFFSET_MAX);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		ret->acked[i] = read_bounded(&c, 8, OFFSET_MAX);
	ret->rows = (int)read_bounded(&c, 2, CONSOLE_SIDE_MAX);
	ret->cols = (int)read_bounded(&c, 2, CONSOLE_SIDE_MAX);
	ret->data = c.from;
	ret->size = c.left;
	if (magic != INPUT_MAGIC || c.is_short || c.left > CONSOLE_DATA_MAX)
		return refuse_message("a terminal", err);
	return 0;
}

size_t console_encode_output_head(const struct console_output *m,
				  uint8_t buf[static CONSOLE_HEAD_MAX])
{
	const struct console_chunk *s = m->streams;
	struct cursor c = { .to = buf };

	if (s[CONSOLE_OUT].size > CONSOLE_DATA_MAX ||
	    s[CONSOLE_ERR].size > CONSOLE_DATA_MAX - s[CONSOLE_OUT].size)
		return 0;
	write_number(&c, OUTPUT_MAGIC, 4);
	write_number(&c,
		     (s[CONSOLE_OUT].is_end ? OUTPUT_END_OUT : 0) |
			     (s[CONSOLE_ERR].is_end ? OUTPUT_END_ERR : 0) |
			     (m->is_full ? OUTPUT_FULL : 0) |
			     (m->takes_no_input ? OUTPUT_NO_INPUT : 0),
		     4);
	write_number(&c, m->serial, 8);
	write_number(&c, m->heard, 8);
	write_number(&c, (uint64_t)m->acked, 8);
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		write_number(&c, (uint64_t)s[i].offset, 8);
		write_number(&c, s[i].size, 4);
	}
	return (size_t)(c.to - buf);
}

size_t console_encode_output(const struct console_output *m, uint8_t *buf)
{
	size_t n = console_encode_output_head(m, buf);

	for (int i = 0; n && i < CONSOLE_STREAMS; i++) {
		if (m->streams[i].size)
			memcpy(buf + n, m->streams[i].data, m->streams[i].size);
		n += m->streams[i].size;
	}
	return n;
}

int console_decode_output(const void *buf, size_t size, struct console_output *ret,
			  struct err *err)
{
	struct cursor c = { .from = buf, .left = size };
	uint64_t magic = read_number(&c, 4);
	int64_t flags = read_bounded(&c, 4, OUTPUT_FLAGS);
	size_t sum = 0;

	*ret = (struct console_output){ .is_full = flags & OUTPUT_FULL,
					.takes_no_input = flags & OUTPUT_NO_INPUT };
	ret->streams[CONSOLE_OUT].is_end = flags & OUTPUT_END_OUT;
	ret->streams[CONSOLE_ERR].is_end = flags & OUTPUT_END_ERR;
	ret->serial = read_number(&c, 8);
	ret->heard = read_number(&c, 8);
	ret->acked = read_bounded(&c, 8, OFFSET_MAX);
	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		ret->streams[i].offset = read_bounded(&c, 8, OFFSET_MAX);
		ret->streams[i].size = (size_t)read_bounded(&c, 4, CONSOLE_DATA_MAX);
		sum += ret->streams[i].size;
	}
	if (magic != OUTPUT_MAGIC || c.is_short || sum != c.left || sum > CONSOLE_DATA_MAX)
		return refuse_message("an interactive step", err);
	ret->streams[CONSOLE_OUT].data = c.from;
	ret->streams[CONSOLE_ERR].data = c.from + ret->streams[CONSOLE_OUT].size;
	return 0;
}
