/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_policy_memory - ranks and packing where memory ends, at each allocation: the error is returned with its words, and nothing is lost. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/policy/fairshare/fairshare.h"
#include "controller/policy/placement/fit_chunks.h"
#include "tests/unit/rig/faults/fail_alloc.h"

#define ROWS 4

static const struct fairshare_row rows[ROWS] = {
	{ .parent = FAIRSHARE_NO_ROW, .raw_shares = 1 },
	{ .raw_shares = 2, .leaf_usage = 0 },
	{ .parent = 1, .user = true, .raw_shares = 1, .leaf_usage = 5 },
	{ .parent = 1, .user = true, .raw_shares = 1, .leaf_usage = 7 },
};

/* *ctx: the rule; 2: the classic one. */
static int rank_users(void *ctx)
{
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *t = NULL;
	struct fairshare_result results[ROWS];
	const int *rule = ctx;
	struct err err = { "" };
	int32_t fault;
	int r = fairshare_tree_new(rows, ROWS, &t, &fault, &err);

	if (r == 0 && *rule == 2)
		r = fairshare_classic(t, 1, results, &err);
	else if (r == 0)
		r = fairshare_fair_tree(t, *rule ? FAIRSHARE_TIES_SLURM : FAIRSHARE_TIES_MERGE,
					results, &err);
	assert_string_equal(err.text, r ? "out of memory" : "");
	return r;
}

static void ranks_without_memory_are_refused(void **state)
{
	(void)state;
	for (int rule = 0; rule < 3; rule++)
		assert_int_equal(fail_alloc_each(rank_users, &rule), rule == 2 ? 10 : 12);
}

static int pack_one(void *ctx)
{
	struct fit_node nodes[2] = {
		{ .name = "a", .open = true, .capacity = { .ncpus = 4 } },
		{ .name = "b", .open = true, .capacity = { .ncpus = 4 } }
	};
	struct select s = { .n = 1, .of = { { .n = 2, .ncpus = 3 } } };
	struct resources want = { 0 };
	const struct fit_request ask = { &want, &s, false };
	char why[FIT_WHY_MAX];
	int64_t n = 7;
	int r = fit_pack(nodes, 2, &ask, &n, why);

	(void)ctx;
	assert_int_equal(n, r ? 7 : 2);
	return r;
}

static void packing_without_memory_is_refused(void **state)
{
	(void)state;
	assert_true(fail_alloc_each(pack_one, NULL) >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_without_memory_are_refused),
		cmocka_unit_test(packing_without_memory_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
