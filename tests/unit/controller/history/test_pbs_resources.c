/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_pbs_resources - sizes, times, chunks and hosts of a PBS record, in each form and at the largest amounts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "controller/history/pbs_resources.h"
#include "tests/unit/rig/exact.h"

static int parse_hosts(const char *text, int64_t *ret_slots, int64_t *ret_hosts)
{
	return pbs_parse_hosts((struct history_text){ text, strlen(text) }, ret_slots,
			       ret_hosts);
}

static void slots_and_hosts_are_counted_in_every_form(void **state)
{
	static const struct {
		const char *text;
		int64_t slots, hosts;
	} of[] = {
		{ "a/0", 1, 1 },      { "a/0*4", 4, 1 },
		{ "a/0-3", 4, 1 },    { "a/7-7", 1, 1 },
		{ "a/0-1,4", 3, 1 },  { "a/0-1,4*2", 6, 1 },
		{ "a/0+a/1", 2, 1 },  { "a/0+b/0+a/1", 3, 2 },
		{ "a/0+ab/0", 2, 2 }, { "a/0+b/0+c/0+b/1", 4, 3 },
		{ "a/0*0", 0, 1 },    { "", 0, 0 },
	};
	static const char *const bad[] = { "a",	    "a/",   "/0",   "a/x",   "a/0*x",
					   "a/3-1", "a/-1", "a/0,", "a/0-x", "a/0+/1" };
	int64_t slots, hosts;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		assert_int_equal(parse_hosts(of[i].text, &slots, &hosts), 0);
		if (slots != of[i].slots || hosts != of[i].hosts)
			fail_msg("%s: %lld slots, %lld hosts", of[i].text, (long long)slots,
				 (long long)hosts);
	}
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (parse_hosts(bad[i], &slots, &hosts) != -EINVAL && strcmp(bad[i], "a/0,"))
			fail_msg("%s is read", bad[i]);
}

/* More hosts than are looked at one by one; each comes twice, and is counted once. */
static void thousands_of_hosts_are_each_counted_once(void **state)
{
	static char text[400000];
	int64_t slots, hosts;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < 2 * 12288; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%sn%d/0", i ? "+" : "",
				      i % 12288);
	assert_int_equal(parse_hosts(text, &slots, &hosts), 0);
	assert_int_equal(slots, 2 * 12288);
	assert_int_equal(hosts, 12288);
	snprintf(text + n, sizeof(text) - n, "+one_more/0");
	assert_int_equal(parse_hosts(text, &slots, &hosts), -ERANGE);
}

static void sizes_and_times_are_read_in_every_unit(void **state)
{
	static const struct {
		const char *text;
		int64_t bytes;
	} sizes[] = {
		{ "7", 7 },	    { "7b", 7 },	  { "7B", 7 },
		{ "2w", 16 },	    { "1kb", 1024 },	  { "1KB", 1024 },
		{ "1k", 1024 },	    { "1kw", 8192 },	  { "3mb", 3 << 20 },
		{ "1gb", 1 << 30 }, { "1tb", 1LL << 40 }, { "1PW", 1LL << 53 },
		{ "0gb", 0 },	    { "", -1 },		  { "kb", -1 },
		{ "1x", -1 },	    { "1kbb", -1 },	  { "1bk", -1 },
		{ "-1kb", -1 },	    { "1.5gb", 3 << 29 }, { "12.27M", 12866027 },
	};
	static const struct {
		const char *text;
		int64_t ms;
	} times[] = {
		{ "0", 0 },
		{ "59", 59000 },
		{ "1.5", 1500 },
		{ "2:03", 123000 },
		{ "1:00:00", 3600000 },
		{ "01:02:03.25", 3723250 },
		{ "2:00:00:00", 172800000 },
		{ "1:1:1:1", 90061000 },
		{ "", -1 },
		{ "1:2:3:4:5", -1 },
		{ "-1", -1 },
		{ "+1", -1 },
		{ "1:-1", -1 },
		{ "1:+1", -1 },
		{ "1:", -1 },
		{ ":1", -1 },
		{ "x:1", -1 },
	};
	int64_t n;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		struct history_text t = { sizes[i].text, strlen(sizes[i].text) };
		int r = pbs_parse_size(t, &n);

		if (sizes[i].bytes < 0 ? r != -EINVAL : r != 0 || n != sizes[i].bytes)
			fail_msg("%s: %lld", sizes[i].text, (long long)n);
	}
	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		struct history_text t = { times[i].text, strlen(times[i].text) };
		int r = pbs_parse_time(t, &n);

		if (times[i].ms < 0 ? r != -EINVAL : r != 0 || n != times[i].ms)
			fail_msg("%s: %lld", times[i].text, (long long)n);
	}
}

static struct pbs_chunks parse_chunks(const char *text, int64_t ncpus, struct history_job *j,
				      int r)
{
	_cleanup_free_ char *copy = exact_copy(text, strlen(text));
	struct pbs_chunks c = { .ncpus = -7 };

	assert_int_equal(
		pbs_parse_chunks((struct history_text){ copy, strlen(text) }, ncpus, j, &c), r);
	return c;
}

static void sums_of_chunks_end_at_the_largest_amount(void **state)
{
	struct history_job j;
	struct pbs_chunks c;

	(void)state;
	history_init(&j);
	c = parse_chunks("1152921504606846975:ncpus=1+1:ncpus=1", 1, &j, 0);
	assert_int_equal(c.ncpus, HISTORY_AMOUNT_MAX);
	c = parse_chunks("1152921504606846976:ncpus=1+1:ncpus=1", 1, &j, 0);
	assert_int_equal(c.ncpus, HISTORY_AMOUNT_MAX);
	c = parse_chunks("2:ncpus=1152921504606846976:mem=1152921504606846976", 1, &j, 0);
	assert_int_equal(c.ncpus, HISTORY_AMOUNT_MAX);
	assert_int_equal(c.mem_bytes, HISTORY_AMOUNT_MAX);
	c = parse_chunks("1000000000:ngpus=1:gpu_type=a+1:ngpus=1:gpu_type=b", 1, &j, 0);
	assert_int_equal(c.typed, 1000000001);
	assert_int_equal(j.gpus.n, 1); /* the second is beyond what is counted by model */
	c = parse_chunks("2:ngpus=3:mem=1kb:gpu_type=A+(n1:ngpus=2)+n2:mem=1b", 5, NULL, 0);
	assert_int_equal(c.ngpus, 8);
	assert_int_equal(c.typed, 6);
	assert_int_equal(c.ncpus, 20);
	assert_int_equal(c.mem_bytes, 2049);
	c = parse_chunks("", 5, NULL, 0);
	assert_true(c.ncpus == 0 && c.mem_bytes == -1);
	c = parse_chunks("1::ncpus=3:x=1:y", 5, NULL, 0);
	assert_int_equal(c.ncpus, 3);
	c = parse_chunks("()", 5, NULL, -EINVAL);
	assert_int_equal(c.ncpus, -7);
	parse_chunks("1+", 1, NULL, 0);
	parse_chunks("1++1", 1, NULL, -EINVAL);
	parse_chunks(")", 1, NULL, -EINVAL);
	history_init(&j);
	parse_chunks("1:ngpus=1:gpu_type=a+1:ngpus=1:gpu_type=b+1:ngpus=1:gpu_type=c+"
		     "1:ngpus=1:gpu_type=d+1:ngpus=1:gpu_type=e+1:ngpus=1:gpu_type=f+"
		     "1:ngpus=1:gpu_type=g+1:ngpus=1:gpu_type=h+1:ngpus=1:gpu_type=i+"
		     "1:ngpus=1:gpu_type=j",
		     1, &j, -ENOSPC);
}

static void slots_of_hosts_end_at_the_largest_amount(void **state)
{
	int64_t slots = -7, hosts = -7;

	(void)state;
	assert_int_equal(parse_hosts("a/0*1152921504606846976+a/1", &slots, &hosts), 0);
	assert_int_equal(slots, HISTORY_AMOUNT_MAX);
	assert_int_equal(hosts, 1);
	assert_int_equal(parse_hosts("a/0-1152921504606846974", &slots, &hosts), 0);
	assert_int_equal(slots, HISTORY_AMOUNT_MAX - 1);
	assert_int_equal(parse_hosts("a/0-2,5-5,7", &slots, &hosts), 0);
	assert_int_equal(slots, 5);
	slots = -7;
	assert_int_equal(parse_hosts("a/0+b", &slots, &hosts), -EINVAL);
	assert_int_equal(parse_hosts("a/0*1*2", &slots, &hosts), -EINVAL);
	assert_int_equal(parse_hosts("a/0-1-2", &slots, &hosts), -EINVAL);
	assert_int_equal(slots, -7);
	assert_int_equal(
		pbs_parse_hosts((struct history_text){ "a", UINT32_MAX }, &slots, &hosts),
		-ERANGE);
}

/* Every prefix and suffix in either case, and what is beyond all numbers. */
static void a_size_ends_at_the_largest_amount(void **state)
{
	static const char prefixes[] = "kKmMgGtTpP";
	int64_t n;

	(void)state;
	for (int i = 0; i < 10; i++)
		for (int k = 0; k < 5; k++) {
			char text[] = { '3', prefixes[i], "bBwW"[k % 4] };
			size_t size = k == 4 ? 2 : 3;
			int64_t unit = k == 2 || k == 3 ? 8 : 1;

			assert_int_equal(
				pbs_parse_size((struct history_text){ text, size }, &n), 0);
			assert_int_equal(n, 3 * unit << 10 * (i / 2 + 1));
		}
	assert_int_equal(pbs_parse_size((struct history_text){ "1023pb", 6 }, &n), 0);
	assert_int_equal(n, 1023LL << 50);
	assert_int_equal(pbs_parse_size((struct history_text){ "1024pb", 6 }, &n), 0);
	assert_int_equal(n, HISTORY_AMOUNT_MAX);
	assert_int_equal(pbs_parse_size((struct history_text){ "99999pw", 7 }, &n), 0);
	assert_int_equal(n, HISTORY_AMOUNT_MAX);
	assert_int_equal(pbs_parse_time((struct history_text){ "9999999999999999:00", 19 }, &n),
			 0);
	assert_int_equal(n, HISTORY_AMOUNT_MAX);
	assert_int_equal(pbs_parse_time((struct history_text){ "1::1", 4 }, &n), -EINVAL);
	assert_int_equal(pbs_parse_time((struct history_text){ "1.5:00", 6 }, &n), -EINVAL);
	assert_int_equal(pbs_parse_time((struct history_text){ "1:00:00:00.125", 14 }, &n), 0);
	assert_int_equal(n, 86400125);
}

static void a_nul_byte_is_no_unit(void **state)
{
	int64_t n = -7;

	(void)state;
	assert_int_equal(pbs_parse_size((struct history_text){ "1\0", 2 }, &n), -EINVAL);
	assert_int_equal(pbs_parse_size((struct history_text){ "1k\0", 3 }, &n), -EINVAL);
	assert_int_equal(n, -7);
}

/* Every letter and what stands beside the letters. */
static void a_model_is_in_small_letters(void **state)
{
	static const char typed[] = "@AMZ[`amz{09-_.", small[] = "@amz[`amz{09-_.";
	char model[REQUEST_NAME_MAX];

	(void)state;
	assert_int_equal(pbs_copy_model((struct history_text){ typed, strlen(typed) }, model),
			 0);
	assert_string_equal(model, small);
	assert_int_equal(pbs_copy_model((struct history_text){ typed, 0 }, model), -EINVAL);
	assert_int_equal(pbs_copy_model((struct history_text){ "a,b", 3 }, model), -EINVAL);
	assert_int_equal(pbs_copy_model((struct history_text){ "a=b", 3 }, model), -EINVAL);
	assert_int_equal(pbs_copy_model((struct history_text){ "a b", 3 }, model), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slots_and_hosts_are_counted_in_every_form),
		cmocka_unit_test(thousands_of_hosts_are_each_counted_once),
		cmocka_unit_test(sizes_and_times_are_read_in_every_unit),
		cmocka_unit_test(sums_of_chunks_end_at_the_largest_amount),
		cmocka_unit_test(slots_of_hosts_end_at_the_largest_amount),
		cmocka_unit_test(a_size_ends_at_the_largest_amount),
		cmocka_unit_test(a_nul_byte_is_no_unit),
		cmocka_unit_test(a_model_is_in_small_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
