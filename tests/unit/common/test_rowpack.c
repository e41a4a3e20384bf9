/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_rowpack - what is put is read again, value by value; bytes that are no values are refused, wherever they are cut.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "common/wire/rows/rowpack.h"

static const int64_t numbers[] = { 0,	      1,	-1, 63, 64, -64, -65, 1000000000000,
				   INT64_MAX, INT64_MIN };
static const double reals[] = { 0, -0.0, 1.5, 1e300, 0x1p-1074, INFINITY, -INFINITY };
#define N(a) (sizeof(a) / sizeof(*(a)))

static void put_all(struct rowpack_writer *w)
{
	rowpack_put_null(w);
	rowpack_put_bool(w, true);
	rowpack_put_bool(w, false);
	for (size_t i = 0; i < N(numbers); i++)
		rowpack_put_int(w, numbers[i]);
	for (size_t i = 0; i < N(reals); i++)
		rowpack_put_real(w, reals[i]);
	rowpack_put_real(w, NAN);
	rowpack_put_text(w, "");
	rowpack_put_text(w, "caf\xc3\xa9");
	rowpack_put_text(w, "cut \xc3");
	rowpack_put_text(w, NULL);
	rowpack_put_json(w, "{\"a\":1}");
	rowpack_put_json(w, NULL);
	assert_false(w->has_failed);
}

static struct rowpack_value next_of(struct rowpack_reader *r, enum rowpack_kind kind)
{
	struct rowpack_value v;
	struct err err;

	assert_int_equal(rowpack_next(r, &v, &err), 1);
	assert_int_equal(v.kind, kind);
	return v;
}

static void values_are_read_again(void **state)
{
	struct rowpack_writer w = { 0 };
	struct rowpack_reader r;
	struct rowpack_value v;
	struct err err;

	(void)state;
	put_all(&w);
	r = (struct rowpack_reader){ w.data, w.data + w.size };
	next_of(&r, ROWPACK_NULL);
	next_of(&r, ROWPACK_TRUE);
	next_of(&r, ROWPACK_FALSE);
	for (size_t i = 0; i < N(numbers); i++)
		assert_true(next_of(&r, ROWPACK_INT).n == numbers[i]);
	for (size_t i = 0; i < N(reals); i++) {
		v = next_of(&r, ROWPACK_REAL);
		assert_memory_equal(&v.real, &reals[i], sizeof(v.real));
	}
	next_of(&r, ROWPACK_NULL);
	assert_string_equal(next_of(&r, ROWPACK_TEXT).text, "");
	assert_string_equal(next_of(&r, ROWPACK_TEXT).text, "caf\xc3\xa9");
	assert_string_equal(next_of(&r, ROWPACK_TEXT).text, "cut ");
	next_of(&r, ROWPACK_NULL);
	v = next_of(&r, ROWPACK_JSON);
	assert_string_equal(v.text, "{\"a\":1}");
	assert_int_equal(v.size, 7);
	next_of(&r, ROWPACK_NULL);
	assert_int_equal(rowpack_next(&r, &v, &err), 0);
	rowpack_done(&w);
}

/* A list of many rows is larger than the first buffer. */
static void many_values(void **state)
{
	struct rowpack_writer w = { 0 };
	struct rowpack_reader r;
	struct rowpack_value v;
	struct err err;
	int64_t n = 0;

	(void)state;
	for (int64_t i = 0; i < 100000; i++)
		rowpack_put_int(&w, i * 7919);
	r = (struct rowpack_reader){ w.data, w.data + w.size };
	for (; rowpack_next(&r, &v, &err) > 0; n++)
		assert_true(v.n == n * 7919);
	assert_true(n == 100000 && r.at == r.end);
	rowpack_done(&w);
}

static int read_all(const uint8_t *data, size_t size)
{
	struct rowpack_reader r = { data, data + size };
	struct rowpack_value v;
	struct err err;
	int got;

	do
		got = rowpack_next(&r, &v, &err);
	while (got > 0);
	return got;
}

/* Each cut is between two values, or refused: of a text of n bytes all n + 2 cuts within it. */
static void cut_bytes(void **state)
{
	struct rowpack_writer w = { 0 };
	int refused = 0;

	(void)state;
	rowpack_put_text(&w, "abc");
	rowpack_put_int(&w, 300);
	rowpack_put_real(&w, 1);
	for (size_t n = 0; n <= w.size; n++) {
		uint8_t *part = malloc(n + 1);

		memcpy(part, w.data, n);
		refused += read_all(part, n) == -EPROTO;
		free(part);
	}
	assert_int_equal(refused, 5 + 2 + 8);
	rowpack_done(&w);
}

static void what_is_no_value_is_refused(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
	} bad[] = {
		{ { _ROWPACK_KIND_MAX }, 1 },
		{ { 0xff }, 1 },
		{ { ROWPACK_TEXT, 1, 'a', 'b' }, 4 },  /* no NUL behind it */
		{ { ROWPACK_TEXT, 2, 'a', 0, 0 }, 5 }, /* a NUL in it */
		{ { ROWPACK_INT, 0x80, 0 }, 3 },       /* not the shortest form */
		{ { ROWPACK_INT, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 }, 11 },
		{ { ROWPACK_INT, 255, 255, 255, 255, 255, 255, 255, 255, 255, 129, 0 }, 12 },
		{ { ROWPACK_TEXT, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 11 },
		{ { ROWPACK_REAL, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f }, 9 }, /* NaN */
	};

	(void)state;
	for (size_t i = 0; i < N(bad); i++)
		assert_int_equal(read_all(bad[i].bytes, bad[i].size), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read_again),
		cmocka_unit_test(many_values),
		cmocka_unit_test(cut_bytes),
		cmocka_unit_test(what_is_no_value_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
