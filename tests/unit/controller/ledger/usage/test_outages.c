/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_outages - declared outages: their clusters and times, their order, and refused ones. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/usage/adjust.h"
#include "controller/ledger/usage/outages.h"
#include "tests/unit/rig/ledger_rig.h"

static int add_outage(struct rig *r, const char *cluster, int64_t from_ns, int64_t to_ns,
		      struct err *err)
{
	const struct store_outage o = { .at_ns = 1,
					.from_ns = from_ns,
					.to_ns = to_ns,
					.cluster = cluster,
					.reason = "new\ncooling",
					.author = "root" };
	int64_t id = -1;
	int rc = store_outage_add(r->store, &o, &id, err);

	return rc < 0 ? rc : (int)id;
}

static int append_outage(void *ctx, const struct store_outage *o, struct err *err)
{
	char *text = ctx;
	size_t n = strlen(text);

	(void)err;
	assert_string_equal(o->reason, "new cooling");
	snprintf(text + n, 256 - n, "%lld:%s:%lld-%lld ", (long long)o->id, o->cluster,
		 (long long)o->from_ns, (long long)o->to_ns);
	return 0;
}

static const char *list_outages(struct rig *r, const char *cluster, int64_t from_ns,
				int64_t to_ns)
{
	static char text[256];

	*text = '\0';
	assert_int_equal(store_outage_each(r->store,
					   &(struct store_outages){ cluster, from_ns, to_ns },
					   append_outage, text, NULL),
			 0);
	return text;
}

static void outages_are_of_a_cluster_or_of_all_and_in_order(void **state)
{
	struct rig *r = *state;
	struct outage_list o;

	assert_int_equal(add_outage(r, "west", 300, 400, NULL), 1);
	assert_int_equal(add_outage(r, "", 100, 200, NULL), 2);
	assert_int_equal(add_outage(r, "main", 150, 160, NULL), 3);
	assert_string_equal(list_outages(r, NULL, 0, 1000),
			    "2::100-200 3:main:150-160 1:west:300-400 ");
	assert_string_equal(list_outages(r, "west", 0, 1000), "2::100-200 1:west:300-400 ");
	assert_string_equal(list_outages(r, "", 0, 1000), "2::100-200 ");
	assert_string_equal(list_outages(r, NULL, 200, 300), "");
	assert_string_equal(list_outages(r, NULL, 199, 301), "2::100-200 1:west:300-400 ");
	assert_int_equal(store_outage_read(r->store, &(struct store_outages){ "main", 0, 1000 },
					   &o, NULL),
			 0);
	assert_int_equal(o.n, 2);
	assert_int_equal(o.of[1].from_ns, 150);
	free(o.of);
	assert_int_equal(store_outage_remove(r->store, 2, NULL), 0);
	assert_string_equal(list_outages(r, "west", 0, 1000), "1:west:300-400 ");
	assert_int_equal(store_outage_remove(r->store, 2, NULL), -ENOENT);
	assert_int_equal(add_outage(r, "", 1, 2, NULL), 4);
}

static void one_that_is_none_is_refused(void **state)
{
	struct rig *r = *state;
	struct store_outage o = { .from_ns = 1, .to_ns = 2, .cluster = "", .author = "root" };
	struct err err = { "" };
	int64_t id, at;

	assert_int_equal(add_outage(r, "", 5, 5, &err), -EINVAL);
	assert_string_equal(err.text, "the outage ends before it begins");
	assert_int_equal(store_outage_add(r->store, &o, &id, &err), -EINVAL);
	for (int i = 0; i < STORE_OUTAGES_MAX; i++)
		assert_int_equal(add_outage(r, "", i, i + 1, NULL), i + 1);
	assert_int_equal(add_outage(r, "", 1, 2, &err), -EDQUOT); /* not as of a full disk */
	assert_int_equal(store_outage_parse(r->store, "1970-01-03", &at, NULL), 0);
	assert_int_equal(at, store_first_ns(r->store, 2));
	assert_int_equal(store_outage_parse(r->store, "soon", &at, &err), -EINVAL);
	assert_non_null(strstr(err.text, "its beginning is meant"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(outages_are_of_a_cluster_or_of_all_and_in_order,
						rig_open, rig_close),
		cmocka_unit_test_setup_teardown(one_that_is_none_is_refused, rig_open,
						rig_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
