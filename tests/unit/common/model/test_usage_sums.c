/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_usage_sums - sums of figures over random worlds: each figure is that of a plain reckoning, and a sum in which one addend changes is the
 * sum of all again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/model/usage.h"

#define ADDENDS 4

static int64_t *field_of(struct usage *u, const struct usage_field *f)
{
	return (int64_t *)(void *)((char *)u + f->offset);
}

static bool is_longest(const struct usage_field *f)
{
	return !strcmp(f->name, "run_delay_max_ns") || !strcmp(f->name, "gpu_idle_ns");
}

/* Of each figure: measured or not; small, 0, or nearly all that can be held. */
static void make_usage(struct usage *u)
{
	*u = (struct usage){ 0 };
	for (const struct usage_field *f = usage_fields; f->name; f++)
		if (rand() % 3)
			usage_set(u, field_of(u, f),
				  rand() % 40 ? rand() % 7 : INT64_MAX - rand() % 4);
}

static void expect_sum(struct usage *sum, struct usage *of, int n)
{
	for (const struct usage_field *f = usage_fields; f->name; f++) {
		__int128 want = 0;
		bool has = false;

		for (int i = 0; i < n; i++) {
			int64_t v = *field_of(&of[i], f);

			if (!usage_has(&of[i], field_of(&of[i], f)))
				continue;
			has = true;
			if (!is_longest(f))
				want += v;
			else if (v > want)
				want = v;
		}
		assert_int_equal(usage_has(sum, field_of(sum, f)), has);
		if (has)
			assert_int_equal(*field_of(sum, f),
					 want > INT64_MAX ? INT64_MAX : (int64_t)want);
	}
}

static void each_figure_is_added_by_itself(void **state)
{
	(void)state;
	srand(3);
	for (int round = 0; round < 500; round++) {
		struct usage of[ADDENDS], sum = { 0 };

		for (int i = 0; i < ADDENDS; i++) {
			make_usage(&of[i]);
			usage_add(&sum, &of[i]);
			expect_sum(&sum, of, i + 1);
		}
	}
}

/* A figure once measured stays measured, as in the reports of one attempt. */
static void change_usage(struct usage *u)
{
	struct usage more;

	make_usage(&more);
	for (const struct usage_field *f = usage_fields; f->name; f++)
		if (usage_has(&more, field_of(&more, f)))
			usage_set(u, field_of(u, f), *field_of(&more, f));
}

static void a_changed_addend_changes_the_sum_alike_or_not_at_all(void **state)
{
	int replaced = 0, refused = 0;

	(void)state;
	srand(4);
	for (int round = 0; round < 3000; round++) {
		struct usage of[ADDENDS], sum = { 0 }, was, before;

		for (int i = 0; i < ADDENDS; i++) {
			make_usage(&of[i]);
			usage_add(&sum, &of[i]);
		}
		was = of[1];
		before = sum;
		change_usage(&of[1]);
		if (!usage_replace(&sum, &was, &of[1])) {
			assert_memory_equal(&sum, &before, sizeof(sum));
			refused++;
			continue;
		}
		expect_sum(&sum, of, ADDENDS);
		replaced++;
	}
	/* Both happened. */
	assert_true(replaced > 30 && refused > 30);
}

static void only_a_shrunken_longest_or_a_clamped_sum_is_not_replaced(void **state)
{
	struct usage a = { 0 }, b = { 0 }, sum = { 0 };

	(void)state;
	usage_set(&a, &a.run_delay_max_ns, 5);
	usage_set(&a, &a.cpu_ns, 5);
	usage_add(&sum, &a);
	b = a;
	b.cpu_ns = 2;
	assert_true(usage_replace(&sum, &a, &b)); /* a figure that shrank is no reason */
	assert_int_equal(sum.cpu_ns, 2);
	a = b;
	b.run_delay_max_ns = 4; /* was it the longest? */
	assert_false(usage_replace(&sum, &a, &b));
	assert_int_equal(sum.run_delay_max_ns, 5);
	a.run_delay_max_ns = 4;
	b.run_delay_max_ns = 3; /* it was not */
	assert_true(usage_replace(&sum, &a, &b));
	assert_int_equal(sum.run_delay_max_ns, 5);
	b.run_delay_max_ns = 5;
	assert_true(usage_replace(&sum, &a, &b));
	sum.cpu_ns = INT64_MAX;
	assert_false(usage_replace(&sum, &a, &b));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_figure_is_added_by_itself),
		cmocka_unit_test(a_changed_addend_changes_the_sum_alike_or_not_at_all),
		cmocka_unit_test(only_a_shrunken_longest_or_a_clamped_sum_is_not_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
