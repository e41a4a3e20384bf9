/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rowpack - values of rows as bytes, for lists of many thousand rows that would take longer to read as JSON than to find. They follow a
 * document (wire_attach()), which names the columns; docs/protocol.md, "Packed rows". Pure.
 *
 * A value is one byte of its kind and what that needs: a whole number in zigzag form, seven bits a byte, the lowest first; the eight bytes
 * of an IEEE 754 double, the lowest first; a text as its length in bytes, the bytes, and a NUL, so that it is used where it stands.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum rowpack_kind {
	ROWPACK_NULL,
	ROWPACK_FALSE,
	ROWPACK_TRUE,
	ROWPACK_INT,
	ROWPACK_REAL,
	ROWPACK_TEXT,
	ROWPACK_JSON, /* a document as text */
	_ROWPACK_KIND_MAX
};

/* ---- writing ---- */

/* Begins as { 0 }. The first put that fails sticks. */
struct rowpack_writer {
	uint8_t *data; /* owned */
	size_t size, room;
	bool has_failed; /* out of memory */
};
void rowpack_done(struct rowpack_writer *w);

void rowpack_put_null(struct rowpack_writer *w);
void rowpack_put_bool(struct rowpack_writer *w, bool v);
void rowpack_put_int(struct rowpack_writer *w, int64_t n);
void rowpack_put_real(struct rowpack_writer *w, double v); /* NaN: null */
/* Any bytes, which are mended as by wire_string(). NULL: null. */
void rowpack_put_text(struct rowpack_writer *w, const char *text);
/* A stored document. NULL: null. */
void rowpack_put_json(struct rowpack_writer *w, const char *text);

/* ---- reading ---- */

struct rowpack_value {
	enum rowpack_kind kind;
	int64_t n;   /* of ROWPACK_INT, else 0 */
	double real; /* of ROWPACK_REAL, ROWPACK_INT: no NaN */
	const char *
		text; /* of ROWPACK_TEXT and ROWPACK_JSON, else NULL; borrowed from the bytes, with a NUL at its end and none before */
	size_t size;
};

struct rowpack_reader {
	const uint8_t *at, *end;
};
/* 1: *ret is the next value. 0: there are no more. -EPROTO: the bytes are no values. */
int rowpack_next(struct rowpack_reader *r, struct rowpack_value *ret, struct err *err);
