/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_features - lists of words: one form for each set, and what has all of another. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/model/features.h"
#include "common/model/request.h"

static const char *list_of(const char *text)
{
	static char list[FEATURES_MAX];

	list[0] = '\0';
	assert_int_equal(features_parse(text, list, NULL), 0);
	return list;
}

static void a_list_is_one_text_whatever_the_order(void **state)
{
	(void)state;
	assert_string_equal(list_of("nvme, IB ,avx512,ib"), "avx512,ib,nvme");
	assert_string_equal(list_of("ib,avx512,nvme"), "avx512,ib,nvme");
	assert_string_equal(list_of("ib2,ib,ib1"), "ib,ib1,ib2");
}

/* All subsets of five words against all others. */
static void a_node_has_all_features_when_the_request_is_a_subset(void **state)
{
	static const char *const words[] = { "a", "aa", "ab", "b", "ba" };
	char has[FEATURES_MAX], wanted[FEATURES_MAX];

	(void)state;
	for (unsigned x = 0; x < 32; x++)
		for (unsigned y = 0; y < 32; y++) {
			has[0] = wanted[0] = '\0';
			for (int i = 4; i >= 0; i--) {
				if (x >> i & 1)
					assert_int_equal(features_add(has, words[i], NULL), 0);
				if (y >> i & 1)
					assert_int_equal(features_add(wanted, words[i], NULL),
							 0);
			}
			assert_int_equal(features_have(has, wanted), (y & ~x) == 0);
		}
}

static void a_feature_that_is_no_word_is_refused_and_changes_nothing(void **state)
{
	static const char *const bad[] = { "",	  "a,", ",a",	    "a,,b",
					   "a b", "-a", "\xc3\xa4", "a=b" };
	char list[FEATURES_MAX] = "ib", word[16];
	int n = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct err err = { "" };

		assert_true(features_parse(bad[i], list, &err) < 0);
		assert_true(*err.text);
		assert_string_equal(list, "ib");
	}
	do
		snprintf(word, sizeof(word), "w%03d", ++n);
	while (features_add(list, word, NULL) == 0);
	assert_int_equal(strlen(list), 2 + (n - 1) * 5);
	assert_int_equal(strlen(list), FEATURES_MAX - 1); /* full to the last byte */
}

static void a_request_names_them_among_its_amounts(void **state)
{
	struct resources res = { 0 };
	char buf[512];

	(void)state;
	assert_int_equal(resources_parse("ncpus=1,features=nvme, IB ,nodetype=T4-A,walltime=60",
					 &res, NULL),
			 0);
	assert_string_equal(res.features, "ib,nvme");
	assert_string_equal(res.node_type, "t4-a");
	assert_string_equal(resources_format(&res, buf, sizeof(buf)),
			    "ncpus=1,walltime=0:01:00,nodetype=t4-a,features=ib,nvme");
	assert_int_equal(resources_parse("features=avx512", &res, NULL), 0);
	assert_string_equal(res.features, "avx512"); /* replaced, not added */
}

static void what_is_well_leaves_no_message(void **state)
{
	struct resources res = { 0 };
	struct err err = { "" };

	(void)state;
	assert_int_equal(resources_parse("ncpus=2,features=ib,nodetype=t4,mem=1gb", &res, &err),
			 0);
	assert_string_equal(err.text, "");
}

static void a_contradictory_value_is_refused(void **state)
{
	static const char *const bad[] = { "features=",
					   "features=a,,b",
					   "nodetype=",
					   "nodetype=a b",
					   "ncpus=1,ib",
					   "features=a,ncpus=1,b",
					   "nodetype=a,nodetype=b",
					   "features=a,features=b" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct resources res = { .ncpus = 7 };
		struct err err = { "" };

		if (resources_parse(bad[i], &res, &err) >= 0)
			fail_msg("accepted: %s", bad[i]);
		assert_true(*err.text);
		assert_int_equal(res.ncpus, 7);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_one_text_whatever_the_order),
		cmocka_unit_test(a_node_has_all_features_when_the_request_is_a_subset),
		cmocka_unit_test(a_feature_that_is_no_word_is_refused_and_changes_nothing),
		cmocka_unit_test(a_request_names_them_among_its_amounts),
		cmocka_unit_test(what_is_well_leaves_no_message),
		cmocka_unit_test(a_contradictory_value_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
