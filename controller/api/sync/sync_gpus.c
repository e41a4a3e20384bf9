/* sync_gpus.c - see sync_gpus.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/sync/sync_gpus.h"

#define TEXT_MAX 96

static const struct {
	const char *key;
	bool is_optional;
} texts[] = { { "uuid", false }, { "model", false }, { "product", true }, { "vendor", true } };

/* The words of a device, known keys alone, into `to`. */
static int take_texts(const json_t *j, json_t *to, struct err *err)
{
	char text[TEXT_MAX];

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		const struct wire_text t = { text, sizeof(text), texts[i].is_optional };
		int r = wire_get_text(j, texts[i].key, t, err);

		if (r < 0)
			return r;
		if (!*text && !texts[i].is_optional)
			return err_set(err, -EINVAL, "%s is empty", texts[i].key);
		if (*text && json_object_set_new(to, texts[i].key, json_string(text)) < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int take_figures(const json_t *j, json_t *to, struct err *err)
{
	static const int64_t none = -1;
	static const char *const flags[] = { "simulated", "partitioned", "drained" };
	int64_t mem, numa;
	int r = wire_get_int(j, "mem_bytes", (struct wire_int){ 0, INT64_MAX / 1024, &none },
			     &mem, err);

	if (r == 0)
		r = wire_get_int(j, "numa_node", (struct wire_int){ -1, INT16_MAX, &none },
				 &numa, err);
	if (r < 0)
		return r;
	if (mem >= 0)
		json_object_set_new(to, "mem_bytes", json_integer(mem));
	if (numa >= 0)
		json_object_set_new(to, "numa_node", json_integer(numa));
	for (size_t i = 0; i < ARRAY_LEN(flags); i++)
		if (json_is_true(json_object_get(j, flags[i])))
			json_object_set_new(to, flags[i], json_true());
	return 0;
}

static bool is_known(const json_t *list, const char *uuid)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		json_t *one = json_array_get(list, i);

		if (!strcmp(json_string_value(json_object_get(one, "uuid")), uuid))
			return true;
	}
	return false;
}

static int count_model(struct gpus *g, const char *model, int64_t n, struct err *err)
{
	if (!resources_is_gpu_model(model))
		return err_set(err, -EINVAL, "model '%.63s' is not the name of one", model);
	if (gpus_add(g, model, n) < 0 || g->n > GPUS_NODE_MODELS_MAX)
		return err_set(err, -EINVAL, "more than %d models", GPUS_NODE_MODELS_MAX);
	return 0;
}

/* A GPU that is cut in parts is shown and never given; one that is not clean, not for now. */
static int take_device(const json_t *j, json_t *list, struct sync *s, struct err *err)
{
	const char *model;
	_cleanup_json_ json_t *to = json_object();
	int r;

	if (!to)
		return err_set(err, -ENOMEM, "out of memory");
	if (!json_is_object(j))
		return err_set(err, -EINVAL, "is not an object");
	r = take_texts(j, to, err);
	if (r == 0)
		r = take_figures(j, to, err);
	if (r < 0)
		return r;
	if (is_known(list, json_string_value(json_object_get(to, "uuid"))))
		return err_set(err, -EINVAL, "uuid is there twice");
	model = json_string_value(json_object_get(to, "model"));
	if (!json_is_true(json_object_get(to, "partitioned"))) {
		r = count_model(&s->gpu_models, model, 1, err);
		if (r == 0 && json_is_true(json_object_get(to, "drained")))
			r = count_model(&s->drained_gpu_models, model, 1, err);
	}
	if (r == 0 && json_array_append_new(list, TAKE_PTR(to)) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	return r;
}

/* {"a100-40": 3} */
static int take_free(const json_t *doc, struct gpus *ret, struct err *err)
{
	json_t *free_now = json_object_get(json_object_get(doc, "free"), "gpu_models"), *n;
	const char *model;
	int r = 0;

	if (!free_now)
		return 0;
	if (!json_is_object(free_now))
		return err_set(err, -EINVAL, "free: gpu_models is not an object");
	json_object_foreach(free_now, model, n)
	{
		if (!json_is_integer(n) || json_integer_value(n) < 0 ||
		    json_integer_value(n) > SYNC_GPUS_MAX)
			r = err_set(err, -EINVAL, "not a number of devices");
		else
			r = count_model(ret, model, json_integer_value(n), err);
		if (r < 0)
			return err_prefix(err, r, "free: gpu_models");
	}
	return 0;
}

int sync_gpus_decode(const json_t *doc, struct sync *s, struct err *err)
{
	const json_t *gpus = json_object_get(doc, "gpus");
	_cleanup_json_ json_t *list = json_array();
	int r = 0;

	if (!gpus)
		return 0;
	if (!json_is_array(gpus) || json_array_size(gpus) > SYNC_GPUS_MAX)
		return err_set(err, -EINVAL, "gpus: not an array of at most %d", SYNC_GPUS_MAX);
	for (size_t i = 0; i < json_array_size(gpus) && r == 0; i++) {
		r = take_device(json_array_get(gpus, i), list, s, err);
		if (r < 0)
			return err_prefix(err, r, "gpus[%zu]", i);
	}
	r = take_free(doc, &s->free_gpu_models, err);
	if (r < 0 || json_array_size(list) == 0)
		return r;
	s->capacity.ngpus = gpus_count(&s->gpu_models, "");
	s->free.ngpus = gpus_count(&s->free_gpu_models, "");
	s->gpus = wire_format(list);
	return s->gpus ? 0 : err_set(err, -ENOMEM, "out of memory");
}
