/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_usage.c - what a job used as JSON: one key for each measured figure; see wire.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"

static json_t *encode_cores(const struct usage *u)
{
	_cleanup_doc_ struct doc cores = doc_array();

	for (int32_t i = 0; i < u->n_cores; i++)
		doc_add(&cores, json_pack("{s:i,s:I}", "cpu", u->cores[i].cpu, "ns",
					  (json_int_t)u->cores[i].ns));
	return doc_take(&cores);
}

json_t *wire_encode_usage(const struct usage *u)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (size_t i = 0; usage_fields[i].name; i++) {
		const struct usage_field *f = &usage_fields[i];

		if (u->have >> i & 1)
			doc_int(&d, f->name,
				*(const int64_t *)(const void *)((const char *)u + f->offset));
	}
	if (u->n_cores)
		doc_set(&d, "cores", encode_cores(u));
	return doc_take(&d);
}

static int decode_cores(const json_t *cores, struct usage *u, struct err *err)
{
	if (!cores)
		return 0;
	if (!json_is_array(cores) || json_array_size(cores) > USAGE_CORES_MAX)
		return err_set(err, -EINVAL, "cores is not an array of at most %d",
			       USAGE_CORES_MAX);
	for (size_t i = 0; i < json_array_size(cores); i++) {
		const json_t *c = json_array_get(cores, i);
		int64_t cpu, ns;
		int r;

		r = wire_get_int(c, "cpu", (struct wire_int){ 0, 1 << 20, NULL }, &cpu, err);
		if (r < 0)
			return err_prefix(err, r, "cores[%zu]", i);
		r = wire_get_int(c, "ns", (struct wire_int){ 0, INT64_MAX, NULL }, &ns, err);
		if (r < 0)
			return err_prefix(err, r, "cores[%zu]", i);
		u->cores[i] = (struct usage_core){ .cpu = (int32_t)cpu, .ns = ns };
	}
	u->n_cores = (int32_t)json_array_size(cores);
	return 0;
}

int wire_decode_usage(const json_t *j, const char *at, struct usage *ret, struct err *err)
{
	struct usage u = { 0 };
	int r;

	if (!json_is_object(j))
		return err_set(err, -EINVAL, "%s is not an object", at);
	for (size_t i = 0; usage_fields[i].name; i++) {
		const struct usage_field *f = &usage_fields[i];
		int64_t v;

		if (!json_object_get(j, f->name))
			continue;
		r = wire_get_int(j, f->name, (struct wire_int){ 0, INT64_MAX, NULL }, &v, err);
		if (r < 0)
			return err_prefix(err, r, "%s", at);
		*(int64_t *)(void *)((char *)&u + f->offset) = v;
		u.have |= 1ULL << i;
	}
	r = decode_cores(json_object_get(j, "cores"), &u, err);
	if (r < 0)
		return err_prefix(err, r, "%s", at);
	*ret = u;
	return 0;
}

/* ---- the compact text, without a tree: the ledger reads and writes it for each report ---- */

#define FIGURE_TEXT_MAX 64 /* of a name and a number */

char *wire_format_usage(const struct usage *u)
{
	size_t room = (64 + (size_t)u->n_cores) * FIGURE_TEXT_MAX, n = 1;
	char *text = malloc(room);

	if (!text)
		return NULL;
	text[0] = '{';
	for (size_t i = 0; usage_fields[i].name; i++)
		if (u->have >> i & 1)
			n += (size_t)sprintf(
				text + n, "%s\"%s\":%" PRId64, n > 1 ? "," : "",
				usage_fields[i].name,
				*(const int64_t *)(const void *)((const char *)u +
								 usage_fields[i].offset));
	for (int32_t i = 0; i < u->n_cores; i++)
		n += (size_t)sprintf(text + n, "%s{\"cpu\":%" PRId32 ",\"ns\":%" PRId64 "}",
				     i	     ? ","
				     : n > 1 ? ",\"cores\":["
					     : "\"cores\":[",
				     u->cores[i].cpu, u->cores[i].ns);
	strcpy(text + n, u->n_cores ? "]}" : "}");
	return text;
}

/* Moves *at behind the text. */
static bool skip_text(const char **at, const char *text)
{
	size_t n = strlen(text);

	if (strncmp(*at, text, n) != 0)
		return false;
	*at += n;
	return true;
}

/* At most 18 digits, as many as always fit. */
static bool read_number(const char **at, int64_t *ret)
{
	const char *from = *at;

	for (*ret = 0; **at >= '0' && **at <= '9' && *at - from < 18; ++*at)
		*ret = *ret * 10 + (**at - '0');
	return *at > from && (**at < '0' || **at > '9');
}

static bool read_cores(const char **at, struct usage *u)
{
	do {
		struct usage_core *c = &u->cores[u->n_cores];
		int64_t cpu;

		if (u->n_cores == USAGE_CORES_MAX || !skip_text(at, "{\"cpu\":") ||
		    !read_number(at, &cpu) || cpu > 1 << 20 || !skip_text(at, ",\"ns\":") ||
		    !read_number(at, &c->ns) || !skip_text(at, "}"))
			return false;
		c->cpu = (int32_t)cpu;
		u->n_cores++;
	} while (skip_text(at, ","));
	return skip_text(at, "]");
}

/* Figures come in the order of usage_fields[]. */
static bool read_figure(const char **at, size_t *field, struct usage *u)
{
	for (; usage_fields[*field].name; ++*field) {
		size_t n = strlen(usage_fields[*field].name);

		if (strncmp(*at, usage_fields[*field].name, n) != 0 || (*at)[n] != '"')
			continue;
		*at += n;
		u->have |= 1ULL << *field;
		return skip_text(at, "\":") &&
		       read_number(at, (int64_t *)(void *)((char *)u +
							   usage_fields[*field].offset));
	}
	return false;
}

int wire_parse_usage(const char *text, struct usage *ret)
{
	struct usage u = { 0 };
	bool has_cores = false;
	size_t field = 0;

	if (!skip_text(&text, "{"))
		return -EINVAL;
	do {
		has_cores = skip_text(&text, "\"cores\":[");
		if (has_cores ? !read_cores(&text, &u)
			      : !skip_text(&text, "\"") || !read_figure(&text, &field, &u))
			return -EINVAL;
	} while (!has_cores && skip_text(&text, ","));
	if (strcmp(text, "}") != 0)
		return -EINVAL;
	*ret = u;
	return 0;
}
