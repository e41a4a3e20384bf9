/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doc - build a JSON document with checked sets.
 *
 * The first set that fails (memory ran out, a number is NaN) sticks: later sets do nothing, and
 * the document is refused as a whole when it is taken. A document is thus complete or absent,
 * never one that lacks a key. Check once, at the end:
 *
 *	_cleanup_doc_ struct doc d = doc_message();
 *
 *	doc_int(&d, "job", job);
 *	doc_text(&d, "name", name);
 *	return doc_finish(&d, ret, err);
 */
#pragma once
#include "common/wire/wire.h"

struct doc {
	json_t *j; /* owned */
	bool has_failed;
};

void doc_done(struct doc *d);
#define _cleanup_doc_ _cleanup_(doc_done)

struct doc doc_message(void); /* {"schema": WIRE_SCHEMA} */
struct doc doc_object(void);
struct doc doc_array(void);
/* Further sets of an existing document; NULL has failed. */
struct doc doc_edit(json_t *j);

void doc_int(struct doc *d, const char *key, int64_t n);
void doc_real(struct doc *d, const char *key, double v); /* finite */
void doc_bool(struct doc *d, const char *key, bool v);
void doc_null(struct doc *d, const char *key);
/* Any bytes, as wire_string() has them; NULL is set as "". */
void doc_text(struct doc *d, const char *key, const char *text);
/* What is not there has no key: NULL or ""; false. */
void doc_text_if(struct doc *d, const char *key, const char *text);
void doc_flag(struct doc *d, const char *key, bool v);
/* The base64 of `size` bytes. */
void doc_bytes(struct doc *d, const char *key, const void *data, size_t size);
/* A document that is stored as text; no key when there is none, or when it is not JSON. */
void doc_stored(struct doc *d, const char *key, const char *text);
/* A value of which the document becomes the owner; NULL has failed. */
void doc_set(struct doc *d, const char *key, json_t *value);
/* The same at the end of an array. */
void doc_add(struct doc *d, json_t *value);

/* The document, owned by the caller; NULL when a set failed. *d is empty afterwards. */
json_t *doc_take(struct doc *d);
/* 0 and *ret; or -ENOMEM. *d is empty afterwards. */
int doc_finish(struct doc *d, json_t **ret, struct err *err);
/* 0, or -ENOMEM when a set failed: for doc_edit(). */
int doc_check(const struct doc *d, struct err *err);

/* The bytes of a base64 text (RFC 4648 section 4, padded). *ret is malloc()ed. -EINVAL: it is
 * not a string of base64, or more than `max` bytes. */
int doc_decode_bytes(const json_t *text, size_t max, uint8_t **ret, size_t *ret_size,
		     struct err *err);
