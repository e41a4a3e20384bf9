/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_empty_texts - what has nothing to say leaves an empty text, whatever was in the buffer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/gpus.h"
#include "common/model/job.h"
#include "common/model/mail.h"
#include "common/model/request.h"

static char buf[SELECT_TEXT_MAX];

/* A buffer that was used before. */
static char *used_buffer(void)
{
	memset(buf, 'x', sizeof(buf) - 1);
	return buf;
}

static void nothing_is_an_empty_text(void **state)
{
	const struct gpus gpus = { 0 };
	const struct resources res = { 0 };
	const struct select select = { 0 };

	(void)state;
	assert_string_equal(gpus_format(&gpus, used_buffer()), "");
	assert_string_equal(gpus_words(&gpus, used_buffer()), "");
	assert_string_equal(mail_format_types(0, used_buffer()), "");
	assert_string_equal(resources_format(&res, used_buffer(), sizeof(buf)), "");
	assert_string_equal(select_format(&select, "", used_buffer()), "");
}

static void a_script_that_is_refused_has_ignored_nothing(void **state)
{
	_cleanup_(request_done) struct request r;
	struct err err;

	(void)state;
	request_init(&r);
	assert_int_equal(request_parse_script(&r, "true\n", 5, "x.sh", used_buffer(), &err), 0);
	assert_string_equal(buf, "");
	assert_true(request_parse_script(&r, "", 0, "x.sh", used_buffer(), &err) < 0);
	assert_string_equal(buf, "");
}

/* A list of features that is given again replaces the one before. */
static void a_list_begins_anew(void **state)
{
	struct resources res = { .features = "old" };

	(void)state;
	assert_int_equal(resources_parse("features=new", &res, NULL), 0);
	assert_string_equal(res.features, "new");
}

/* Texts are cut where the buffer ends, at any size of it. */
static void a_list_of_resources_is_cut_where_its_buffer_ends(void **state)
{
	const struct resources res = { .ncpus = 12,
				       .vmem_bytes = 2000000000,
				       .ngpus = 3,
				       .gpu_model = "a100",
				       .node_type = "fat",
				       .features = "ib,nvme" };
	char whole[SELECT_TEXT_MAX];

	(void)state;
	resources_format(&res, whole, sizeof(whole));
	assert_string_equal(whole,
			    "ncpus=12,vmem=2GB,ngpus=a100:3,nodetype=fat,features=ib,nvme");
	for (size_t size = 1; size <= strlen(whole) + 1; size++) {
		resources_format(&res, used_buffer(), size);
		assert_int_equal(strlen(buf), size - 1);
		assert_memory_equal(buf, whole, size - 1);
		assert_int_equal(buf[size], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_an_empty_text),
		cmocka_unit_test(a_script_that_is_refused_has_ignored_nothing),
		cmocka_unit_test(a_list_begins_anew),
		cmocka_unit_test(a_list_of_resources_is_cut_where_its_buffer_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
