/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_limits - the limits of a job of Slurm: read from options, bounded by the site, carried with the job. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "slurm/limits.h"

#define MIB (1LL << 20)

static struct limits_site site_of(const char *word1, const char *word2)
{
	char one[64], two[64], *words[] = { one, two };
	struct limits_site s;
	struct err err;

	strcpy(one, word1);
	strcpy(two, word2);
	assert_int_equal(limits_read_site(*word2 ? 2 : 1, words, &s, &err), 0);
	return s;
}

static void assert_refused(const struct limits_site *s, struct limits_options o, int code,
			   const char *words)
{
	struct limits l;
	struct err err = { "" };

	assert_int_equal(limits_read_options(s, &o, &l, &err), code);
	assert_non_null(strstr(err.text, words));
}

static void an_amount_is_read_as_slurm_means_it(void **state)
{
	const struct limits_site s = site_of("max-vmem=1G", "");
	const struct limits_options o = { .vmem = "100M",
					  .jobfs = "2G",
					  .vmem_action = "enomem" };
	struct limits l;

	(void)state;
	assert_int_equal(limits_read_options(&s, &o, &l, NULL), 0);
	assert_int_equal(l.vmem_bytes, 100 * MIB);
	assert_int_equal(l.jobfs_bytes, 2048 * MIB);
	assert_true(l.refuses);
}

static void an_amount_without_a_unit_is_refused(void **state)
{
	const struct limits_site s = site_of("max-vmem=1G", "default-vmem=1M");

	(void)state;
	assert_refused(&s, (struct limits_options){ .vmem = "4000" }, -EINVAL,
		       "write 4000M for megabytes");
	assert_refused(&s, (struct limits_options){ .jobfs = "1.5" }, -EINVAL,
		       "--jobfs=1.5 has no unit");
	assert_refused(&s, (struct limits_options){ .vmem = "" }, -EINVAL, "--vmem");
	assert_refused(&s, (struct limits_options){ .vmem = "0" }, -EINVAL,
		       "leave the option out");
	assert_refused(&s, (struct limits_options){ .vmem = "-1M" }, -EINVAL, "--vmem");
	assert_refused(&s, (struct limits_options){ .vmem_action = "KILL" }, -EINVAL,
		       "neither \"kill\" nor \"enomem\"");
}

static void the_bound_of_the_site_holds(void **state)
{
	const struct limits_site s = site_of("max-vmem=1G", "max-jobfs=10G");

	(void)state;
	assert_refused(&s, (struct limits_options){ .vmem = "1025M" }, -ERANGE,
		       "above this site's bound of 1GiB");
	assert_refused(&s, (struct limits_options){ .vmem = "1G", .jobfs = "11G" }, -ERANGE,
		       "--jobfs=11GiB");
	/* A bound without a default: a job that states nothing would have none. */
	assert_refused(&s, (struct limits_options){ 0 }, -ERANGE, "state --vmem=SIZE");
}

static void an_option_that_is_not_given_has_the_sites_default(void **state)
{
	const struct limits_site s = site_of("max-vmem=1G", "default-vmem=512M");
	struct limits l;

	(void)state;
	assert_int_equal(limits_read_options(&s, &(struct limits_options){ 0 }, &l, NULL), 0);
	assert_int_equal(l.vmem_bytes, 512 * MIB);
	assert_int_equal(l.jobfs_bytes, 0);
	assert_false(l.refuses);
}

static void an_unknown_word_of_the_site_is_named(void **state)
{
	static const char *const bad[] = {
		"max-vmen=1G", "max-vmem", "max-vmem=1000", "unguarded=maybe", "socket=run", "",
		"=1"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		char text[64], *words[] = { text };
		struct limits_site s;
		struct err err = { "" };

		strcpy(text, bad[i]);
		assert_int_equal(limits_read_site(1, words, &s, &err), -EINVAL);
		assert_true(strlen(err.text) > 20);
	}
}

static void only_limits_that_the_plugin_wrote_are_read_back(void **state)
{
	static const char *const bad[] = { "",
					   "vmem=1",
					   "vmem=-1 jobfs=0 action=kill",
					   "vmem=1 jobfs=0 action=kill ",
					   "vmem=01 jobfs=0 action=kill",
					   "vmem=1 jobfs=0 action=killall",
					   "vmem=99999999999999999999 jobfs=0 action=kill",
					   " vmem=1 jobfs=0 action=kill",
					   "vmem=1  jobfs=0 action=kill",
					   "vmem=+1 jobfs=0 action=kill" };
	struct limits l, again;
	char text[LIMITS_TEXT_MAX];
	struct err err;

	(void)state;
	/* the bytes between its members are compared too */
	memset(&l, 0, sizeof(l));
	memset(&again, 0, sizeof(again));
	l.vmem_bytes = 100 * MIB;
	l.jobfs_bytes = 5;
	l.refuses = true;
	assert_string_equal(limits_encode(&l, text), "vmem=104857600 jobfs=5 action=enomem");
	assert_int_equal(limits_decode(text, &again, NULL), 0);
	assert_memory_equal(&again, &l, sizeof(l));
	l.vmem_bytes = l.jobfs_bytes = INT64_MAX;
	l.refuses = false;
	assert_int_equal(limits_decode(limits_encode(&l, text), &again, NULL), 0);
	assert_int_equal(again.vmem_bytes, INT64_MAX);
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		assert_int_equal(limits_decode(bad[i], &again, &err), -EINVAL);
		assert_memory_equal(&again, &l, sizeof(l)); /* left as it was */
	}
}

static void the_node_lowers_limits_above_its_bounds(void **state)
{
	const struct limits_site s = site_of("max-vmem=1G", "max-jobfs=10G");
	struct limits l = { 2048 * MIB, 0, false };

	(void)state;
	assert_true(limits_lower(&s, &l));
	assert_int_equal(l.vmem_bytes, 1024 * MIB);
	assert_int_equal(l.jobfs_bytes, 0); /* none requested, none set */
	l = (struct limits){ 0, 20480 * MIB, false };
	assert_true(limits_lower(&s, &l)); /* no limit at all is above a bound */
	assert_int_equal(l.vmem_bytes, 1024 * MIB);
	assert_int_equal(l.jobfs_bytes, 10240 * MIB);
	assert_false(limits_lower(&s, &l));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_amount_is_read_as_slurm_means_it),
		cmocka_unit_test(an_amount_without_a_unit_is_refused),
		cmocka_unit_test(the_bound_of_the_site_holds),
		cmocka_unit_test(an_option_that_is_not_given_has_the_sites_default),
		cmocka_unit_test(an_unknown_word_of_the_site_is_named),
		cmocka_unit_test(only_limits_that_the_plugin_wrote_are_read_back),
		cmocka_unit_test(the_node_lowers_limits_above_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
