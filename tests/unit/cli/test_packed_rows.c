/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_packed_rows - columns are found by their names, others are passed over, and an answer that lacks one or is cut is refused.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/views/packed_rows.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const char *const keys[] = { "a", "b" };

#define SECOND_ROW_SIZE (16 + 2 + 9) /* of text, number, text */

/* Two rows of "x", "b", "a"; without the last `cut` bytes. */
static json_t *make_answer(const char *columns, size_t cut)
{
	struct rowpack_writer w = { 0 };
	json_t *answer = json_object();

	for (int row = 0; row < 2; row++) {
		rowpack_put_text(&w, "not asked for");
		rowpack_put_int(&w, 10 + row);
		rowpack_put_text(&w, row ? "second" : "first");
	}
	json_object_set_new(answer, "columns", json_loads(columns, 0, NULL));
	assert_int_equal(wire_attach(answer, w.data, w.size - cut), 0);
	rowpack_done(&w);
	return answer;
}

static void columns_are_found_by_name(void **state)
{
	_cleanup_json_ json_t *answer = make_answer("[\"x\",\"b\",\"a\"]", 0);
	struct rowpack_value cells[2];
	struct packed_rows rows;
	struct err err;

	(void)state;
	assert_int_equal(packed_rows_open(answer, keys, 2, &rows, &err), 0);
	assert_int_equal(packed_rows_next(&rows, cells, &err), 1);
	assert_string_equal(cells[0].text, "first");
	assert_int_equal(cells[1].n, 10);
	assert_int_equal(packed_rows_next(&rows, cells, &err), 1);
	assert_string_equal(cells[0].text, "second");
	assert_int_equal(cells[1].n, 11);
	assert_int_equal(packed_rows_next(&rows, cells, &err), 0);
}

static void a_missing_column_is_named(void **state)
{
	_cleanup_json_ json_t *answer = make_answer("[\"x\",\"b\",\"c\"]", 0);
	struct packed_rows rows;
	struct err err;

	(void)state;
	assert_int_equal(packed_rows_open(answer, keys, 2, &rows, &err), -EPROTO);
	assert_non_null(strstr(err.text, "'a'"));
}

static void an_answer_without_rows_is_refused(void **state)
{
	_cleanup_json_ json_t *answer = json_pack("{s:[s,s]}", "columns", "a", "b");
	_cleanup_json_ json_t *odd = make_answer("[\"a\",7,\"b\",null,\"x\"]", 0);
	_cleanup_json_ json_t *none = make_answer("\"a\"", 0);
	struct packed_rows rows;
	struct err err;

	(void)state;
	assert_int_equal(packed_rows_open(answer, keys, 2, &rows, &err), -EPROTO);
	assert_int_equal(packed_rows_open(none, keys, 2, &rows, &err), -EPROTO);
	assert_int_equal(packed_rows_open(odd, keys, 2, &rows, &err),
			 0); /* others are passed over */
}

/* Wherever it is cut, the second row does not come. */
static void a_cut_row_is_refused(void **state)
{
	struct rowpack_value cells[2];
	struct packed_rows rows;
	struct err err;

	(void)state;
	for (size_t cut = 1; cut <= SECOND_ROW_SIZE; cut++) {
		_cleanup_json_ json_t *answer = make_answer("[\"x\",\"b\",\"a\"]", cut);
		int second;

		assert_int_equal(packed_rows_open(answer, keys, 2, &rows, &err), 0);
		assert_int_equal(packed_rows_next(&rows, cells, &err), 1);
		second = packed_rows_next(&rows, cells, &err);
		assert_int_equal(second, cut == SECOND_ROW_SIZE ? 0 : -EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_found_by_name),
		cmocka_unit_test(a_missing_column_is_named),
		cmocka_unit_test(an_answer_without_rows_is_refused),
		cmocka_unit_test(a_cut_row_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
