/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fields - a JSON object declared once, as a table; encoder, decoder and destructor read it.
 *
 * Each row binds one key of the object to one member of a struct. A document that two programs
 * exchange is such a table beside its struct, so a key is added in one place. Keys that no row
 * names are ignored by the decoder; the encoder writes keys in the order of the rows.
 *
 *	static const struct wire_field ack_fields[] = {
 *		WIRE_INT(struct sync_ack, job, 1, INT64_MAX),
 *		WIRE_INT(struct sync_ack, seq, 0, INT64_MAX),
 *		WIRE_END,
 *	};
 */
#pragma once
#include <stddef.h>
#include "common/wire/doc.h"

enum wire_type {
	WIRE_T_END,
	WIRE_T_INT,    /* bool, int32_t or int64_t, within [min, max] */
	WIRE_T_FLAG,   /* bool: the key is there, true, or absent */
	WIRE_T_WORD,   /* bool or enum, by names */
	WIRE_T_CHARS,  /* char[]: shorter than it */
	WIRE_T_STRING, /* char *, NULL: none; at most `max` bytes (0: any number) */
	WIRE_T_TEXTS,  /* char **, NULL-terminated; at most `max` of at most `min` bytes each */
	WIRE_T_BYTES,  /* void * and size_t, in base64; at most `max` */
	WIRE_T_JSON,   /* json_t *, whatever it is; NULL: none */
	WIRE_T_MERGED, /* json_t *: its keys are keys of the object itself; decoded, the object */
	WIRE_T_OBJECT, /* an object within, whose rows bind members of the same struct */
	WIRE_T_LIST,   /* an array: pointer to elements, and size_t; at most `max` (0: any) */
	WIRE_T_CUSTOM, /* as `custom` has it */
};

/* A value that has its own encoder and decoder. In lists `at` is the path of the element, with
 * which `decode` begins its messages; elsewhere it is "". */
struct wire_custom {
	json_t *(*encode)(const void *member); /* NULL: out of memory */
	int (*decode)(const json_t *value, const char *at, void *member, struct err *err);
	void (*done)(void *member);	       /* NULL: it owns nothing */
	bool (*is_absent)(const void *member); /* no key then; NULL: never */
};

/* Names of values from 0; NULL behind the last. */
typedef const char *(*wire_word_fn)(int value);

enum {
	WIRE_OPTIONAL = 1, /* the decoder takes an absent key for `def`, "", or nothing */
	WIRE_OMIT = 2,	   /* the same, and the encoder writes no key for that value */
	WIRE_NULLABLE = 4, /* of a list or texts: null is none */
	WIRE_IF = 8,	   /* only where the bool at `when` (decoded before) is true */
};

struct wire_field {
	const char *key;
	enum wire_type type;
	unsigned flags;
	size_t offset, size; /* of the member; of a list: of one element */
	size_t count;	     /* offset of a list's or bytes' size_t */
	size_t when;
	int64_t min, max, def;
	wire_word_fn word;
	const struct wire_field *of; /* rows of an object or of a list's elements */
	const struct wire_custom *custom;
};

#define WIRE_END                                                                               \
	{                                                                                      \
		.type = WIRE_T_END                                                             \
	}
#define WIRE_MEMBER(s, m) .offset = offsetof(s, m), .size = sizeof(((s *)0)->m)
#define WIRE_INT(s, m, lo, hi)                                                                 \
	{                                                                                      \
		.key = #m, .type = WIRE_T_INT, WIRE_MEMBER(s, m), .min = (lo), .max = (hi)     \
	}
/* An integer that may be absent, and then is `d`; `how`: WIRE_OPTIONAL or WIRE_OMIT. */
#define WIRE_INT_OR(s, m, lo, hi, d, how)                                                      \
	{                                                                                      \
		.key = #m, .type = WIRE_T_INT, .flags = (how), WIRE_MEMBER(s, m), .min = (lo), \
		.max = (hi), .def = (d)                                                        \
	}
#define WIRE_CHARS(s, m, how)                                                                  \
	{                                                                                      \
		.key = #m, .type = WIRE_T_CHARS, .flags = (how), WIRE_MEMBER(s, m)             \
	}
#define WIRE_FLAG(s, name, m)                                                                  \
	{                                                                                      \
		.key = (name), .type = WIRE_T_FLAG, WIRE_MEMBER(s, m)                          \
	}
#define WIRE_WORD(s, name, m, names)                                                           \
	{                                                                                      \
		.key = (name), .type = WIRE_T_WORD, WIRE_MEMBER(s, m), .word = (names)         \
	}
#define WIRE_STRING(s, m, longest)                                                             \
	{                                                                                      \
		.key = #m, .type = WIRE_T_STRING, .flags = WIRE_OMIT, WIRE_MEMBER(s, m),       \
		.max = (longest)                                                               \
	}
/* `n`: the member that counts them; `element` rows, of a struct as large as what m points to. */
#define WIRE_LIST(s, name, m, n, most, element, how)                                           \
	{                                                                                      \
		.key = (name), .type = WIRE_T_LIST, .flags = (how), .offset = offsetof(s, m),  \
		.size = sizeof(*((s *)0)->m), .count = offsetof(s, n), .max = (most),          \
		.of = (element)                                                                \
	}

/* Sets of d->j; a set that fails sticks in *d (doc.h). */
void wire_encode_fields(const struct wire_field *rows, const void *from, struct doc *d);
/* Into *to, which must be zeroed. -EINVAL with the path of the wrong key, -ENOMEM; also then
 * the caller owns what *to holds: wire_done_fields(). */
int wire_decode_fields(const struct wire_field *rows, const json_t *j, void *to,
		       struct err *err);
/* Frees what the rows own: strings, texts, bytes, JSON, lists with their elements. */
void wire_done_fields(const struct wire_field *rows, void *of);
