/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rowpack.c - see rowpack.h. */
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/rows/rowpack.h"

#define VARINT_MAX 10 /* bytes of 64 bits */
#define ROOM_FIRST 65536

void rowpack_done(struct rowpack_writer *w)
{
	free(w->data);
	*w = (struct rowpack_writer){ .data = NULL };
}

/* Room for so many bytes more, or NULL. */
static uint8_t *make_space(struct rowpack_writer *w, size_t n)
{
	size_t room = w->room ? w->room : ROOM_FIRST;
	uint8_t *more;

	while (!w->has_failed && room - w->size < n)
		w->has_failed = __builtin_mul_overflow(room, 2, &room);
	if (w->has_failed)
		return NULL;
	if (room != w->room) {
		more = realloc(w->data, room);
		w->has_failed = !more;
		if (!more)
			return NULL;
		w->data = more;
		w->room = room;
	}
	return w->data + w->size;
}

/* Returns what is behind it. */
static uint8_t *put_varint(uint8_t *to, uint64_t n)
{
	for (; n >= 0x80; n >>= 7)
		*to++ = (uint8_t)(n | 0x80);
	*to++ = (uint8_t)n;
	return to;
}

static void put_kind(struct rowpack_writer *w, enum rowpack_kind kind)
{
	uint8_t *to = make_space(w, 1);

	if (!to)
		return;
	*to = (uint8_t)kind;
	w->size++;
}

void rowpack_put_null(struct rowpack_writer *w)
{
	put_kind(w, ROWPACK_NULL);
}

void rowpack_put_bool(struct rowpack_writer *w, bool v)
{
	put_kind(w, v ? ROWPACK_TRUE : ROWPACK_FALSE);
}

void rowpack_put_int(struct rowpack_writer *w, int64_t n)
{
	uint8_t *to = make_space(w, 1 + VARINT_MAX);

	if (!to)
		return;
	*to++ = ROWPACK_INT;
	to = put_varint(to, ((uint64_t)n << 1) ^ (uint64_t)(n < 0 ? -1 : 0));
	w->size = (size_t)(to - w->data);
}

void rowpack_put_real(struct rowpack_writer *w, double v)
{
	uint8_t *to;
	uint64_t bits;

	if (isnan(v)) {
		rowpack_put_null(w);
		return;
	}
	to = make_space(w, 1 + sizeof(bits));
	if (!to)
		return;
	memcpy(&bits, &v, sizeof(bits));
	*to++ = ROWPACK_REAL;
	for (size_t i = 0; i < sizeof(bits); i++)
		*to++ = (uint8_t)(bits >> (8 * i));
	w->size += 1 + sizeof(bits);
}

static void put_bytes(struct rowpack_writer *w, enum rowpack_kind kind, const char *text)
{
	size_t n = strlen(text);
	uint8_t *to = make_space(w, 1 + VARINT_MAX + n + 1);

	if (!to)
		return;
	*to++ = (uint8_t)kind;
	to = put_varint(to, n);
	memcpy(to, text, n + 1);
	w->size = (size_t)(to - w->data) + n + 1;
}

void rowpack_put_text(struct rowpack_writer *w, const char *text)
{
	_cleanup_free_ char *mended = NULL;

	if (!text) {
		rowpack_put_null(w);
	} else if (utf8_is_valid(text)) {
		put_bytes(w, ROWPACK_TEXT, text);
	} else {
		mended = strdup(text);
		w->has_failed = w->has_failed || !mended;
		if (mended)
			put_bytes(w, ROWPACK_TEXT, utf8_mend(mended));
	}
}

void rowpack_put_json(struct rowpack_writer *w, const char *text)
{
	if (text)
		put_bytes(w, ROWPACK_JSON, text);
	else
		rowpack_put_null(w);
}

/* ---- reading ---- */

/* Of the shortest form alone: one number has one form. */
static int read_varint(struct rowpack_reader *r, uint64_t *ret)
{
	uint64_t n = 0;
	unsigned shift = 0;
	uint8_t b;

	if (r->at < r->end && *r->at < 0x80) { /* most have one byte */
		*ret = *r->at++;
		return 0;
	}
	do {
		if (r->at == r->end || shift > 63)
			return -EPROTO;
		b = *r->at++;
		if ((shift == 63 && b > 1) || (shift && !b))
			return -EPROTO;
		n |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	*ret = n;
	return 0;
}

static int read_int(struct rowpack_reader *r, struct rowpack_value *ret)
{
	uint64_t n;

	if (read_varint(r, &n) < 0)
		return -EPROTO;
	ret->n = (int64_t)((n >> 1) ^ (n & 1 ? UINT64_MAX : 0));
	ret->real = (double)ret->n;
	return 0;
}

static int read_real(struct rowpack_reader *r, struct rowpack_value *ret)
{
	uint64_t bits = 0;

	if ((size_t)(r->end - r->at) < sizeof(bits))
		return -EPROTO;
	memcpy(&bits, r->at, sizeof(bits));
	r->at += sizeof(bits);
	bits = le64toh(bits);
	memcpy(&ret->real, &bits, sizeof(bits));
	return isnan(ret->real) ? -EPROTO : 0;
}

static int read_bytes(struct rowpack_reader *r, struct rowpack_value *ret)
{
	uint64_t n;

	if (read_varint(r, &n) < 0 || n >= (uint64_t)(r->end - r->at) ||
	    memchr(r->at, '\0', (size_t)n + 1) != r->at + n)
		return -EPROTO;
	ret->text = (const char *)r->at;
	ret->size = (size_t)n;
	r->at += n + 1;
	return 0;
}

static int read_value(struct rowpack_reader *r, struct rowpack_value *ret)
{
	switch (ret->kind) {
	case ROWPACK_NULL:
	case ROWPACK_FALSE:
	case ROWPACK_TRUE:
		return 0;
	case ROWPACK_INT:
		return read_int(r, ret);
	case ROWPACK_REAL:
		return read_real(r, ret);
	case ROWPACK_TEXT:
	case ROWPACK_JSON:
		return read_bytes(r, ret);
	case _ROWPACK_KIND_MAX:
	default:
		return -EPROTO;
	}
}

int rowpack_next(struct rowpack_reader *r, struct rowpack_value *ret, struct err *err)
{
	if (r->at == r->end)
		return 0;
	*ret = (struct rowpack_value){ .kind = (enum rowpack_kind) * r->at++ };
	if (read_value(r, ret) < 0)
		return err_set(err, -EPROTO, "bytes that are no values of rows");
	return 1;
}
