/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sync_gpus - the GPUs in a node's sync: counted by model; a contradictory list is named. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/sync.h"
#include "common/wire/wire.h"

#define ONE "{\"uuid\":\"G1\",\"model\":\"a100-40\"}"

#define NODE                                                                                   \
	"{\"node\":\"n1\",\"boot\":\"b\",\"state\":\"up\","                                    \
	"\"capacity\":{\"ncpus\":1,\"mem_bytes\":1,\"jobfs_bytes\":0,\"ngpus\":9},"            \
	"\"free\":{\"ncpus\":1,\"mem_bytes\":1,\"jobfs_bytes\":0,\"ngpus\":9}}"

/* The document of a node that says `text` of its GPUs. */
static int decode_gpus(const char *text, struct sync **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = json_loads(NODE, 0, NULL),
			      *gpus = json_loads(text, 0, NULL);

	assert_non_null(doc);
	assert_non_null(gpus);
	assert_int_equal(json_object_get(gpus, "free")
				 ? json_object_update(json_object_get(doc, "free"),
						      json_object_get(gpus, "free"))
				 : 0,
			 0);
	json_object_del(gpus, "free");
	assert_int_equal(json_object_update(doc, gpus), 0);
	return sync_decode(doc, ret, err);
}

static void devices_count_by_model_and_a_partitioned_card_is_not_offered(void **state)
{
	_cleanup_(sync_freep) struct sync *s = NULL;
	_cleanup_free_ char *text = NULL;

	(void)state;
	assert_int_equal(
		decode_gpus(
			"{\"gpus\":[{\"uuid\":\"G1\",\"model\":\"a100-40\",\"product\":\"A100\","
			"\"vendor\":\"nvidia\",\"mem_bytes\":40,\"numa_node\":1,\"more\":[1]},"
			"{\"uuid\":\"G2\",\"model\":\"a100-40\",\"partitioned\":true},"
			"{\"uuid\":\"G3\",\"model\":\"a100-40\",\"drained\":true},"
			"{\"uuid\":\"M1\",\"model\":\"a100_1g.5gb\",\"simulated\":true},"
			"{\"uuid\":\"M2\",\"model\":\"a100_1g.5gb\"}],"
			"\"free\":{\"gpu_models\":{\"a100-40\":1,\"a100_1g.5gb\":0}}}",
			&s, NULL),
		0);
	assert_int_equal(s->capacity.ngpus, 2);
	assert_int_equal(gpus_count(&s->drained_gpu_models, "a100-40"), 1);
	assert_int_equal(s->free.ngpus, 1);
	assert_int_equal(gpus_count(&s->gpu_models, "a100_1g.5gb"), 2);
	text = sync_format_gpus(s);
	assert_string_equal(text,
			    "[{\"uuid\":\"G1\",\"model\":\"a100-40\",\"product\":\"A100\","
			    "\"vendor\":\"nvidia\",\"mem_bytes\":40,\"numa_node\":1},"
			    "{\"uuid\":\"G2\",\"model\":\"a100-40\",\"partitioned\":true},"
			    "{\"uuid\":\"G3\",\"model\":\"a100-40\",\"drained\":true},"
			    "{\"uuid\":\"M1\",\"model\":\"a100_1g.5gb\",\"simulated\":true},"
			    "{\"uuid\":\"M2\",\"model\":\"a100_1g.5gb\"}]");
}

static void without_a_list_of_devices_the_number_of_gpus_counts(void **state)
{
	static const char *const none[] = { "{\"free\":{}}", "{\"gpus\":[],\"free\":{}}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(none); i++) {
		_cleanup_(sync_freep) struct sync *s = NULL;
		_cleanup_free_ char *text = NULL;

		assert_int_equal(decode_gpus(none[i], &s, NULL), 0);
		assert_int_equal(s->capacity.ngpus, 9);
		assert_int_equal(s->free.ngpus, 9);
		text = sync_format_gpus(s);
		assert_string_equal(text, "[]");
		assert_int_equal(s->gpu_models.n, 0);
	}
}

static void a_contradictory_list_of_devices_is_named(void **state)
{
	static const struct {
		const char *text, *words;
	} bad[] = {
		{ "{\"gpus\":{}}", "gpus: not an array" },
		{ "{\"gpus\":[7]}", "gpus[0]: is not an object" },
		{ "{\"gpus\":[{}]}", "gpus[0]: uuid is missing" },
		{ "{\"gpus\":[{\"uuid\":\"\",\"model\":\"a\"}]}", "uuid is empty" },
		{ "{\"gpus\":[{\"uuid\":\"a\"}]}", "model is missing" },
		{ "{\"gpus\":[{\"uuid\":\"a\",\"model\":\"A 100\"}]}", "not the name of one" },
		{ "{\"gpus\":[" ONE "," ONE "]}", "gpus[1]: uuid is there twice" },
		{ "{\"gpus\":[{\"uuid\":\"a\",\"model\":\"a\",\"mem_bytes\":-1}]}",
		  "mem_bytes" },
		{ "{\"gpus\":[{\"uuid\":\"a\",\"model\":\"a\",\"numa_node\":99999}]}",
		  "numa_node" },
		{ "{\"gpus\":[" ONE "],\"free\":{\"gpu_models\":[]}}", "not an object" },
		{ "{\"gpus\":[" ONE "],\"free\":{\"gpu_models\":{\"a\":\"b\"}}}",
		  "free: gpu_models: not a number" },
		{ "{\"gpus\":[" ONE "],\"free\":{\"gpu_models\":{\"A\":1}}}",
		  "not the name of one" },
		{ "{\"gpus\":[{\"uuid\":\"1\",\"model\":\"a\"},{\"uuid\":\"2\",\"model\":\"b\"}"
		  ","
		  "{\"uuid\":\"3\",\"model\":\"c\"},{\"uuid\":\"4\",\"model\":\"d\"},"
		  "{\"uuid\":\"5\",\"model\":\"e\"},{\"uuid\":\"6\",\"model\":\"f\"},"
		  "{\"uuid\":\"7\",\"model\":\"g\"},{\"uuid\":\"8\",\"model\":\"h\"},"
		  "{\"uuid\":\"9\",\"model\":\"i\"}]}",
		  "gpus[8]: more than 8 models" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct sync *s = NULL;
		struct err err = { "" };

		assert_int_equal(decode_gpus(bad[i].text, &s, &err), -EINVAL);
		if (!strstr(err.text, bad[i].words))
			fail_msg("'%s' lacks '%s'", err.text, bad[i].words);
		assert_null(s);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(devices_count_by_model_and_a_partitioned_card_is_not_offered),
		cmocka_unit_test(without_a_list_of_devices_the_number_of_gpus_counts),
		cmocka_unit_test(a_contradictory_list_of_devices_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
