/* SPDX-License-Identifier: GPL-2.0-or-later */
/* wire_gpu.c - the GPUs of a job as JSON; see wire.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"

static json_t *encode_gpu(const struct gpu_use *g)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "uuid", g->uuid);
	doc_text_if(&d, "model", g->model);
	doc_text_if(&d, "source", g->source);
	doc_flag(&d, "simulated", g->is_simulated);
	for (size_t i = 0; gpu_use_fields[i].name; i++) {
		const struct usage_field *f = &gpu_use_fields[i];

		if (g->have >> i & 1)
			doc_int(&d, f->name,
				*(const int64_t *)(const void *)((const char *)g + f->offset));
	}
	return doc_take(&d);
}

json_t *wire_encode_gpus(const struct gpu_use *list, int32_t n)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (int32_t i = 0; i < n; i++)
		doc_add(&a, encode_gpu(&list[i]));
	return doc_take(&a);
}

static int decode_texts(const json_t *j, struct gpu_use *g, struct err *err)
{
	int r = wire_get_text(j, "uuid", (struct wire_text){ g->uuid, sizeof(g->uuid), false },
			      err);

	if (r == 0 && !*g->uuid)
		r = err_set(err, -EINVAL, "uuid is empty");
	if (r == 0)
		r = wire_get_text(j, "model",
				  (struct wire_text){ g->model, sizeof(g->model), true }, err);
	if (r == 0 && *g->model && !resources_is_gpu_model(g->model))
		r = err_set(err, -EINVAL, "model '%.63s' is not the name of one", g->model);
	if (r == 0)
		r = wire_get_text(j, "source",
				  (struct wire_text){ g->source, sizeof(g->source), true },
				  err);
	return r;
}

static int decode_gpu(const json_t *j, struct gpu_use *g, struct err *err)
{
	int r = json_is_object(j) ? decode_texts(j, g, err)
				  : err_set(err, -EINVAL, "is not an object");

	g->is_simulated = json_is_true(json_object_get(j, "simulated"));
	for (size_t i = 0; gpu_use_fields[i].name && r == 0; i++) {
		const struct usage_field *f = &gpu_use_fields[i];
		int64_t v;

		if (!json_object_get(j, f->name))
			continue;
		r = wire_get_int(j, f->name, (struct wire_int){ 0, INT64_MAX, NULL }, &v, err);
		if (r < 0)
			break;
		*(int64_t *)(void *)((char *)g + f->offset) = v;
		g->have |= 1U << i;
	}
	return r;
}

static bool is_repeated(const struct gpu_use *list, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(list[k].uuid, list[i].uuid))
			return true;
	return false;
}

int wire_decode_gpus(const json_t *j, const char *at, struct gpu_use **ret, int32_t *ret_n,
		     struct err *err)
{
	_cleanup_free_ struct gpu_use *list = NULL;
	size_t n = json_array_size(j);
	int r = 0;

	if (!json_is_array(j) || n > GPU_USE_MAX)
		return err_set(err, -EINVAL, "%s is not an array of at most %d", at,
			       GPU_USE_MAX);
	list = n ? calloc(n, sizeof(*list)) : NULL;
	if (n && !list)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < n; i++) {
		r = decode_gpu(json_array_get(j, i), &list[i], err);
		if (r == 0 && is_repeated(list, i))
			r = err_set(err, -EINVAL, "uuid '%.95s' is there twice", list[i].uuid);
		if (r < 0)
			return err_prefix(err, r, "%s[%zu]", at, i);
	}
	*ret = TAKE_PTR(list);
	*ret_n = (int32_t)n;
	return 0;
}
