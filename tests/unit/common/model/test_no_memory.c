/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_no_memory - requests and series where memory ends, at each allocation: the error is returned, nothing is lost or freed twice, and
 * what was there stays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/request.h"
#include "common/model/series/series.h"
#include "tests/unit/rig/faults/fail_alloc.h"

/* ---- requests ---- */

static char **make_list(const char *a, const char *b)
{
	char **list = calloc(3, sizeof(*list));

	list[0] = strdup(a);
	list[1] = strdup(b);
	return list;
}

static void fill_request(struct request *r)
{
	request_init(r);
	r->script = strdup("true\n");
	r->argv = make_list("x", "y");
	r->env = make_list("A=1", "B=2");
	r->workdir = strdup("/w");
	r->out_path = strdup("o");
	r->err_path = strdup("e");
	r->part.hosts = strdup("n1=1,n2=1");
	r->part.n = 2;
	assert_int_equal(after_parse("afterok:1:2", &r->after, NULL), 0);
}

static int try_copy(void *ctx)
{
	struct err err = { "" };
	struct request to;
	int r = request_copy(ctx, &to, &err);

	if (r == 0)
		request_done(&to);
	else
		assert_string_equal(err.text, "out of memory");
	return r;
}

static void a_copy_of_a_request_is_whole_or_none(void **state)
{
	struct request r;

	(void)state;
	fill_request(&r);
	/* Two dependencies, four lists and entries each, and five texts. */
	assert_int_equal(fail_alloc_each(try_copy, &r), 2 + 2 * 3 + 5);
	request_done(&r);
}

static void a_copy_has_each_text_of_its_own(void **state)
{
	struct request r, c;

	(void)state;
	fill_request(&r);
	assert_int_equal(request_copy(&r, &c, NULL), 0);
	request_done(&r);
	assert_string_equal(c.script, "true\n");
	assert_string_equal(c.argv[1], "y");
	assert_string_equal(c.env[0], "A=1");
	assert_null(c.env[2]);
	assert_string_equal(c.workdir, "/w");
	assert_string_equal(c.out_path, "o");
	assert_string_equal(c.err_path, "e");
	assert_string_equal(c.part.hosts, "n1=1,n2=1");
	assert_int_equal(c.after.n, 2);
	assert_int_equal(c.after.at[1].id.job, 2);
	request_done(&c);
}

struct option {
	struct request *r;
	const char *key, *value;
};

static int try_set(void *ctx)
{
	const struct option *o = ctx;
	struct err err = { "" };
	int r = request_set(o->r, o->key, o->value, &err);

	assert_string_equal(err.text, r < 0 ? "out of memory" : "");
	return r;
}

static void an_option_without_memory_leaves_what_was_set(void **state)
{
	static const char *const keys[][2] = {
		{ "output", "/o" },	    { "error", "/e" },	 { "workdir", "/w" },
		{ "resources", "ncpus=3" }, { "after-ok", "3" }, { "after-any", "4" },
		{ "depend", "afterok:5" }
	};
	struct request r;

	(void)state;
	request_init(&r);
	assert_int_equal(request_set(&r, "output", "/before", NULL), 0);
	fail_alloc_after(0);
	assert_int_equal(request_set(&r, "output", "/after", NULL), -ENOMEM);
	assert_true(fail_alloc_end());
	assert_string_equal(r.out_path, "/before");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		struct option o = { &r, keys[i][0], keys[i][1] };

		assert_int_equal(fail_alloc_each(try_set, &o), 1);
	}
	assert_string_equal(r.out_path, "/o");
	assert_int_equal(r.res.ncpus, 3);
	assert_int_equal(r.after.n, 3);
	request_done(&r);
}

static int try_script(void *ctx)
{
	static const char text[] = "#!/bin/sh\n#PBS -l ncpus=2 -o out\ntrue\n";
	char ignored[256];

	(void)ctx;
	{
		_cleanup_(request_done) struct request r;
		struct err err = { "" };
		int rc;

		request_init(&r);
		rc = request_parse_script(&r, text, sizeof(text) - 1, "x.sh", ignored, &err);
		if (rc < 0)
			assert_non_null(strstr(err.text, "out of memory"));
		return rc;
	}
}

static void a_script_without_memory_is_refused(void **state)
{
	(void)state;
	assert_true(fail_alloc_each(try_script, NULL) >= 3); /* the list, the path, the text */
}

static void an_output_without_memory_is_none(void **state)
{
	(void)state;
	fail_alloc_after(0);
	assert_null(array_format_output(NULL, "a", 'o', (struct job_id){ 1, 2 }));
	assert_true(fail_alloc_end());
}

/* ---- series ---- */

static void fill_series(struct series *s)
{
	series_init(s, 1000);
	for (int64_t at = 1; at <= 5; at++) {
		struct series_sample x = { .elapsed_ms = at * 1000 };

		for (int m = 0; m < _SERIES_METRIC_MAX; m++)
			x.value[m] = m == SERIES_GPU_BUSY_MS ? SERIES_NONE : at * 10;
		assert_int_equal(series_add(s, &x), 0);
	}
}

static int try_add(void *ctx)
{
	struct series_sample x = { .elapsed_ms = 7000 };
	struct series *s = ctx;
	int r;

	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		x.value[m] = 100;
	r = series_add(s, &x);
	assert_int_equal(s->elapsed_ms, r == 0 ? 7000 : 5000);
	assert_int_equal(series_total(s, SERIES_CPU_MS), r == 0 ? 100 : 50);
	return r;
}

static void a_sample_without_memory_leaves_the_points(void **state)
{
	struct series s;

	(void)state;
	fill_series(&s);
	/* Of the one metric that is new. */
	assert_int_equal(fail_alloc_each(try_add, &s), 1);
	series_done(&s);
}

struct pair {
	const struct series *a, *b;
};

static int try_sum(void *ctx)
{
	const struct pair *p = ctx;
	_cleanup_(series_done) struct series sum = { 0 };
	int64_t before;
	int r = series_sum(&sum, p->a);

	if (r < 0)
		return r;
	before = series_total(&sum, SERIES_CPU_MS);
	r = series_sum(&sum, p->b);
	assert_int_equal(series_total(&sum, SERIES_CPU_MS), r == 0 ? 2 * before : before);
	return r;
}

static void a_sum_without_memory_is_as_it_was(void **state)
{
	struct series s;
	struct pair p = { &s, &s };

	(void)state;
	fill_series(&s);
	/* A copy of six metrics, and then of both. */
	assert_int_equal(fail_alloc_each(try_sum, &p), 3 * (_SERIES_METRIC_MAX - 1));
	series_done(&s);
}

struct encoded {
	uint8_t buf[SERIES_BYTES_MAX];
	size_t size;
};

static int try_decode(void *ctx)
{
	const struct encoded *e = ctx;
	_cleanup_(series_done) struct series s = { 0 };

	return series_decode(e->buf, e->size, &s);
}

static void what_cannot_be_held_is_not_decoded(void **state)
{
	static struct encoded e;
	struct series s;

	(void)state;
	fill_series(&s);
	e.size = series_encode(&s, e.buf);
	assert_int_equal(fail_alloc_each(try_decode, &e), _SERIES_METRIC_MAX - 1);
	series_done(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_of_a_request_is_whole_or_none),
		cmocka_unit_test(a_copy_has_each_text_of_its_own),
		cmocka_unit_test(an_option_without_memory_leaves_what_was_set),
		cmocka_unit_test(a_script_without_memory_is_refused),
		cmocka_unit_test(an_output_without_memory_is_none),
		cmocka_unit_test(a_sample_without_memory_leaves_the_points),
		cmocka_unit_test(a_sum_without_memory_is_as_it_was),
		cmocka_unit_test(what_cannot_be_held_is_not_decoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
