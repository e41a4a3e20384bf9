/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_sync_request - what a node receives of a stored request: its array task and its part, and nothing of
 * the others. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/api/sync/request.h"

static const char stored[] =
	"{\"uid\":7,\"gid\":8,\"resources\":{\"ncpus\":6,\"vmem_bytes\":600000000,\"mem_bytes\":300000000,"
	"\"walltime_s\":60,\"ngpus\":2,\"gpu_model\":\"a100-40\"},\"name\":\"n\",\"workdir\":\"/w\","
	"\"argv\":[\"true\"],\"env\":[\"A=1\"],\"select\":\"2:ncpus=3\",\"stream\":true,"
	"\"array\":{\"first\":1,\"last\":9,\"step\":1,\"at_once\":0},"
	"\"after\":[{\"kind\":\"afterok\",\"job\":3}]}";

static void encode_request(const struct store_desired *g, struct request *ret)
{
	_cleanup_json_ json_t *j = NULL;
	struct err err = { "" };

	assert_int_equal(sync_request_encode(g, stored, &j, &err), 0);
	request_init(ret);
	if (wire_decode_request(j, "request", ret, &err) < 0)
		fail_msg("%s", err.text);
}

static void a_task_gets_its_index_and_files_and_no_array(void **state)
{
	const struct store_desired g = { .array = { 12, 4 } };
	struct request q;

	(void)state;
	encode_request(&g, &q);
	assert_int_equal(q.array.n, 0);
	assert_string_equal(q.env[0], "A=1");
	assert_string_equal(q.env[1], "REEVE_ARRAY_JOB=12");
	assert_string_equal(q.env[2], "REEVE_ARRAY_INDEX=4");
	assert_string_equal(q.argv[0], "true");
	assert_non_null(q.out_path);
	assert_non_null(q.err_path);
	assert_string_not_equal(q.out_path, q.err_path);
	request_done(&q);
}

static struct store_desired make_part(int32_t index)
{
	return (struct store_desired){ .array = { 0, JOB_ID_NO_INDEX },
				       .part = { index, 2, (char *)"n1=3,n2=3" },
				       .share = { .ncpus = 3, .vmem_bytes = 300000000 } };
}

static void the_first_part_has_the_command_and_its_own_amounts(void **state)
{
	const struct store_desired g = make_part(0);
	struct request q;

	(void)state;
	encode_request(&g, &q);
	assert_string_equal(q.argv[0], "true");
	assert_true(q.stream);
	assert_int_equal(q.res.ncpus, 3);
	assert_int_equal(q.res.mem_bytes, 0);
	assert_int_equal(q.res.ngpus, 0);
	assert_string_equal(q.res.gpu_model, "");
	assert_int_equal(q.res.walltime_s, 60);
	assert_int_equal(q.select.n, 0);
	assert_int_equal(q.after.n, 0);
	assert_string_equal(q.part.hosts, "n1=3,n2=3");
	request_done(&q);
}

static void other_parts_have_no_command_and_outlive_the_first(void **state)
{
	const struct store_desired g = make_part(1);
	struct request q;

	(void)state;
	encode_request(&g, &q);
	assert_null(q.argv);
	assert_null(q.script);
	assert_false(q.stream);
	assert_string_equal(q.env[0], "A=1");
	assert_true(q.res.walltime_s > 60);
	assert_int_equal(q.part.index, 1);
	request_done(&q);
}

/* It must not keep the node's other jobs from their answer. */
static void a_damaged_request_becomes_one_that_the_node_refuses(void **state)
{
	static const char *const damaged[] = { "", "{", "[]", "{\"resources\":7}" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(damaged); i++) {
		const struct store_desired g = { .job = 1 };
		_cleanup_json_ json_t *j = NULL;
		struct request q;
		struct err err = { "" };

		assert_int_equal(sync_request_encode(&g, damaged[i], &j, &err), 0);
		assert_non_null(j);
		assert_false(json_is_null(j));
		request_init(&q);
		assert_int_equal(wire_decode_request(j, "request", &q, &err), -EINVAL);
		request_done(&q);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_task_gets_its_index_and_files_and_no_array),
		cmocka_unit_test(the_first_part_has_the_command_and_its_own_amounts),
		cmocka_unit_test(other_parts_have_no_command_and_outlive_the_first),
		cmocka_unit_test(a_damaged_request_becomes_one_that_the_node_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
