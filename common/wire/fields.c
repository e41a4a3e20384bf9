/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fields.c - walks the rows of a declared object: encode, decode, free. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/fields.h"

static const void *const_member(const struct wire_field *f, const void *of)
{
	return (const char *)of + f->offset;
}

static void *member_of(const struct wire_field *f, void *of)
{
	return (char *)of + f->offset;
}

static size_t *member_count(const struct wire_field *f, void *of)
{
	return (size_t *)(void *)((char *)of + f->count);
}

static size_t load_count(const struct wire_field *f, const void *of)
{
	return *(const size_t *)(const void *)((const char *)of + f->count);
}

/* Integers, bools and enums by the size of their member. */
static int64_t load_int(const struct wire_field *f, const void *of)
{
	int64_t wide;
	int32_t narrow;
	bool flag;

	switch (f->size) {
	case sizeof(wide):
		memcpy(&wide, const_member(f, of), sizeof(wide));
		return wide;
	case sizeof(narrow):
		memcpy(&narrow, const_member(f, of), sizeof(narrow));
		return narrow;
	default:
		memcpy(&flag, const_member(f, of), sizeof(flag));
		return flag;
	}
}

static void store_int(const struct wire_field *f, void *of, int64_t value)
{
	int32_t narrow = (int32_t)value;
	bool flag = value;

	switch (f->size) {
	case sizeof(value):
		memcpy(member_of(f, of), &value, sizeof(value));
		break;
	case sizeof(narrow):
		memcpy(member_of(f, of), &narrow, sizeof(narrow));
		break;
	default:
		memcpy(member_of(f, of), &flag, sizeof(flag));
	}
}

static bool load_bool_at(const void *of, size_t offset)
{
	return *(const bool *)((const char *)of + offset);
}

/* Where the row says that it is about some structs only: is it about this one? */
static bool is_about(const struct wire_field *f, const void *of)
{
	return !(f->flags & WIRE_IF) || load_bool_at(of, f->when);
}

/* ---- encode ---- */

static void encode_texts(const struct wire_field *f, char **texts, struct doc *d)
{
	_cleanup_doc_ struct doc list = doc_array();

	if (!texts && f->flags & WIRE_OMIT)
		return;
	for (char **t = texts; t && *t; t++)
		doc_add(&list, wire_string(*t));
	doc_set(d, f->key, doc_take(&list));
}

static json_t *encode_object(const struct wire_field *rows, const void *from)
{
	_cleanup_doc_ struct doc d = doc_object();

	wire_encode_fields(rows, from, &d);
	return doc_take(&d);
}

static void encode_list(const struct wire_field *f, const void *from, struct doc *d)
{
	_cleanup_doc_ struct doc list = doc_array();
	const char *elements = *(const char *const *)const_member(f, from);
	size_t n = load_count(f, from);

	if (!n && f->flags & WIRE_OMIT)
		return;
	for (size_t i = 0; i < n; i++) {
		const void *one = elements + i * f->size;

		doc_add(&list, f->custom ? f->custom->encode(one) : encode_object(f->of, one));
	}
	doc_set(d, f->key, doc_take(&list));
}

static void encode_merged(json_t *j, struct doc *d)
{
	if (j && !d->has_failed)
		d->has_failed = json_object_update(d->j, j) < 0;
}

static void encode_custom(const struct wire_field *f, const void *value, struct doc *d)
{
	if (!f->custom->is_absent || !f->custom->is_absent(value))
		doc_set(d, f->key, f->custom->encode(value));
}

/* Integers, flags and words. */
static void encode_number(const struct wire_field *f, const void *from, struct doc *d)
{
	int64_t value = load_int(f, from);

	if (f->type == WIRE_T_FLAG)
		doc_flag(d, f->key, value);
	else if ((f->flags & WIRE_OMIT) && value == f->def)
		return;
	else if (f->type == WIRE_T_WORD)
		doc_text(d, f->key, f->word((int)value));
	else
		doc_int(d, f->key, value);
}

static void encode_text(const struct wire_field *f, const char *text, struct doc *d)
{
	if (f->flags & WIRE_OMIT)
		doc_text_if(d, f->key, text);
	else
		doc_text(d, f->key, text);
}

static void encode_field(const struct wire_field *f, const void *from, struct doc *d)
{
	const void *value = const_member(f, from);

	switch (f->type) {
	case WIRE_T_CHARS:
		encode_text(f, value, d);
		break;
	case WIRE_T_STRING:
		encode_text(f, *(const char *const *)value, d);
		break;
	case WIRE_T_TEXTS:
		encode_texts(f, *(char **const *)value, d);
		break;
	case WIRE_T_BYTES:
		doc_bytes(d, f->key, *(const void *const *)value, load_count(f, from));
		break;
	case WIRE_T_JSON:
		if (*(json_t *const *)value)
			doc_set(d, f->key, json_incref(*(json_t *const *)value));
		break;
	case WIRE_T_MERGED:
		encode_merged(*(json_t *const *)value, d);
		break;
	case WIRE_T_OBJECT:
		doc_set(d, f->key, encode_object(f->of, from));
		break;
	case WIRE_T_LIST:
		encode_list(f, from, d);
		break;
	case WIRE_T_CUSTOM:
		encode_custom(f, value, d);
		break;
	default:
		encode_number(f, from, d);
	}
}

void wire_encode_fields(const struct wire_field *rows, const void *from, struct doc *d)
{
	for (const struct wire_field *f = rows; f->type != WIRE_T_END; f++)
		if (is_about(f, from))
			encode_field(f, from, d);
}

/* ---- decode ---- */

static bool is_optional(const struct wire_field *f)
{
	return f->flags & (WIRE_OPTIONAL | WIRE_OMIT);
}

static int decode_int(const struct wire_field *f, const json_t *j, void *to, struct err *err)
{
	const struct wire_int range = { f->min, f->max, is_optional(f) ? &f->def : NULL };
	int64_t value;
	int r = wire_get_int(j, f->key, range, &value, err);

	if (r == 0)
		store_int(f, to, value);
	return r;
}

static int refuse_word(const struct wire_field *f, const char *word, struct err *err)
{
	char known[128] = "";

	for (int i = 0; f->word(i); i++) {
		size_t at = strlen(known);

		snprintf(known + at, sizeof(known) - at, "%s%s", i ? ", " : "", f->word(i));
	}
	return err_set(err, -EINVAL, "%s: '%.32s' is none of %s", f->key, word, known);
}

static int decode_word(const struct wire_field *f, const json_t *j, void *to, struct err *err)
{
	char word[32];
	int r = wire_get_text(j, f->key,
			      (struct wire_text){ word, sizeof(word), is_optional(f) }, err);

	if (r < 0)
		return r;
	if (!*word && is_optional(f)) {
		store_int(f, to, f->def);
		return 0;
	}
	for (int i = 0; f->word(i); i++)
		if (!strcmp(word, f->word(i))) {
			store_int(f, to, i);
			return 0;
		}
	return refuse_word(f, word, err);
}

static int copy_text(const json_t *text, size_t max, char **ret, struct err *err)
{
	size_t n = json_string_length(text);

	if (!json_is_string(text) || strlen(json_string_value(text)) != n)
		return err_set(err, -EINVAL, "not a text");
	if (max && n > max)
		return err_set(err, -EINVAL, "longer than %zu bytes", max);
	*ret = strdup(json_string_value(text));
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static int decode_string(const struct wire_field *f, const json_t *value, char **ret,
			 struct err *err)
{
	int r;

	if (!value || json_is_null(value))
		return is_optional(f) ? 0 : err_set(err, -EINVAL, "%s is missing", f->key);
	r = copy_text(value, (size_t)f->max, ret, err);
	return r < 0 ? err_prefix(err, r, "%s", f->key) : 0;
}

static int decode_texts(const struct wire_field *f, const json_t *a, char ***ret,
			struct err *err)
{
	size_t n = json_array_size(a);

	if (!a || (f->flags & WIRE_NULLABLE && json_is_null(a)))
		return 0;
	if (!json_is_array(a) || n > (size_t)f->max)
		return err_set(err, -EINVAL, "%s: not an array of at most %lld texts", f->key,
			       (long long)f->max);
	*ret = calloc(n + 1, sizeof(**ret));
	if (!*ret)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		int r = copy_text(json_array_get(a, i), (size_t)f->min, &(*ret)[i], err);

		if (r < 0)
			return err_prefix(err, r, "%s[%zu]", f->key, i);
	}
	return 0;
}

static int decode_bytes(const struct wire_field *f, const json_t *value, void *to,
			struct err *err)
{
	uint8_t *bytes;
	int r = doc_decode_bytes(value, (size_t)f->max, &bytes, member_count(f, to), err);

	if (r < 0)
		return err_prefix(err, r, "%s", f->key);
	*(void **)member_of(f, to) = bytes;
	return 0;
}

static int decode_element(const struct wire_field *f, const json_t *j, size_t i, void *to,
			  struct err *err)
{
	char at[48];
	int r;

	snprintf(at, sizeof(at), "%s[%zu]", f->key, i);
	if (f->custom)
		return f->custom->decode(j, at, to, err);
	r = json_is_object(j) ? wire_decode_fields(f->of, j, to, err)
			      : err_set(err, -EINVAL, "is not an object");
	return r < 0 ? err_prefix(err, r, "%s", at) : 0;
}

/* The count grows with the elements, so that a list that is wrong half way can be freed. */
static int decode_list(const struct wire_field *f, const json_t *a, void *to, struct err *err)
{
	size_t n = json_array_size(a), *count = member_count(f, to);
	char *elements;
	int r = 0;

	if (!a || (f->flags & WIRE_NULLABLE && json_is_null(a)))
		return 0;
	if (!json_is_array(a))
		return err_set(err, -EINVAL, "%s: not an array", f->key);
	if (f->max && n > (size_t)f->max)
		return err_set(err, -EINVAL, "%s: not an array of at most %lld", f->key,
			       (long long)f->max);
	elements = calloc(n + 1, f->size);
	if (!elements)
		return err_set(err, -ENOMEM, "out of memory");
	*(char **)member_of(f, to) = elements;
	for (size_t i = 0; i < n && r >= 0; i++) {
		++*count;
		r = decode_element(f, json_array_get(a, i), i, elements + i * f->size, err);
	}
	return r;
}

static int decode_object(const struct wire_field *f, const json_t *value, void *to,
			 struct err *err)
{
	int r = json_is_object(value) ? wire_decode_fields(f->of, value, to, err)
				      : err_set(err, -EINVAL, "an object is missing");

	return r < 0 ? err_prefix(err, r, "%s", f->key) : 0;
}

static int decode_custom(const struct wire_field *f, const json_t *value, void *to,
			 struct err *err)
{
	int r = value ? f->custom->decode(value, "", member_of(f, to), err) : 0;

	return r < 0 ? err_prefix(err, r, "%s", f->key) : 0;
}

/* json_incref() of an object that others hold as const: the count is no part of its value. */
static void keep_json(const json_t *j, json_t **ret)
{
	if (j && !json_is_null(j))
		*ret = json_incref((json_t *)(uintptr_t)j);
}

static int decode_field(const struct wire_field *f, const json_t *j, void *to, struct err *err)
{
	const json_t *value = json_object_get(j, f->key ? f->key : "");

	switch (f->type) {
	case WIRE_T_INT:
		return decode_int(f, j, to, err);
	case WIRE_T_WORD:
		return decode_word(f, j, to, err);
	case WIRE_T_CHARS:
		return wire_get_text(
			j, f->key,
			(struct wire_text){ member_of(f, to), f->size, is_optional(f) }, err);
	case WIRE_T_STRING:
		return decode_string(f, value, member_of(f, to), err);
	case WIRE_T_TEXTS:
		return decode_texts(f, value, member_of(f, to), err);
	case WIRE_T_BYTES:
		return decode_bytes(f, value, to, err);
	case WIRE_T_OBJECT:
		return decode_object(f, value, to, err);
	case WIRE_T_LIST:
		return decode_list(f, value, to, err);
	case WIRE_T_CUSTOM:
		return decode_custom(f, value, to, err);
	case WIRE_T_FLAG:
		store_int(f, to, json_is_true(value));
		return 0;
	default:
		keep_json(f->type == WIRE_T_MERGED ? j : value, member_of(f, to));
		return 0;
	}
}

int wire_decode_fields(const struct wire_field *rows, const json_t *j, void *to,
		       struct err *err)
{
	int r = 0;

	for (const struct wire_field *f = rows; f->type != WIRE_T_END && r >= 0; f++)
		if (is_about(f, to))
			r = decode_field(f, j, to, err);
	return r;
}

/* ---- free ---- */

static void free_texts(char **texts)
{
	for (char **t = texts; t && *t; t++)
		free(*t);
	free(texts);
}

static void free_list(const struct wire_field *f, void *of)
{
	char *elements = *(char **)member_of(f, of);

	for (size_t i = 0; i < load_count(f, of); i++) {
		if (!f->custom)
			wire_done_fields(f->of, elements + i * f->size);
		else if (f->custom->done)
			f->custom->done(elements + i * f->size);
	}
	free(elements);
}

static void free_field(const struct wire_field *f, void *of)
{
	void *value = member_of(f, of);

	switch (f->type) {
	case WIRE_T_STRING:
	case WIRE_T_BYTES:
		free(*(void **)value);
		break;
	case WIRE_T_TEXTS:
		free_texts(*(char ***)value);
		break;
	case WIRE_T_JSON:
	case WIRE_T_MERGED:
		json_decref(*(json_t **)value);
		break;
	case WIRE_T_OBJECT:
		wire_done_fields(f->of, of);
		break;
	case WIRE_T_LIST:
		free_list(f, of);
		break;
	case WIRE_T_CUSTOM:
		if (f->custom->done)
			f->custom->done(value);
		break;
	default:
		break;
	}
}

void wire_done_fields(const struct wire_field *rows, void *of)
{
	for (const struct wire_field *f = rows; f->type != WIRE_T_END; f++)
		free_field(f, of);
}
