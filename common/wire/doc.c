/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doc.c - the sets of the document builder, and base64 by nettle; see doc.h. */
#include <errno.h>
#include <nettle/base64.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"

static struct doc begin_document(json_t *j)
{
	return (struct doc){ .j = j, .has_failed = !j };
}

struct doc doc_message(void)
{
	return begin_document(wire_new());
}

struct doc doc_object(void)
{
	return begin_document(json_object());
}

struct doc doc_array(void)
{
	return begin_document(json_array());
}

struct doc doc_edit(json_t *j)
{
	return begin_document(json_incref(j));
}

void doc_done(struct doc *d)
{
	json_decref(d->j);
	*d = (struct doc){ .has_failed = true };
}

void doc_set(struct doc *d, const char *key, json_t *value)
{
	if (d->has_failed)
		json_decref(value);
	else
		d->has_failed = json_object_set_new(d->j, key, value) < 0;
}

void doc_add(struct doc *d, json_t *value)
{
	if (d->has_failed)
		json_decref(value);
	else
		d->has_failed = json_array_append_new(d->j, value) < 0;
}

void doc_int(struct doc *d, const char *key, int64_t n)
{
	doc_set(d, key, json_integer(n));
}

void doc_real(struct doc *d, const char *key, double v)
{
	doc_set(d, key, json_real(v));
}

void doc_bool(struct doc *d, const char *key, bool v)
{
	doc_set(d, key, json_boolean(v));
}

void doc_null(struct doc *d, const char *key)
{
	doc_set(d, key, json_null());
}

void doc_text(struct doc *d, const char *key, const char *text)
{
	doc_set(d, key, wire_string(text ? text : ""));
}

void doc_text_if(struct doc *d, const char *key, const char *text)
{
	if (text && *text)
		doc_text(d, key, text);
}

void doc_flag(struct doc *d, const char *key, bool v)
{
	if (v)
		doc_bool(d, key, v);
}

void doc_bytes(struct doc *d, const char *key, const void *data, size_t size)
{
	size_t n = BASE64_ENCODE_RAW_LENGTH(size);
	_cleanup_free_ char *text = malloc(n + 1);

	if (text)
		base64_encode_raw(text, size, data);
	doc_set(d, key, text ? json_stringn(text, n) : NULL);
}

void doc_stored(struct doc *d, const char *key, const char *text)
{
	json_t *j = text ? wire_load(text, 0, NULL) : NULL;

	if (j)
		doc_set(d, key, j);
}

json_t *doc_take(struct doc *d)
{
	json_t *j = d->has_failed ? NULL : TAKE_PTR(d->j);

	doc_done(d);
	return j;
}

int doc_check(const struct doc *d, struct err *err)
{
	return d->has_failed ? err_set(err, -ENOMEM, "out of memory") : 0;
}

int doc_finish(struct doc *d, json_t **ret, struct err *err)
{
	int r = doc_check(d, err);

	if (r == 0)
		*ret = doc_take(d);
	return r;
}

int doc_decode_bytes(const json_t *text, size_t max, uint8_t **ret, size_t *ret_size,
		     struct err *err)
{
	size_t length = json_string_length(text), size = BASE64_DECODE_LENGTH(length);
	_cleanup_free_ uint8_t *bytes = NULL;
	struct base64_decode_ctx ctx;

	if (!json_is_string(text) || length > BASE64_ENCODE_RAW_LENGTH(max))
		return err_set(err, -EINVAL, "not base64 of at most %zu bytes", max);
	bytes = malloc(size + 1);
	if (!bytes)
		return err_set(err, -ENOMEM, "out of memory");
	base64_decode_init(&ctx);
	if (!base64_decode_update(&ctx, &size, bytes, length, json_string_value(text)) ||
	    !base64_decode_final(&ctx))
		return err_set(err, -EINVAL, "not base64");
	*ret = TAKE_PTR(bytes);
	*ret_size = size;
	return 0;
}
