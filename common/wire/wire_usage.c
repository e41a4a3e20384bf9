/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_usage.c - what a job used as JSON: one key for each measured figure; see wire.h. */
#include <errno.h>
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
