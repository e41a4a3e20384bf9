/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_fairshare_level - two rows compare as their fractions do, to the last bit; a level is sorted as an insertion sort would, and a wide one
 * with one comparison for each row. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "controller/policy/fairshare/level.h"

#define WIDE 2048 /* from so many rows on they are counted into place first */
#define ROWS_MAX (2 * WIDE + 100)

/* ---- comparing ---- */

/* Rows 0 and 1 below accounts 2 and 3. */
struct world {
	struct fairshare_row rows[4];
	int32_t share_parent[4];
	uint64_t level_sum[4];
	fairshare_usage usage[4];
	struct fairshare_tree t;
};

static void open_world(struct world *w)
{
	*w = (struct world){ .share_parent = { 2, 3, FAIRSHARE_NO_ROW, FAIRSHARE_NO_ROW } };
	w->t = (struct fairshare_tree){ .rows = w->rows,
					.n = 4,
					.share_parent = w->share_parent,
					.level_sum = w->level_sum,
					.usage = w->usage };
}

static int sign_of(int v)
{
	return (v > 0) - (v < 0);
}

static int compare_rows(const struct world *w, fairshare_compare_fn compare)
{
	struct fairshare_entry e[2];

	for (int32_t i = 0; i < 2; i++)
		e[i] = (struct fairshare_entry){ (double)fairshare_level_fs(&w->t, i), i,
						 true };
	assert_int_equal(sign_of(compare(&w->t, &e[1], &e[0])),
			 -sign_of(compare(&w->t, &e[0], &e[1])));
	return sign_of(compare(&w->t, &e[0], &e[1]));
}

/* Shares x usage of the account / (sum of shares x usage): the larger comes first. Figures so small that the products fit 128 bits. */
static int compare_plainly(const struct world *w)
{
	unsigned __int128 a = (unsigned __int128)w->rows[0].raw_shares * w->level_sum[3] *
			      w->usage[2] * w->usage[1];
	unsigned __int128 b = (unsigned __int128)w->rows[1].raw_shares * w->level_sum[2] *
			      w->usage[3] * w->usage[0];

	return (a < b) - (a > b);
}

/* The shares of the second row are m times those of the first, and its usage is m times that of the first, or one unit more or
 * less. Then all usages are multiplied by a power of two: the order does not change. */
static void fractions_compare_to_the_last_unit(void **state)
{
	int n[3] = { 0 };

	(void)state;
	srandom(1);
	for (int round = 0; round < 4000; round++) {
		int64_t m = 1 + random() % 1000, near = random() % 3 - 1, much = random() % 2;
		struct world w;
		int want;

		open_world(&w);
		w.rows[0].raw_shares = 1 + random() % 1000;
		w.rows[1].raw_shares = w.rows[0].raw_shares * m;
		w.usage[0] =
			1 + (fairshare_usage)random() * (much ? (uint64_t)random() % 4096 : 1);
		w.usage[1] = w.usage[0] * (fairshare_usage)m + (fairshare_usage)(near + 1) - 1;
		w.level_sum[2] = w.level_sum[3] = 1 + (uint64_t)random() % 512;
		w.usage[2] = w.usage[3] = 1 + (fairshare_usage)random() % 1000;
		if (random() % 4 == 0)
			w.usage[3]++;
		if (random() % 4 == 0)
			w.level_sum[3]++;
		if (!w.usage[1])
			continue;
		want = compare_plainly(&w);
		n[want + 1]++;
		for (int shift = 0; shift <= 70; shift += 14) {
			struct world larger = w;

			larger.t.rows = larger.rows;
			larger.t.share_parent = larger.share_parent;
			larger.t.level_sum = larger.level_sum;
			larger.t.usage = larger.usage;
			for (int i = 0; i < 4; i++)
				larger.usage[i] <<= shift;
			larger.level_sum[2] <<= shift / 2;
			larger.level_sum[3] <<= shift / 2;
			for (int i = 0; shift == 70 && i < 2;
			     i++) { /* all that six limbs hold */
				larger.rows[i].raw_shares <<= 10;
				larger.usage[i + 2] <<= 45;
			}
			assert_int_equal(compare_rows(&larger, fairshare_compare_exact), want);
		}
	}
	assert_true(n[0] > 100 && n[1] > 100 && n[2] > 100);
}

static void rows_without_a_fraction_have_their_place(void **state)
{
	struct world w;

	(void)state;
	open_world(&w);
	for (int i = 0; i < 4; i++) {
		w.usage[i] = 10;
		w.level_sum[i] = 4;
		w.rows[i].raw_shares = 2;
	}
	assert_true(fairshare_level_fs(&w.t, 0) == 0.5L);
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), 0);
	assert_int_equal(compare_rows(&w, fairshare_compare_long), 0);
	w.rows[0].raw_shares = 3;
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), -1);
	assert_int_equal(compare_rows(&w, fairshare_compare_long), -1);
	w.rows[0].raw_shares = 0; /* without shares: the last */
	assert_true(fairshare_level_fs(&w.t, 0) == 0);
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), 1);
	w.rows[1].raw_shares = 0;
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), 0);
	w.rows[0].raw_shares = 2;
	w.usage[0] = 0; /* without usage: the first */
	assert_true(isinf(fairshare_level_fs(&w.t, 0)));
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), -1);
	w.rows[1].raw_shares = FAIRSHARE_PARENT;
	assert_true(isinf(fairshare_level_fs(&w.t, 1)));
	assert_int_equal(compare_rows(&w, fairshare_compare_exact), 0);
	w.rows[0].raw_shares = 0; /* and without shares: these decide */
	assert_true(fairshare_level_fs(&w.t, 0) == 0);
}

/* ---- sorting ---- */

static size_t n_compared;

static int compare_doubles(const struct fairshare_tree *t, const struct fairshare_entry *a,
			   const struct fairshare_entry *b)
{
	(void)t;
	n_compared++;
	return (a->level_fs < b->level_fs) - (a->level_fs > b->level_fs);
}

static struct fairshare_row rows[ROWS_MAX];
static struct fairshare_entry entries[ROWS_MAX], want[ROWS_MAX], spare[ROWS_MAX];

static bool goes_before(const struct fairshare_entry *a, const struct fairshare_entry *b)
{
	if (a->level_fs != b->level_fs)
		return a->level_fs > b->level_fs;
	if (a->user != b->user)
		return a->user;
	return rows[a->row].order < rows[b->row].order;
}

static void sort_and_expect(size_t n)
{
	const struct fairshare_tree t = { .rows = rows, .n = n };

	for (size_t i = 0; i < n; i++) {
		size_t at = i;

		for (; at > 0 && goes_before(&entries[i], &want[at - 1]); at--)
			want[at] = want[at - 1];
		want[at] = entries[i];
	}
	n_compared = 0;
	fairshare_sort(&t, entries, n, spare, compare_doubles);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(entries[i].row, want[i].row);
}

static void a_level_is_sorted_and_equal_rows_keep_their_place(void **state)
{
	static const double values[] = { 0, 0.25, 1, 1.5, 3, INFINITY };

	(void)state;
	srandom(2);
	for (size_t n = 0; n < 70; n++)
		for (int round = 0; round < 8; round++) {
			for (size_t i = 0; i < n; i++) {
				rows[i].order = random() % 3;
				entries[i] =
					(struct fairshare_entry){ values[random() % 6],
								  (int32_t)i, random() % 2 };
			}
			sort_and_expect(n);
		}
}

/* Doubles whose bits differ in some groups of eleven alone: each group is a pass, or none. */
static double make_double(unsigned groups, unsigned i)
{
	uint64_t bits = 0;
	double v;

	for (int g = 0; g < 6; g++) {
		uint64_t digit = groups >> g & 1 ? (i * 997u + 31u * (unsigned)g) % 2048u : 5;

		bits |= (g == 5 ? digit % 127 : digit) << g * 11;
	}
	memcpy(&v, &bits, sizeof(v));
	return v;
}

static void a_wide_level_costs_one_comparison_a_row(void **state)
{
	(void)state;
	for (unsigned groups = 0; groups < 64; groups += groups < 8 ? 1 : 7) {
		for (unsigned i = 0; i < WIDE; i++) {
			rows[i].order = i;
			entries[i] = (struct fairshare_entry){ make_double(groups, i),
							       (int32_t)i, true };
		}
		sort_and_expect(WIDE);
		assert_int_equal(n_compared, WIDE - 1);
	}
	/* One row less is merged: that takes more. */
	for (unsigned i = 0; i < WIDE - 1; i++)
		entries[i] = (struct fairshare_entry){ make_double(9, i), (int32_t)i, true };
	sort_and_expect(WIDE - 1);
	assert_true(n_compared > 3 * WIDE);
	/* And wide ones with ties, of users and accounts, zeros and infinite ones. */
	for (unsigned i = 0; i < ROWS_MAX; i++) {
		rows[i].order = (int64_t)(i * 7 % 5);
		entries[i] = (struct fairshare_entry){ i % 11 == 0  ? INFINITY
						       : i % 7 == 0 ? 0
								    : i * 31 % 600 / 7.0,
						       (int32_t)i, i % 3 == 0 };
	}
	sort_and_expect(ROWS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fractions_compare_to_the_last_unit),
		cmocka_unit_test(rows_without_a_fraction_have_their_place),
		cmocka_unit_test(a_level_is_sorted_and_equal_rows_keep_their_place),
		cmocka_unit_test(a_wide_level_costs_one_comparison_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
