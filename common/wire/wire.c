/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire.c - parsing and printing documents, typed reads of their keys; see wire.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"

int wire_parse(const char *text, size_t size, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *j = NULL;
	json_error_t e;
	const char *schema;

	j = wire_load_bytes(text, size, JSON_REJECT_DUPLICATES, &e);
	if (!j)
		return err_set(err, -EINVAL, "not JSON: line %d, column %d: %s", e.line,
			       e.column, e.text);
	if (!json_is_object(j))
		return err_set(err, -EINVAL, "the document is not a JSON object");
	schema = json_string_value(json_object_get(j, "schema"));
	if (!schema || strcmp(schema, WIRE_SCHEMA))
		return err_set(
			err, -EINVAL,
			"schema is '%.32s', this program speaks '%s': upgrade the older side",
			schema ? schema : "(none)", WIRE_SCHEMA);
	*ret = TAKE_PTR(j);
	return 0;
}

char *wire_format(const json_t *j)
{
	return wire_print(j, JSON_COMPACT);
}

int wire_attach(json_t *doc, const void *data, size_t size)
{
	json_t *bytes = json_stringn_nocheck(data, size);

	return json_object_set_new(doc, WIRE_ATTACHED, bytes) < 0 ? -ENOMEM : 0;
}

const void *wire_attached(const json_t *doc, size_t *ret_size)
{
	const json_t *bytes = json_object_get(doc, WIRE_ATTACHED);

	*ret_size = json_string_length(bytes);
	return json_string_value(bytes);
}

char *wire_format_whole(const json_t *j, size_t *ret_size)
{
	_cleanup_json_ json_t *text_only = NULL;
	size_t n_bytes, n_text;
	const void *bytes = wire_attached(j, &n_bytes);
	char *text, *whole;

	if (bytes) { /* a shallow copy */
		text_only = json_copy((json_t *)j);
		json_object_del(text_only, WIRE_ATTACHED);
	}
	text = wire_format(bytes ? text_only : j);
	n_text = text ? strlen(text) : 0;
	*ret_size = n_text;
	if (!text || !bytes)
		return text;
	whole = realloc(text, n_text + 1 + n_bytes + 1);
	if (!whole) {
		free(text);
		return NULL;
	}
	memcpy(whole + n_text + 1, bytes, n_bytes);
	whole[n_text + 1 + n_bytes] = '\0';
	*ret_size = n_text + 1 + n_bytes;
	return whole;
}

int wire_parse_whole(const char *text, size_t size, json_t **ret, struct err *err)
{
	const char *end = memchr(text, '\0', size);
	_cleanup_json_ json_t *doc = NULL;
	int r = wire_parse(text, end ? (size_t)(end - text) : size, &doc, err);

	if (r < 0)
		return r;
	if (json_object_get(doc, WIRE_ATTACHED))
		return err_set(err, -EINVAL, "'" WIRE_ATTACHED "' is no key of a document");
	if (end && wire_attach(doc, end + 1, size - (size_t)(end - text) - 1) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return 0;
}

json_t *wire_string(const char *text)
{
	_cleanup_free_ char *mended = NULL;
	json_t *j = json_string(text);

	if (j)
		return j;
	mended = strdup(text);
	return mended ? json_string(utf8_mend(mended)) : NULL;
}

json_t *wire_new(void)
{
	return json_pack("{s:s}", "schema", WIRE_SCHEMA);
}

int wire_get_int(const json_t *j, const char *key, struct wire_int range, int64_t *ret,
		 struct err *err)
{
	const json_t *v = json_object_get(j, key);
	int64_t n;

	if (!v) {
		if (!range.def)
			return err_set(err, -EINVAL, "%s is missing", key);
		*ret = *range.def;
		return 0;
	}
	if (!json_is_integer(v))
		return err_set(err, -EINVAL, "%s is not an integer", key);
	n = json_integer_value(v);
	if (n < range.min || n > range.max)
		return err_set(err, -EINVAL, "%s = %lld is outside %lld to %lld", key,
			       (long long)n, (long long)range.min, (long long)range.max);
	*ret = n;
	return 0;
}

int wire_get_text(const json_t *j, const char *key, struct wire_text to, struct err *err)
{
	const json_t *v = json_object_get(j, key);
	size_t n;

	if (!v || json_is_null(v)) {
		if (!to.optional)
			return err_set(err, -EINVAL, "%s is missing", key);
		to.buf[0] = '\0';
		return 0;
	}
	if (!json_is_string(v))
		return err_set(err, -EINVAL, "%s is not a string", key);
	n = json_string_length(v);
	if (n >= to.size || strlen(json_string_value(v)) != n)
		return err_set(err, -EINVAL, "%s is longer than %zu bytes or holds a NUL", key,
			       to.size - 1);
	memcpy(to.buf, json_string_value(v), n + 1);
	return 0;
}
