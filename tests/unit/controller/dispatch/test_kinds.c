/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_kinds - kinds of nodes as bits: a job's bit is among those of a node exactly when the
 * node is of its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "controller/dispatch/cluster/kinds.h"

static struct resources make_kind(const char *type, const char *features)
{
	struct resources r = { .ncpus = 1 };

	strcpy(r.node_type, type);
	strcpy(r.features, features);
	return r;
}

static void the_bits_of_a_kind_match_its_features(void **state)
{
	static const char *const types[] = { "", "a", "b" };
	static const char *const features[] = { "", "ib", "nvme", "ib,nvme" };
	struct order_job jobs[24] = { 0 };
	struct order o = { .jobs = jobs, .n = 24 };
	struct kinds k;

	(void)state;
	for (int i = 0; i < 24; i++) /* each twice */
		jobs[i].want = make_kind(types[i % 12 / 4], features[i % 4]);
	kinds_gather(&k, &o);
	assert_int_equal(k.n, 11); /* none is no kind */
	for (int x = 0; x < 12; x++) {
		struct fit_node n = { .capacity = make_kind(types[x / 4], features[x % 4]) };

		for (int y = 0; y < 24; y++) {
			const struct resources *want = &jobs[y].want;
			uint64_t bits = kinds_wanted(&k, want);

			assert_int_equal((kinds_of_node(&k, &n) & bits) == bits,
					 fit_is_kind(&n, want));
		}
	}
}

static void more_kinds_than_bits_wait(void **state)
{
	struct order_job jobs[KINDS_MAX + 2] = { 0 };
	struct order o = { .jobs = jobs, .n = KINDS_MAX + 2 };
	struct fit_node n = { .open = true };
	struct kinds k;
	char type[8];

	(void)state;
	for (int i = 0; i < KINDS_MAX + 2; i++) {
		snprintf(type, sizeof(type), "t%d", i);
		jobs[i].want = make_kind(type, "");
	}
	kinds_gather(&k, &o);
	assert_int_equal(k.n, KINDS_MAX);
	n.capacity = jobs[KINDS_MAX].want;
	assert_int_equal(kinds_of_node(&k, &n) & kinds_wanted(&k, &n.capacity), 0);
	assert_true(kinds_wanted(&k, &n.capacity) != 0);
	n.capacity = jobs[KINDS_MAX - 1].want;
	assert_true(kinds_of_node(&k, &n) & kinds_wanted(&k, &n.capacity));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bits_of_a_kind_match_its_features),
		cmocka_unit_test(more_kinds_than_bits_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
