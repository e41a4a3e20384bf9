/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fairshare - the published tables, the laws of ranks over small worlds, and every fault
 * of a tree. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "controller/policy/fairshare/fairshare.h"

#define P FAIRSHARE_PARENT
#define ROOT FAIRSHARE_NO_ROW
#define ACCOUNT(up, shares, use)                                                               \
	{                                                                                      \
		.parent = up, .raw_shares = shares, .leaf_usage = use                          \
	}
#define USER(up, shares, use)                                                                  \
	{                                                                                      \
		.parent = up, .user = true, .raw_shares = shares, .leaf_usage = use            \
	}
#define N(a) (sizeof(a) / sizeof(*(a)))

enum how { MERGE, SLURM, CLASSIC };

static void compute_ranks(const struct fairshare_row *rows, size_t n, enum how how,
			  struct fairshare_result *results)
{
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *t = NULL;
	struct err err = { "" };
	int32_t at;
	int r = fairshare_tree_new(rows, n, &t, &at, &err);

	if (r == 0 && how == CLASSIC)
		r = fairshare_classic(t, 1, results, &err);
	else if (r == 0)
		r = fairshare_fair_tree(
			t, how == SLURM ? FAIRSHARE_TIES_SLURM : FAIRSHARE_TIES_MERGE, results,
			&err);
	if (r < 0)
		fail_msg("row %d: %s", at, err.text);
}

static void expect_printed(double v, const char *expected)
{
	char buf[64];

	snprintf(buf, sizeof(buf), "%.6f", v);
	assert_string_equal(buf, expected);
}

/* ---- the published tables ---- */

enum { ALL_USERS = 8511, ABOVE = ALL_USERS - 6516, BMRC_ROWS = ALL_USERS + 7 };

/* Row 1 is bloggs; 2, 3, 4 its high, prj, low; then three users of each. */
static void make_bmrc(struct fairshare_row *rows)
{
	static const struct fairshare_row first[] = {
		ACCOUNT(ROOT, 1, 0), ACCOUNT(0, 5, 0),
		ACCOUNT(1, 100, 0),  ACCOUNT(1, 10, 0),
		ACCOUNT(1, 1, 0),    USER(2, P, 0),
		USER(2, P, 0),	     USER(2, P, 0),
		USER(3, 10, 0),	     USER(3, 10, 0),
		USER(3, 10, 777),    USER(4, 10, 0),
		USER(4, 10, 0),	     USER(4, 10, 0),
		ACCOUNT(0, 1000, 1), ACCOUNT(0, 1943, 1000000),
	};
	int32_t n = N(first);

	memcpy(rows, first, sizeof(first));
	for (int i = 0; i < ALL_USERS - 9; i++)
		rows[n++] = (struct fairshare_row)USER(i < ABOVE ? 14 : 15, 1, (unsigned)i);
	assert_int_equal(n, BMRC_ROWS);
}

static void the_published_table_of_bmrc_is_reproduced(void **state)
{
	static struct fairshare_row rows[BMRC_ROWS];
	static struct fairshare_result r[BMRC_ROWS];

	(void)state;
	make_bmrc(rows);
	rows[14].leaf_usage = 0; /* its users' 0 + 1 + ... are above bloggs' 777 */
	for (int i = 16; i < 16 + ABOVE; i++)
		rows[i].leaf_usage = 0;
	rows[16].leaf_usage = 1;
	for (int how = MERGE; how <= SLURM; how++) {
		compute_ranks(rows, BMRC_ROWS, (enum how)how, r);
		expect_printed(r[1].norm_shares, "0.001696");
		expect_printed(r[2].norm_shares, "0.900901");
		expect_printed(r[3].norm_shares, "0.090090");
		expect_printed(r[4].norm_shares, "0.009009");
		expect_printed(r[5].norm_shares, "0.900901"); /* `parent`: the account's */
		expect_printed(r[8].norm_shares, "0.333333");
		for (int i = 5; i < 14; i++)
			expect_printed(r[i].fairshare, i == 10		  ? "0.764658"
						       : i == 8 || i == 9 ? "0.764892"
									  : "0.765597");
		assert_int_equal(r[5].rank, 6516);
		assert_int_equal(r[8].rank, 6510);
		assert_int_equal(r[10].rank, 6508);
		assert_true(isnan(r[1].fairshare));
	}
}

static void the_classic_formula_is_two_to_the_minus_usage_over_share(void **state)
{
	/* Half of all shares; of usage 0, 1/2, all; 1:2 is half the share's use. */
	static const struct {
		unsigned mine, others;
		const char *fairshare;
	} scale[] = { { 0, 1, "1.000000" },
		      { 1, 1, "0.500000" },
		      { 1, 0, "0.250000" },
		      { 1, 3, "0.707107" } };
	struct fairshare_result r[3];

	(void)state;
	for (size_t i = 0; i < N(scale); i++) {
		struct fairshare_row rows[] = { ACCOUNT(ROOT, 1, 0), USER(0, 7, scale[i].mine),
						USER(0, 7, scale[i].others) };

		compute_ranks(rows, 3, CLASSIC, r);
		expect_printed(r[1].fairshare, scale[i].fairshare);
		assert_true(isnan(r[1].level_fs));
	}
}

static void the_classic_formula_multiplies_along_the_path(void **state)
{
	/* UE(2) = 0.4 + (0.6 - 0.4) * 1/4 = 0.45; NormShares 1/2 * 1/4. */
	static const struct fairshare_row rows[] = {
		ACCOUNT(ROOT, 1, 0), ACCOUNT(0, 3, 0), USER(1, 1, 4), USER(1, 3, 2),
		USER(0, 3, 4),	     USER(1, P, 0),    USER(0, P, 0),
	};
	struct fairshare_result r[N(rows)];

	(void)state;
	compute_ranks(rows, N(rows), CLASSIC, r);
	expect_printed(r[0].norm_shares, "1.000000");
	expect_printed(r[0].fairshare, "0.500000");
	expect_printed(r[1].effective_usage, "0.600000");
	expect_printed(r[2].norm_shares, "0.125000");
	expect_printed(r[2].effective_usage, "0.450000");
	expect_printed(r[2].fairshare, "0.082469"); /* 2^-3.6 */
	expect_printed(r[3].effective_usage, "0.500000");
	expect_printed(r[5].norm_shares, "0.500000"); /* its share parent's */
	expect_printed(r[5].effective_usage, "0.600000");
	expect_printed(r[6].effective_usage, "0.000000"); /* right below the root: its own */
}

static void dampening_divides_the_exponent(void **state)
{
	static const struct fairshare_row rows[] = { ACCOUNT(ROOT, 1, 0), USER(0, 1, 1),
						     USER(0, 1, 0) };
	_cleanup_(fairshare_tree_freep) struct fairshare_tree *t = NULL;
	struct fairshare_result r[3];
	int32_t at;

	(void)state;
	assert_int_equal(fairshare_tree_new(rows, 3, &t, &at, NULL), 0);
	assert_int_equal(fairshare_classic(t, 2, r, NULL), 0);
	expect_printed(r[1].fairshare, "0.500000");
	assert_int_equal(fairshare_classic(t, 0, r, NULL), -EINVAL);
	assert_int_equal(fairshare_classic(t, NAN, r, NULL), -EINVAL);
}

/* ---- nothing to divide, and `parent` ---- */

static void ranks_are(const struct fairshare_row *rows, size_t n, enum how how,
		      const uint32_t *expected)
{
	struct fairshare_result r[32];

	assert_true(n <= N(r));
	compute_ranks(rows, n, how, r);
	for (size_t i = 0; i < n; i++)
		if (r[i].rank != expected[i])
			fail_msg("row %zu: rank %u instead of %u", i, r[i].rank, expected[i]);
}

static void zero_shares_come_last_and_zero_usage_first(void **state)
{
	static const struct fairshare_row rows[] = {
		ACCOUNT(ROOT, 1, 0), USER(0, 0, 0),    USER(0, 0, 9), USER(0, 2, 1),
		USER(0, 2, 0),	     ACCOUNT(0, 0, 0), USER(5, 1, 0),
	};
	static const uint32_t ranks[] = { 0, 3, 3, 4, 5, 0, 3 };
	struct fairshare_result r[N(rows)];

	(void)state;
	ranks_are(rows, N(rows), MERGE, ranks);
	ranks_are(rows, N(rows), SLURM, ranks);
	compute_ranks(rows, N(rows), MERGE, r);
	assert_true(r[1].level_fs == 0 && r[2].level_fs == 0 && isinf(r[4].level_fs));
}

static void a_tree_without_usage_or_shares_is_all_ties(void **state)
{
	static const struct fairshare_row idle[] = { ACCOUNT(ROOT, 1, 0), USER(0, 1, 0),
						     ACCOUNT(0, 7, 0), USER(2, 3, 0) };
	static const struct fairshare_row poor[] = { ACCOUNT(ROOT, 1, 0), USER(0, 0, 5),
						     ACCOUNT(0, 0, 1), USER(2, 0, 2) };
	static const uint32_t ranks[] = { 0, 2, 0, 2 };
	struct fairshare_result r[4];

	(void)state;
	ranks_are(idle, 4, MERGE, ranks);
	ranks_are(poor, 4, MERGE, ranks);
	compute_ranks(idle, 4, MERGE, r);
	expect_printed(r[0].norm_usage, "0.000000");
	expect_printed(r[3].effective_usage, "0.000000");
	compute_ranks(poor, 4, CLASSIC, r);
	expect_printed(r[1].norm_shares, "0.000000");
	expect_printed(r[1].fairshare, "0.000000");
}

static void children_of_a_parent_account_stand_above(void **state)
{
	/* 1 has `parent`: 2, 3 and (through 5) 6 are measured against the root, with 4. */
	static const struct fairshare_row rows[] = {
		ACCOUNT(ROOT, 1, 0), ACCOUNT(0, P, 5), USER(1, 2, 4), USER(1, 2, 1),
		USER(0, 4, 6),	     ACCOUNT(1, P, 0), USER(5, 2, 4), USER(1, P, 3),
	};
	static const uint32_t ranks[] = { 0, 0, 2, 4, 3, 0, 2, 5 };
	struct fairshare_result r[N(rows)];

	(void)state;
	ranks_are(rows, N(rows), MERGE, ranks);
	compute_ranks(rows, N(rows), MERGE, r);
	expect_printed(r[2].norm_shares, "0.200000"); /* 2 of 2 + 2 + 4 + 2 */
	expect_printed(r[6].norm_shares, "0.200000");
	assert_true(r[1].raw_usage == 17); /* its own and all below */
	expect_printed(r[2].effective_usage, "0.173913");
	assert_true(isnan(r[1].level_fs) && isnan(r[5].level_fs));
	assert_true(isnan(r[7].level_fs)); /* as sshare prints it: nothing, not inf */
}

/* ---- ties ---- */

/* Accounts 1 and 2 tie; each has one user before and one behind the other's. */
static const struct fairshare_row two_tied[] = {
	ACCOUNT(ROOT, 1, 0), ACCOUNT(0, 1, 0), ACCOUNT(0, 1, 0), USER(1, 1, 1),
	USER(1, 1, 4),	     USER(2, 1, 2),    USER(2, 1, 3),
};

static void tied_accounts_are_one(void **state)
{
	static const uint32_t merged[] = { 0, 0, 0, 4, 1, 3, 2 };
	static const uint32_t shipped[] = { 0, 0, 0, 4, 3, 3, 1 };

	(void)state;
	ranks_are(two_tied, N(two_tied), MERGE, merged);
	ranks_are(two_tied, N(two_tied), SLURM, shipped);
}

static void slurm_takes_siblings_by_order(void **state)
{
	static const uint32_t shipped[] = { 0, 0, 0, 3, 1, 4, 3 };
	struct fairshare_row rows[N(two_tied)];

	(void)state;
	memcpy(rows, two_tied, sizeof(rows));
	rows[1].order = 2;
	rows[2].order = -1;
	ranks_are(rows, N(rows), SLURM, shipped);
}

static void an_account_tied_with_a_user_starts_at_that_rank(void **state)
{
	static const struct fairshare_row rows[] = {
		ACCOUNT(ROOT, 1, 0), USER(0, 1, 10), ACCOUNT(0, 1, 0), USER(2, 3, 5),
		USER(2, 2, 5),	     USER(0, 2, 10), ACCOUNT(2, 1, 0),
	};
	static const uint32_t ranks[] = { 0, 3, 0, 3, 1, 4, 0 };

	(void)state;
	/* 6 is idle, so it comes first below 2, but it has no user. */
	ranks_are(rows, N(rows), MERGE, ranks);
}

static void equality_is_exact(void **state)
{
	/* Usage of 2^100 and one more: a double, and a long double, takes them for equal. */
	fairshare_usage big = (fairshare_usage)1 << 100;
	struct fairshare_row rows[] = { ACCOUNT(ROOT, 1, 0), USER(0, 1, big),
					USER(0, 1, big + 1), USER(0, 3, 3 * big) };
	static const uint32_t exact[] = { 0, 3, 1, 3 };
	struct fairshare_result r[4];

	(void)state;
	ranks_are(rows, N(rows), MERGE, exact);
	compute_ranks(rows, N(rows), SLURM, r);
	assert_int_equal(r[1].rank, r[2].rank);
}

/* ---- laws, over small worlds ---- */

/* A world by number: accounts 1, 2 (below the root or below 1), five users anywhere. */
static uint32_t draw_number(uint64_t *seed, uint32_t below)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33) % below;
}

enum { ACCOUNTS = 5, WORLD = 13, WORLDS = 20000 };

static void make_world(uint64_t seed, struct fairshare_row *rows)
{
	static const int64_t shares[] = { P, 0, 1, 1, 2, 3 };

	for (int i = 0; i < WORLD; i++)
		rows[i] = (struct fairshare_row){
			.parent = i ? (int32_t)draw_number(
					      &seed, (uint32_t)(i < ACCOUNTS ? i : ACCOUNTS))
				    : ROOT,
			.user = i >= ACCOUNTS,
			.raw_shares = shares[draw_number(&seed, N(shares))],
			.leaf_usage = draw_number(&seed, 3),
			.order = i,
		};
}

static void same_ranks(uint64_t world, const struct fairshare_result *a,
		       const struct fairshare_result *b, const int *place)
{
	for (int i = 0; i < WORLD; i++)
		if (a[i].rank != b[place[i]].rank)
			fail_msg("world %lu: row %d has rank %u and %u", (unsigned long)world,
				 i, a[i].rank, b[place[i]].rank);
}

static void the_order_of_siblings_never_matters(void **state)
{
	struct fairshare_row rows[WORLD], moved[WORLD];
	struct fairshare_result a[WORLD], b[WORLD];
	int place[WORLD], other, was;
	uint64_t seed;

	(void)state;
	for (uint64_t world = 0; world < WORLDS; world++) {
		make_world(world, rows);
		compute_ranks(rows, WORLD, MERGE, a);
		seed = ~world;
		for (int i = 0; i < WORLD; i++)
			place[i] = i;
		for (int i = WORLD - 1; i > 0; i--) {
			other = (int)draw_number(&seed, (uint32_t)i + 1);
			was = place[i];
			place[i] = place[other];
			place[other] = was;
		}
		for (int i = 0; i < WORLD; i++) {
			moved[place[i]] = rows[i];
			if (rows[i].parent != ROOT)
				moved[place[i]].parent = place[rows[i].parent];
			moved[place[i]].order = (int64_t)draw_number(&seed, 100);
		}
		compute_ranks(moved, WORLD, MERGE, b);
		same_ranks(world, a, b, place);
	}
}

static void scale_never_matters(void **state)
{
	static const int place[WORLD] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
	struct fairshare_result a[WORLD], b[WORLD], c[WORLD], d[WORLD];
	struct fairshare_row rows[WORLD];

	(void)state;
	for (uint64_t world = 0; world < WORLDS; world++) {
		make_world(world, rows);
		compute_ranks(rows, WORLD, MERGE, a);
		compute_ranks(rows, WORLD, CLASSIC, c);
		for (int i = 0; i < WORLD; i++) {
			rows[i].leaf_usage *= (fairshare_usage)1000000007 << 80;
			if (rows[i].raw_shares != P)
				rows[i].raw_shares *= 12345677;
		}
		compute_ranks(rows, WORLD, MERGE, b);
		same_ranks(world, a, b, place);
		compute_ranks(rows, WORLD, CLASSIC, d);
		for (int i = 0; i < WORLD; i++)
			assert_true(fabs(c[i].fairshare - d[i].fairshare) < 1e-12);
	}
}

/* Every rank is N less how many users stand strictly before: ties share, and use up ranks. */
static void a_rank_is_the_number_of_users_before_it(void **state)
{
	struct fairshare_result r[WORLD];
	struct fairshare_row rows[WORLD];
	uint32_t before;

	(void)state;
	for (uint64_t world = 0; world < WORLDS; world++) {
		make_world(world, rows);
		compute_ranks(rows, WORLD, MERGE, r);
		for (int i = ACCOUNTS; i < WORLD; i++) {
			before = 0;
			for (int k = ACCOUNTS; k < WORLD; k++)
				before += r[k].rank > r[i].rank;
			assert_int_equal(r[i].rank, WORLD - ACCOUNTS - before);
		}
	}
}

/* ---- faults ---- */

static void expect_refusal(const struct fairshare_row *rows, size_t n, int32_t fault,
			   const char *words)
{
	struct fairshare_tree *t = NULL;
	struct err err = { "" };
	int32_t at = 99;

	assert_int_equal(fairshare_tree_new(rows, n, &t, &at, &err), -EINVAL);
	assert_null(t);
	assert_int_equal(at, fault);
	if (!strstr(err.text, words))
		fail_msg("'%s' lacks '%s'", err.text, words);
}

/* Is a's shares / usage above b's? Usage 0 is above all, shares 0 below all. */
static bool is_above(const struct fairshare_row *a, const struct fairshare_row *b)
{
	if (!a->raw_shares || !b->raw_shares)
		return a->raw_shares && !b->raw_shares;
	if (!a->leaf_usage || !b->leaf_usage)
		return !a->leaf_usage && b->leaf_usage;
	return (fairshare_usage)a->raw_shares * b->leaf_usage >
	       (fairshare_usage)b->raw_shares * a->leaf_usage;
}

/* A level of thousands is sorted by digits first: the same ranks as by counting. */
static void a_wide_level_is_ranked_by_counting_too(void **state)
{
	enum { N = 5001 };
	struct fairshare_row *rows = calloc(N, sizeof(*rows));
	struct fairshare_result *r = calloc(N, sizeof(*r));
	uint64_t seed = 11;

	(void)state;
	rows[0] = (struct fairshare_row){ .parent = FAIRSHARE_NO_ROW, .raw_shares = 1 };
	for (int i = 1; i < N; i++) {
		/* ties, and neighbours that differ by less than a double can show */
		uint64_t usage = draw_number(&seed, 4)
					 ? (uint64_t)draw_number(&seed, 40) * 1000
					 : (UINT64_C(1) << 60) + draw_number(&seed, 3);

		rows[i] = (struct fairshare_row){ .parent = 0,
						  .user = true,
						  .raw_shares = draw_number(&seed, 5),
						  .order = i,
						  .leaf_usage = usage };
	}
	compute_ranks(rows, N, MERGE, r);
	for (int i = 1; i < N; i++) {
		uint32_t before = 0;

		for (int j = 1; j < N; j++)
			before += is_above(&rows[j], &rows[i]);
		assert_int_equal(r[i].rank, N - 1 - before);
	}
	free(rows);
	free(r);
}

static void a_faulty_tree_is_refused_with_its_row(void **state)
{
	static const struct fairshare_row none[] = { ACCOUNT(1, 1, 0), ACCOUNT(0, 1, 0) },
					  two[] = { ACCOUNT(ROOT, 1, 0), ACCOUNT(ROOT, 1, 0) },
					  outside[] = { ACCOUNT(ROOT, 1, 0), USER(2, 1, 0) },
					  below_user[] = { ACCOUNT(ROOT, 1, 0), USER(0, 1, 0),
							   USER(1, 1, 0) },
					  user_root[] = { USER(ROOT, 1, 0) },
					  negative[] = { ACCOUNT(ROOT, 1, 0), USER(0, -2, 0) },
					  huge[] = { ACCOUNT(ROOT, 1, 0),
						     USER(0, FAIRSHARE_SHARES_MAX + 1LL, 0) },
					  cycle[] = { ACCOUNT(ROOT, 1, 0), USER(2, 1, 0),
						      ACCOUNT(3, 1, 0), ACCOUNT(2, 1, 0) },
					  own[] = { ACCOUNT(ROOT, 1, 0), ACCOUNT(1, 1, 0) };

	(void)state;
	expect_refusal(NULL, 0, ROOT, "no root");
	expect_refusal(none, 2, ROOT, "no root");
	expect_refusal(two, 2, 1, "a second root");
	expect_refusal(outside, 2, 1, "not in the tree");
	expect_refusal(below_user, 3, 2, "the parent is a user");
	expect_refusal(user_root, 1, 0, "a user cannot be the root");
	expect_refusal(negative, 2, 1, "negative");
	expect_refusal(huge, 2, 1, "above 2147483646");
	expect_refusal(cycle, 4, 3, "its own ancestor");
	expect_refusal(own, 2, 1, "its own ancestor");
}

static void usage_beyond_128_bits_is_refused(void **state)
{
	struct fairshare_row rows[] = { ACCOUNT(ROOT, 1, 0), USER(0, 1, 1), USER(0, 1, 0) };
	struct fairshare_tree *t = NULL;
	int32_t at;

	(void)state;
	rows[2].leaf_usage = ~(fairshare_usage)0;
	assert_int_equal(fairshare_tree_new(rows, 3, &t, &at, NULL), -ERANGE);
}

static void a_chain_of_any_depth_is_walked(void **state)
{
	enum { DEPTH = 200000 };
	struct fairshare_row *rows = calloc(DEPTH, sizeof(*rows));
	struct fairshare_result *r = calloc(DEPTH, sizeof(*r));

	(void)state;
	assert_true(rows && r);
	for (int32_t i = 0; i < DEPTH; i++)
		rows[i] = (struct fairshare_row)ACCOUNT(i - 1, 1, 1);
	rows[DEPTH - 1].user = true;
	compute_ranks(rows, DEPTH, MERGE, r);
	assert_int_equal(r[DEPTH - 1].rank, 1);
	free(rows);
	free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_table_of_bmrc_is_reproduced),
		cmocka_unit_test(the_classic_formula_is_two_to_the_minus_usage_over_share),
		cmocka_unit_test(the_classic_formula_multiplies_along_the_path),
		cmocka_unit_test(dampening_divides_the_exponent),
		cmocka_unit_test(zero_shares_come_last_and_zero_usage_first),
		cmocka_unit_test(a_tree_without_usage_or_shares_is_all_ties),
		cmocka_unit_test(children_of_a_parent_account_stand_above),
		cmocka_unit_test(tied_accounts_are_one),
		cmocka_unit_test(slurm_takes_siblings_by_order),
		cmocka_unit_test(an_account_tied_with_a_user_starts_at_that_rank),
		cmocka_unit_test(equality_is_exact),
		cmocka_unit_test(the_order_of_siblings_never_matters),
		cmocka_unit_test(scale_never_matters),
		cmocka_unit_test(a_rank_is_the_number_of_users_before_it),
		cmocka_unit_test(a_wide_level_is_ranked_by_counting_too),
		cmocka_unit_test(a_faulty_tree_is_refused_with_its_row),
		cmocka_unit_test(usage_beyond_128_bits_is_refused),
		cmocka_unit_test(a_chain_of_any_depth_is_walked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
