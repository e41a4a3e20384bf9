/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_select - requests in chunks: as typed, their sums, on the wire. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/wire.h"

#define GIB (INT64_C(1) << 30)

static struct select parse_select(const char *text, const char *model)
{
	struct select s = { 0 };
	char m[REQUEST_NAME_MAX];
	struct err err = { "" };

	if (select_parse(text, &s, m, &err) < 0)
		fail_msg("%s: %s", text, err.text);
	assert_string_equal(m, model);
	return s;
}

static void test_typed(void **state)
{
	char text[SELECT_TEXT_MAX];
	struct select s = parse_select("2:ncpus=16:vmem=32GB:ngpus=1+ncpus=4", "");

	(void)state;
	assert_int_equal(s.n, 2);
	assert_int_equal(s.of[0].n, 2);
	assert_int_equal(s.of[0].ncpus, 16);
	assert_int_equal(s.of[0].vmem_bytes, 32000000000);
	assert_int_equal(s.of[1].n, 1);
	assert_int_equal(s.of[1].ngpus, 0);
	assert_int_equal(select_chunks(&s), 3);
	assert_string_equal(select_format(&s, "", text),
			    "2:ncpus=16:vmem=32GB:ngpus=1+1:ncpus=4");
	s = parse_select("4:ngpus=A100-40:2:ncpus=8", "a100-40");
	assert_int_equal(s.of[0].ngpus, 2);
	assert_int_equal(s.of[0].ncpus, 8);
	assert_string_equal(select_format(&s, "a100-40", text), "4:ncpus=8:ngpus=a100-40:2");
	s = parse_select(text, "a100-40");
	assert_int_equal(s.of[0].n, 4);
}

static void test_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"+",
		"2",
		"0:ncpus=1",
		"-1:ncpus=1",
		"2:",
		"2::ncpus=1",
		"2:ncpus=1:ncpus=2",
		"2:cores=4",
		"2:walltime=1:0",
		"2:ncpus=0",
		"1:ngpus=a:1+1:ngpus=b:1",
		"2:ngpus=a100",
		"2:ngpus=a100:ncpus=1",
		"2:ngpus=1:2",
		"2:ngpus=:1",
		"2:ngpus=a:1:1",
		"ncpus=1+",
		"100001:ncpus=1",
		"2:vmem=3X",
		"1+1+1+1+1+1+1+1+1",
		"99999999999999999999:ncpus=1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct select s = { .n = 7 };
		char m[REQUEST_NAME_MAX] = "x";
		struct err err = { "" };
		/* A number alone is a chunk of defaults. */
		bool is_fine = !strcmp(bad[i], "2");

		assert_int_equal(select_parse(bad[i], &s, m, &err), is_fine ? 0 : -EINVAL);
		if (is_fine)
			continue;
		assert_int_equal(s.n, 7);
		assert_string_equal(m, "x");
		assert_true(strlen(err.text) > 10);
	}
}

static void test_place(void **state)
{
	struct select s = { .n = 1 };
	struct err err;
	bool excl = true;

	(void)state;
	assert_int_equal(select_parse_place("free", &s, &excl, &err), 0);
	assert_false(s.is_scattered || excl);
	assert_int_equal(select_parse_place("scatter:excl", &s, &excl, &err), 0);
	assert_true(s.is_scattered && excl);
	assert_int_equal(select_parse_place("excl", &s, &excl, &err), 0);
	assert_true(!s.is_scattered && excl);
	assert_int_equal(select_parse_place("", &s, &excl, &err), -EINVAL);
	assert_int_equal(select_parse_place("scatterexcl", &s, &excl, &err), -EINVAL);
	assert_int_equal(select_parse_place("packed", &s, &excl, &err), -EINVAL);
}

static void test_sums(void **state)
{
	struct resources defaults = { .vmem_bytes = GIB, .jobfs_bytes = 100 }, one;
	struct select s = parse_select("2:ncpus=16:vmem=4GiB+3:ncpus=1", "");
	struct request r;
	struct err err;

	(void)state;
	request_init(&r);
	select_fill(&s, &defaults);
	r.select = s;
	assert_int_equal(request_total(&r, &err), 0);
	assert_int_equal(r.res.ncpus, 35);
	assert_int_equal(r.res.vmem_bytes, 11 * GIB);
	assert_int_equal(r.res.jobfs_bytes, 500);
	assert_int_equal(r.res.mem_bytes, 0);
	assert_int_equal(request_total(&r, &err), 0); /* once more changes nothing */
	r.res.ncpus = 4;
	assert_int_equal(request_total(&r, &err), -EINVAL);
	assert_non_null(strstr(err.text, "ncpus is stated beside select"));
	r.res.walltime_s = 60;
	select_chunk(&s.of[1], &r.res, &one);
	assert_int_equal(one.ncpus, 1);
	assert_int_equal(one.vmem_bytes, GIB);
	assert_int_equal(one.walltime_s, 60);
	s.of[0].n = SELECT_CHUNKS_MAX;
	assert_int_equal(select_total(&s, &one, &err), -ERANGE);
	request_done(&r);
}

static void test_split(void **state)
{
	struct resources whole = { .ncpus = 32, .vmem_bytes = 7, .ngpus = 4 };
	struct select s = { 0 };

	(void)state;
	assert_false(select_split(&whole, 3, &s));
	assert_true(select_split(&whole, 4, &s));
	assert_int_equal(s.of[0].n, 4);
	assert_int_equal(s.of[0].ncpus, 8);
	assert_int_equal(s.of[0].vmem_bytes, 2);
	assert_int_equal(s.of[0].ngpus, 1);
	assert_false(select_split(&whole, 8, &s)); /* half a GPU */
}

static void test_request(void **state)
{
	_cleanup_json_ json_t *j = NULL;
	struct request r, back;
	struct err err = { "" };

	(void)state;
	request_init(&r);
	request_init(&back);
	assert_int_equal(request_set(&r, "resources",
				     "select=2:ncpus=4:ngpus=a100:1, walltime=0:10:00 ,"
				     "features=ib,nvme,place=scatter:excl",
				     &err),
			 0);
	assert_int_equal(r.select.n, 1);
	assert_int_equal(r.res.walltime_s, 600);
	assert_string_equal(r.res.features, "ib,nvme");
	assert_string_equal(r.res.gpu_model, "a100");
	assert_true(r.select.is_scattered && r.is_exclusive);
	assert_int_equal(request_total(&r, &err), 0);
	r.part = (struct job_part){ 1, 2, strdup("n1=4,n2=4") };
	j = wire_encode_request(&r);
	assert_non_null(j);
	assert_int_equal(wire_decode_request(j, "request", &back, &err), 0);
	assert_int_equal(back.select.of[0].n, 2);
	assert_int_equal(back.res.ncpus, 8);
	assert_true(back.select.is_scattered && back.is_exclusive);
	assert_int_equal(back.part.n, 2);
	assert_int_equal(back.part.index, 1);
	assert_string_equal(back.part.hosts, "n1=4,n2=4");
	json_object_del(j, "resources"); /* may be left out beside chunks */
	assert_int_equal(wire_decode_request(j, "request", &back, &err), 0);
	assert_int_equal(back.select.of[0].n, 2);
	json_object_del(j, "select");
	assert_int_equal(wire_decode_request(j, "request", &back, &err), -EINVAL);
	/* A list that is wrong anywhere changes nothing. */
	assert_int_equal(request_set(&r, "resources", "select=1:ncpus=1,walltime=x", &err),
			 -EINVAL);
	assert_int_equal(r.select.of[0].n, 2);
	request_done(&r);
	request_done(&back);
}

static void each_way_to_place_is_a_whole_word(void **state)
{
	static const struct {
		const char *text;
		bool is_good, is_scattered, is_exclusive;
	} of[] = {
		{ "free", true, false, false },
		{ "free:excl", true, false, true },
		{ "scatter", true, true, false },
		{ "scatter:excl", true, true, true },
		{ "excl", true, false, true },
		{ "scatter:", true, true, false },
		{ "freeexcl", false, false, false },
		{ "scatterx", false, false, false },
		{ "excl:", false, false, false },
		{ ":excl", false, false, false },
		{ ":", false, false, false },
		{ "scatter:free", false, false, false },
		{ "scatte", false, false, false },
		{ "fre", false, false, false },
		{ "scatter::excl", false, false, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(of); i++) {
		struct select s = { .is_scattered = !of[i].is_scattered };
		bool excl = !of[i].is_exclusive;

		assert_int_equal(select_parse_place(of[i].text, &s, &excl, NULL),
				 of[i].is_good ? 0 : -EINVAL);
		if (of[i].is_good && s.is_scattered != of[i].is_scattered)
			fail_msg("%s: scattered", of[i].text);
		if (of[i].is_good && excl != of[i].is_exclusive)
			fail_msg("%s: exclusive", of[i].text);
	}
}

static void a_sum_of_chunks_may_be_the_most_of_one_job_and_no_more(void **state)
{
	struct select s = { .n = 1 };
	struct resources res;

	(void)state;
	s.of[0] = (struct select_chunk){ .n = 1024, .ncpus = 1024 };
	assert_int_equal(select_total(&s, &res, NULL), 0);
	assert_int_equal(res.ncpus, 1 << 20);
	s.of[s.n++] = (struct select_chunk){ .n = 1, .ncpus = 1 };
	assert_int_equal(select_total(&s, &res, NULL), -ERANGE);
	s.of[1].ncpus = 0;
	assert_int_equal(select_total(&s, &res, NULL), 0);
	s.of[0].vmem_bytes = INT64_MAX; /* an overflow is more than any limit */
	assert_int_equal(select_total(&s, &res, NULL), -ERANGE);
	assert_int_equal(select_chunks(&s), 1025);
	s.n = 0;
	assert_int_equal(select_chunks(&s), 1);
}

/* mem of the job is the sum where every chunk states it, else it follows from vmem. */
static void mem_is_summed_only_where_every_chunk_states_it(void **state)
{
	struct select s = parse_select("2:ncpus=1:mem=3GiB:ngpus=2+3:ncpus=1:mem=1GiB", "");
	struct resources res, one;

	(void)state;
	assert_int_equal(select_total(&s, &res, NULL), 0);
	assert_int_equal(res.mem_bytes, 9 * GIB);
	assert_int_equal(res.ngpus, 4);
	s.of[0].mem_bytes = 0;
	assert_int_equal(select_total(&s, &res, NULL), 0);
	assert_int_equal(res.mem_bytes, 0);
	strcpy(res.gpu_model, "a100");
	select_chunk(&s.of[0], &res, &one);
	assert_string_equal(one.gpu_model, "a100");
	select_chunk(&s.of[1], &res, &one);
	assert_string_equal(one.gpu_model, "");
}

static void a_request_is_split_into_equal_parts_or_not_at_all(void **state)
{
	struct resources whole = { .ncpus = SELECT_CHUNKS_MAX,
				   .vmem_bytes = 10,
				   .mem_bytes = 11 };
	struct select s = { .n = 3 };

	(void)state;
	assert_false(select_split(&whole, 0, &s));
	assert_false(select_split(&whole, -1, &s));
	assert_int_equal(s.n, 3);
	assert_true(select_split(&whole, 1, &s));
	assert_int_equal(s.of[0].vmem_bytes, 10);
	assert_true(select_split(&whole, 5, &s));
	assert_int_equal(s.n, 1);
	assert_int_equal(s.of[0].vmem_bytes, 2);
	assert_int_equal(s.of[0].mem_bytes, 3); /* a fifth of 11, rounded up */
	assert_true(select_split(&whole, SELECT_CHUNKS_MAX, &s));
	whole.ncpus *= 2;
	assert_true(select_split(&whole, SELECT_CHUNKS_MAX, &s));
	assert_false(select_split(&whole, 2 * SELECT_CHUNKS_MAX, &s));
	whole.ngpus = 1;
	assert_false(select_split(&whole, 2, &s));
}

static void expect_select(const char *text, const char *says)
{
	struct select s = { .n = 7 };
	char m[REQUEST_NAME_MAX] = "x";
	struct err err = { "" };
	int r = select_parse(text, &s, m, &err);

	if (r != (says ? -EINVAL : 0) || (says && !strstr(err.text, says)))
		fail_msg("%.40s: %d, %s", text, r, err.text);
	assert_true(!says || (s.n == 7 && !strcmp(m, "x")));
}

static void each_part_of_a_select_has_its_longest(void **state)
{
	char text[2 * SELECT_TEXT_MAX];

	(void)state;
	memset(text, '1', sizeof(text));
	text[127] = '\0'; /* an item has at most 127 bytes */
	expect_select(text, "is not a whole number");
	text[127] = '1';
	text[128] = '\0';
	expect_select(text, "an item is too long");
	text[128] = '1';
	text[SELECT_TEXT_MAX - 1] = '\0';
	expect_select(text, "an item is too long");
	text[SELECT_TEXT_MAX - 1] = '1';
	text[SELECT_TEXT_MAX] = '\0';
	expect_select(text, "a chunk is too long");
	/* A model and its number, joined: one byte less, and one more than an item may have. */
	memset(text, '1', sizeof(text));
	memcpy(text, "ngpus=a", 7);
	text[125] = ':';
	text[127] = '\0';
	expect_select(text, "is not a GPU model");
	text[125] = 'a';
	text[126] = ':';
	text[127] = '1';
	text[128] = '\0';
	expect_select(text, "select: an item is too long");
	memset(text, '1', sizeof(text));
	memcpy(text, "ngpus=a:", 8);
	text[8 + 128] = '\0';
	expect_select(text, "an item is too long");
}

static void chunks_are_counted_over_all_kinds(void **state)
{
	(void)state;
	expect_select("1+1+1+1+1+1+1+1", NULL);
	expect_select("1+1+1+1+1+1+1+1+1", "more than 8 kinds of chunks");
	expect_select("100000:ncpus=1", NULL);
	expect_select("100001:ncpus=1", "100001 chunks; write 1 to 100000");
	expect_select("0:ncpus=1", "0 chunks; write 1 to 100000");
	expect_select("99999:ncpus=1+1:ncpus=2", NULL);
	expect_select("99999:ncpus=1+2:ncpus=2", "100001 chunks; 100000 is the most");
	expect_select("1:ngpus=a:1+1:ngpus=a:2", NULL);
	expect_select("1:ngpus=a:1+1:ngpus=1", NULL);
	expect_select("1:ngpus=a:1+1:ngpus=b:2", "GPUs of two models, a and b");
	expect_select("1:ngpus=a:", "an item is empty");
	expect_select("1:ngpus=1:", "an item is empty");
	expect_select("1:walltime=60", "walltime is the job's");
	expect_select("1:mem=1GiB:mem=1GiB", "mem is given twice");
	expect_select("1:pids=5", "'pids' is no item of a chunk");
}

/* What is behind the end of the list is not of it. */
static void only_so_many_kinds_count_as_there_are(void **state)
{
	struct select s = { .n = 2, .is_scattered = true };
	const struct resources fill = { .ncpus = 7, .ngpus = 5 };
	struct resources res = { 0 };
	char text[SELECT_TEXT_MAX];

	(void)state;
	for (int i = 0; i < SELECT_MAX; i++)
		s.of[i] = (struct select_chunk){ .n = i + 1, .vmem_bytes = GIB };
	select_fill(&s, &fill);
	assert_int_equal(s.of[2].ncpus, 0);
	assert_int_equal(s.of[1].ncpus, 7);
	assert_int_equal(s.of[1].vmem_bytes, GIB);
	assert_int_equal(select_chunks(&s), 3);
	assert_int_equal(select_total(&s, &res, NULL), 0);
	assert_int_equal(res.ncpus, 21);
	assert_int_equal(res.vmem_bytes, 3 * GIB);
	assert_int_equal(res.ngpus, 15);
	assert_string_equal(select_format(&s, "a", text),
			    "1:ncpus=7:vmem=1GiB:ngpus=a:5+2:ncpus=7:vmem=1GiB:ngpus=a:5");
	s.of[0].ngpus = 0;
	assert_string_equal(select_format(&s, "a", text),
			    "1:ncpus=7:vmem=1GiB+2:ncpus=7:vmem=1GiB:ngpus=a:5");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_typed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_place),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_split),
		cmocka_unit_test(test_request),
		cmocka_unit_test(each_way_to_place_is_a_whole_word),
		cmocka_unit_test(a_sum_of_chunks_may_be_the_most_of_one_job_and_no_more),
		cmocka_unit_test(mem_is_summed_only_where_every_chunk_states_it),
		cmocka_unit_test(a_request_is_split_into_equal_parts_or_not_at_all),
		cmocka_unit_test(each_part_of_a_select_has_its_longest),
		cmocka_unit_test(chunks_are_counted_over_all_kinds),
		cmocka_unit_test(only_so_many_kinds_count_as_there_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
