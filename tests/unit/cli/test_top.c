/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_top - the screen of `reeve top`: no line is wider than the screen, nothing that users or nodes write reaches the
 * terminal, bars are never longer than they may be, and sorting and filtering keep to what is shown. */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "cli/output/table_data.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/job_rows.h"
#include "cli/top/draw/help.h"
#include "cli/top/draw/layout.h"
#include "cli/top/once.h"
#include "cli/top/views/subjects.h"
#include "common/err.h"
#include "tests/unit/rig/top_rig.h"

/* ---- bars ---- */

static size_t count_of(const char *text, char c)
{
	size_t n = 0;

	for (; *text; text++)
		n += *text == c;
	return n;
}

static void a_bar_is_as_wide_as_asked_and_full_only_when_all_is_used(void **state)
{
	char buf[TOP_BAR_MAX], before[TOP_BAR_MAX];

	(void)state;
	for (int width = 0; width < 60; width++)
		for (int64_t of = 0; of <= 40; of++) {
			before[0] = '\0';
			for (int64_t used = -1; used <= 45; used++) {
				const struct top_bar b = { used, used / 2 + of / 2, of };
				size_t n = count_of(top_bar_draw(&b, width, buf), '|');

				assert_int_equal(strlen(buf), width);
				if (of > 0 && width)
					assert_int_equal(n == (size_t)width, used >= of);
				assert_true(n >= count_of(before, '|'));
				if (of > 0 && used > 0 && width > 1)
					assert_true(n > 0);
				if (used <= 0 || of == 0)
					assert_int_equal(n, 0);
				memcpy(before, buf, sizeof(buf));
				assert_int_equal(strlen(top_bar_cell(&b, width, buf)), width);
			}
		}
}

static void amounts_beyond_any_request_stay_in_the_bar(void **state)
{
	const struct top_bar b = { INT64_MAX, INT64_MAX, 1 };
	char buf[TOP_BAR_MAX];

	(void)state;
	assert_string_equal(top_bar_cell(&b, 10, buf), "||||| 999%");
	assert_string_equal(top_bar_cell(&b, 4, buf), "999%");
	assert_int_equal(top_percent(INT64_MAX, INT64_MAX), 100);
	assert_int_equal(top_percent(1, 0), -1);
	assert_int_equal(top_percent(-1, 5), -1);
}

static void a_peak_is_shown_beyond_what_is_used(void **state)
{
	const struct top_bar b = { 20, 60, 100 };
	char buf[TOP_BAR_MAX];

	(void)state;
	assert_string_equal(top_bar_draw(&b, 10, buf), "||::::....");
}

/* ---- lines ---- */

static void expect_harmless(const struct top_line *line)
{
	size_t size = 0;

	for (size_t i = 0; i < line->size; i++) {
		unsigned char c = (unsigned char)line->text[i];

		assert_true(c >= ' ' && c != 0x7f);
	}
	assert_null(line->text ? strstr(line->text, "\u202e") : NULL);
	for (size_t i = 0; i < line->n_runs; i++)
		size += line->runs[i].size;
	assert_int_equal(size, line->size);
	if (line->text)
		assert_int_equal(top_text_width(line->text), line->width);
}

static void every_line_of_every_view_fits_its_screen(void **state)
{
	static const int heights[] = { 1, 2, 3, 5, 12, 24, 50 };
	struct top_docs d = load_docs();

	(void)state;
	for (int a = 0; a < N_ASKS; a++)
		for (int width = 1; width <= 300; width += width < 130 ? 1 : 17)
			for (size_t h = 0; h < ARRAY_LEN(heights); h++) {
				const struct top_status status = { .lost_ns = width % 2,
								   .error =
									   "no\033[0m answer" };
				struct top_screen s;
				struct top_view v;
				struct top_ui ui;

				top_ui_init(&ui, &asks[a], 5);
				ui.cursor = h;
				make_view(&asks[a], &d, &ui, &v);
				top_layout(&v, &ui, &status,
					   (struct top_size){ width, heights[h] }, &s);
				assert_false(s.out_of_memory);
				assert_int_equal(s.n, heights[h]);
				for (int i = 0; i < s.n; i++) {
					assert_true(s.lines[i].width <= width);
					expect_harmless(&s.lines[i]);
				}
				top_screen_done(&s);
				top_view_done(&v);
			}
	top_docs_done(&d);
}

static void a_pipe_gets_whole_texts_and_no_escape(void **state)
{
	struct top_docs d = load_docs();
	const struct top_status status = { .now_ns = 0 };

	(void)state;
	for (int a = 0; a < N_ASKS; a++) {
		struct top_screen s;
		struct top_view v;
		struct top_ui ui;

		top_ui_init(&ui, &asks[a], 5);
		make_view(&asks[a], &d, &ui, &v);
		top_layout(&v, &ui, &status, (struct top_size){ 0, 0 }, &s);
		assert_true(s.n > 3);
		for (int i = 0; i < s.n; i++)
			expect_harmless(&s.lines[i]);
		top_screen_done(&s);
		top_view_done(&v);
	}
	top_docs_done(&d);
}

static void a_cut_text_ends_with_a_mark_and_halves_no_wide_character(void **state)
{
	struct top_line l = { .text = NULL };

	(void)state;
	top_line_put(&l, (struct top_place){ TOP_PLAIN, 5, false }, "abcdefgh");
	assert_string_equal(l.text, "abcd+");
	top_line_put(&l, (struct top_place){ TOP_BAD, 4, true }, "x");
	assert_string_equal(l.text, "abcd+   x");
	top_line_put(&l, (struct top_place){ TOP_PLAIN, 4, false }, "\u9f8d\u9f8d\u9f8d");
	assert_string_equal(l.text, "abcd+   x\u9f8d+ ");
	assert_int_equal(l.width, 13);
	top_line_cut(&l, 11);
	assert_string_equal(l.text, "abcd+   x+");
	assert_true(l.width <= 11);
	expect_harmless(&l);
	top_line_done(&l);
}

static void the_page_of_keys_fits_80_columns_and_24_lines(void **state)
{
	int n = 0;

	(void)state;
	for (; top_help_lines[n]; n++)
		assert_true(top_text_width(top_help_lines[n]) <= 80);
	assert_true(n <= 22);
}

/* ---- columns ---- */

static int sum_of(const struct top_column *columns, const struct top_widths *w)
{
	int sum = -1;

	for (int i = 0; columns[i].name; i++)
		sum += w->of[i] ? w->of[i] + 1 : 0;
	return sum;
}

static void columns_fit_any_width_and_keep_the_first(void **state)
{
	struct top_docs d = load_docs();

	(void)state;
	for (int a = 0; a < N_ASKS; a++)
		for (int width = 1; width <= 300; width++) {
			struct top_widths w;
			struct top_view v;
			struct top_ui ui;

			top_ui_init(&ui, &asks[a], 5);
			make_view(&asks[a], &d, &ui, &v);
			top_columns_fit(v.list, v.columns, width, &w);
			assert_true(sum_of(v.columns, &w) <= width);
			assert_true(w.of[0] > 0);
			/* From 40 columns on no column is squeezed below what it needs. */
			for (int i = 0; width >= 40 && v.columns[i].name; i++)
				assert_true(w.of[i] == 0 || w.of[i] >= v.columns[i].min);
			top_view_done(&v);
		}
	top_docs_done(&d);
}

static const struct table_column pairs_table[] = { { "name", "NAME", CELL_TEXT },
						   { "n", "N", CELL_COUNT },
						   { 0 } };
static const struct top_column pairs[] = { { "name", "NAME", 4, 20, 0, false, NULL },
					   { "n", "N", 4, 9, 1, true, NULL },
					   { .name = NULL } };

static struct table *load_pairs(void)
{
	struct table *t = NULL;
	char name[16];

	assert_int_equal(table_new("pairs", pairs_table, &t, NULL), 0);
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "row%d", i);
		table_row(t);
		table_text(t, "name", name);
		if (i % 5)
			table_int(t, "n", i % 3);
	}
	return t;
}

static int number_of(const struct table *t, size_t row)
{
	return atoi(table_cell(t, row, 0)->text + 3);
}

static void sorting_keeps_the_order_of_equal_rows_and_puts_unmeasured_ones_last(void **state)
{
	(void)state;
	for (int descending = 0; descending < 2; descending++) {
		_cleanup_(table_freep) struct table *t = load_pairs();
		const struct top_sort sort = { "n", descending };

		assert_int_equal(top_columns_arrange(t, pairs, NULL, &sort), 0);
		assert_int_equal(table_size(t), 40);
		for (size_t i = 1; i < 40; i++) {
			const struct table_cell *a = table_cell(t, i - 1, 1),
						*b = table_cell(t, i, 1);

			assert_true(a->have || !b->have);
			if (a->have != b->have)
				continue;
			if (a->have)
				assert_true(descending ? a->n >= b->n : a->n <= b->n);
			if (!a->have || a->n == b->n)
				assert_true(number_of(t, i - 1) < number_of(t, i));
		}
	}
}

static void the_next_column_to_sort_by_is_one_that_is_shown(void **state)
{
	static const struct top_column four[] = {
		{ .name = "a" }, { .name = "b" }, { .name = "c" }, { .name = "d" }, { 0 }
	};
	const struct top_widths none = { { 0 } }, ends = { { 3, 0, 0, 5 } };

	(void)state;
	assert_string_equal(top_columns_next(four, &ends, "a", 1), "d");
	assert_string_equal(top_columns_next(four, &ends, "a", -1), "d");
	assert_string_equal(top_columns_next(four, &ends, "b", -1), "a"); /* --sort b */
	assert_string_equal(top_columns_next(four, &none, "a", 1), "b");
	assert_null(top_columns_next(&four[4], &none, "a", 1));
	assert_true(top_columns_lacks(four, &ends, "b"));
	assert_false(top_columns_lacks(four, &ends, "d"));
}

static void names_are_sorted_by_the_numbers_in_them(void **state)
{
	_cleanup_(table_freep) struct table *t = load_pairs();

	(void)state;
	assert_int_equal(
		top_columns_arrange(t, pairs, NULL, &(struct top_sort){ "name", true }), 0);
	assert_int_equal(number_of(t, 0), 39);
	assert_int_equal(number_of(t, 39), 0);
}

static void a_filter_keeps_exactly_the_rows_that_show_its_text(void **state)
{
	static const char *const filters[] = { "row1", "ROW1", "9", "\\033", "no such", "w" };
	struct top_docs d = load_docs();
	char buf[TABLE_CELL_MAX];

	(void)state;
	for (int a = 0; a < N_ASKS; a++)
		for (size_t f = 0; f < ARRAY_LEN(filters); f++) {
			struct top_view all, some;
			struct top_ui ui;
			size_t n = 0;

			top_ui_init(&ui, &asks[a], 5);
			make_view(&asks[a], &d, &ui, &all);
			snprintf(ui.filter, sizeof(ui.filter), "%s", filters[f]);
			make_view(&asks[a], &d, &ui, &some);
			for (size_t row = 0; row < table_size(all.list); row++) {
				bool has = false;

				for (const struct top_column *c = all.columns; c->name; c++) {
					char *safe = top_text_safe(
						top_column_text(all.list, row, c, buf));

					has |= !c->is_bar && strcasestr(safe, filters[f]);
					free(safe);
				}
				n += has;
			}
			assert_int_equal(table_size(some.list), n);
			top_view_done(&all);
			top_view_done(&some);
		}
	top_docs_done(&d);
}

/* ---- keys ---- */

static enum top_act press_key(struct top_ui *ui, const struct top_docs *d, int key)
{
	struct top_view v;
	enum top_act act;

	make_view(&ui->ask, d, ui, &v);
	act = top_ui_press(ui, &v, 10, key);
	top_view_done(&v);
	return act;
}

static void type_text(struct top_ui *ui, const struct top_docs *d, const char *text)
{
	for (; *text; text++)
		press_key(ui, d, (unsigned char)*text);
}

static void enter_opens_the_row_and_escape_leads_back(void **state)
{
	struct top_docs d = load_docs();
	struct top_ui ui;

	(void)state;
	top_ui_init(&ui, &asks[0], 5);
	press_key(&ui, &d, 'g');
	assert_int_equal(press_key(&ui, &d, TOP_KEY_DOWN), TOP_ACT_SHOW);
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ENTER), TOP_ACT_OPEN);
	assert_int_equal(ui.ask.subject, TOP_JOB);
	assert_string_equal(ui.ask.job, "7");
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ESCAPE), TOP_ACT_OPEN);
	assert_int_equal(ui.ask.subject, TOP_CLUSTER);
	assert_int_equal(press_key(&ui, &d, '3'), TOP_ACT_OPEN);
	press_key(&ui, &d, 'G');
	assert_int_equal(press_key(&ui, &d, TOP_KEY_RIGHT), TOP_ACT_OPEN);
	assert_string_equal(ui.ask.node, "n10");
	for (int i = 0; i < 30; i++)
		press_key(&ui, &d, TOP_KEY_LEFT);
	assert_int_equal(ui.ask.subject, TOP_CLUSTER);
	assert_int_equal(press_key(&ui, &d, '4'), TOP_ACT_OPEN);
	press_key(&ui, &d, TOP_KEY_ENTER);
	assert_string_equal(ui.ask.account, "physics");
	assert_int_equal(press_key(&ui, &d, 'q'), TOP_ACT_QUIT);
	top_docs_done(&d);
}

static void the_chosen_row_stays_chosen_when_the_order_changes(void **state)
{
	struct top_docs d = load_docs();
	struct top_ui ui;

	(void)state;
	top_ui_init(&ui, &asks[2], 5);
	press_key(&ui, &d, 'j');
	assert_string_equal(ui.selected, "n2");
	press_key(&ui, &d, 'r');
	press_key(&ui, &d, TOP_KEY_REDRAW);
	assert_string_equal(ui.selected, "n2");
	press_key(&ui, &d, 's');
	press_key(&ui, &d, TOP_KEY_REDRAW);
	assert_string_equal(ui.selected, "n2");
	top_docs_done(&d);
}

static void a_filter_is_typed_byte_by_byte_and_erased_by_characters(void **state)
{
	struct top_docs d = load_docs();
	struct top_ui ui;

	(void)state;
	top_ui_init(&ui, &asks[0], 5);
	press_key(&ui, &d, '/');
	type_text(&ui, &d, "q\u00e9");
	assert_string_equal(ui.filter, "q\u00e9");
	press_key(&ui, &d, TOP_KEY_BACKSPACE);
	assert_string_equal(ui.filter, "q");
	for (int i = 0; i < 200; i++)
		press_key(&ui, &d, 'x');
	assert_int_equal(strlen(ui.filter), TOP_TYPED_MAX - 1);
	press_key(&ui, &d, TOP_KEY_ENTER);
	assert_int_equal(ui.prompt, TOP_NO_PROMPT);
	press_key(&ui, &d, TOP_KEY_ESCAPE);
	assert_string_equal(ui.filter, "");
	top_docs_done(&d);
}

static void what_is_no_name_and_no_delay_is_refused_in_words(void **state)
{
	struct top_docs d = load_docs();
	struct top_ui ui;

	(void)state;
	top_ui_init(&ui, &asks[0], 5);
	press_key(&ui, &d, 'u');
	type_text(&ui, &d, "../x?y");
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ENTER), TOP_ACT_SHOW);
	assert_string_equal(ui.ask.user, "");
	assert_non_null(strstr(ui.message, "not a name"));
	press_key(&ui, &d, 'd');
	press_key(&ui, &d, 'U' - '@');
	type_text(&ui, &d, "0");
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ENTER), TOP_ACT_SHOW);
	assert_int_equal(ui.delay_s, 5);
	press_key(&ui, &d, 'd');
	press_key(&ui, &d, 'U' - '@');
	type_text(&ui, &d, "30");
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ENTER), TOP_ACT_FETCH);
	assert_int_equal(ui.delay_s, 30);
	press_key(&ui, &d, 'u');
	type_text(&ui, &d, "daemon");
	assert_int_equal(press_key(&ui, &d, TOP_KEY_ENTER), TOP_ACT_OPEN);
	assert_string_equal(ui.ask.user, "daemon");
	top_docs_done(&d);
}

static void any_keys_in_any_order_leave_a_screen_that_fits(void **state)
{
	struct top_docs d = load_docs();
	struct top_ui ui;

	(void)state;
	srand(7);
	top_ui_init(&ui, &asks[0], 5);
	for (int i = 0; i < 20000; i++) {
		const struct top_status status = { .now_ns = 0 };
		int key = rand() % 2 ? rand() % 256 : TOP_KEY_UP + rand() % 16;
		struct top_screen s;
		struct top_view v;

		if (ui.ask.subject == TOP_NODE && strcmp(ui.ask.node, "n2") != 0 &&
		    strcmp(ui.ask.node, "n10") != 0)
			snprintf(ui.ask.node, sizeof(ui.ask.node),
				 "n1"); /* the controller would answer 404 */
		press_key(&ui, &d, key);
		if (ui.ask.subject == TOP_NODE && !strstr("n1 n2 n10", ui.ask.node))
			snprintf(ui.ask.node, sizeof(ui.ask.node), "n1");
		if (i % 50)
			continue;
		make_view(&ui.ask, &d, &ui, &v);
		top_layout(&v, &ui, &status,
			   (struct top_size){ 1 + rand() % 120, 1 + rand() % 40 }, &s);
		for (int k = 0; k < s.n; k++)
			expect_harmless(&s.lines[k]);
		top_screen_done(&s);
		top_view_done(&v);
	}
	top_docs_done(&d);
}

/* ---- rates ---- */

static struct top_rate *make_report(int64_t number, int64_t cpu_s, int64_t running_s)
{
	struct top_rate *r = calloc(1, sizeof(*r));

	*r = (struct top_rate){ number, cpu_s * 1000000000, running_s * 1000000000, 0 };
	return r;
}

static void a_rate_is_the_difference_of_two_reports_and_stays_until_the_next(void **state)
{
	struct top_rates rates = { NULL, 0 };
	struct top_rate *one;

	(void)state;
	top_rates_update(&rates, make_report(5, 10, 10), 1);
	assert_int_equal(top_rates_find(&rates, 5), -1);
	top_rates_update(&rates, make_report(5, 30, 20), 1);
	assert_int_equal(top_rates_find(&rates, 5), 200);
	top_rates_update(&rates, make_report(5, 30, 20), 1);
	assert_int_equal(top_rates_find(&rates, 5), 200);
	one = make_report(6, 1, 1);
	top_rates_put(&rates, *one);
	assert_int_equal(top_rates_find(&rates, 5), 200);
	free(one);
	top_rates_update(&rates, make_report(5, 1, 1), 1); /* queued again */
	assert_int_equal(top_rates_find(&rates, 5), -1);
	assert_int_equal(top_rates_find(&rates, 6), -1);
	top_rates_done(&rates);
}

/* ---- documents ---- */

static void unmeasured_amounts_are_absent_in_the_document_and_no_bar(void **state)
{
	struct top_docs d = load_docs();
	struct top_view v;
	struct top_ui ui;
	json_t *doc, *row;

	(void)state;
	top_ui_init(&ui, &asks[0], 5);
	make_view(&asks[0], &d, &ui, &v);
	doc = top_once_document(&v, &d, TOP_CLUSTER);
	assert_non_null(doc);
	assert_int_equal(json_array_size(json_object_get(doc, "rows")), 3);
	for (size_t i = 0; i < 3; i++) {
		row = json_array_get(json_object_get(doc, "rows"), i);
		if (strcmp(json_string_value(json_object_get(row, "job")), "100") == 0)
			assert_null(json_object_get(row, "cpu_percent"));
		else
			assert_true(json_is_integer(json_object_get(row, "vmem_percent")));
	}
	json_decref(doc);
	top_view_done(&v);
	top_docs_done(&d);
}

static void a_document_of_another_form_is_an_error(void **state)
{
	struct top_docs d = load_docs();
	struct err err = { "" };
	struct top_view v;

	(void)state;
	json_object_set_new(json_array_get(json_object_get(d.of[TOP_DOC_JOBS], "jobs"), 0),
			    "state", json_string("flying"));
	assert_int_equal(top_subject_view(&asks[0], &d, &v, &err), -EPROTO);
	top_view_done(&v);
	json_decref(d.of[TOP_DOC_JOB]);
	d.of[TOP_DOC_JOB] = json_object();
	assert_int_equal(top_subject_view(&asks[6], &d, &v, &err), -EPROTO);
	top_view_done(&v);
	assert_int_equal(
		top_subject_view(&(struct top_ask){ .subject = TOP_NODE, .node = "n9" }, &d, &v,
				 &err),
		-EPROTO);
	top_view_done(&v);
	top_docs_done(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bar_is_as_wide_as_asked_and_full_only_when_all_is_used),
		cmocka_unit_test(amounts_beyond_any_request_stay_in_the_bar),
		cmocka_unit_test(a_peak_is_shown_beyond_what_is_used),
		cmocka_unit_test(every_line_of_every_view_fits_its_screen),
		cmocka_unit_test(a_pipe_gets_whole_texts_and_no_escape),
		cmocka_unit_test(a_cut_text_ends_with_a_mark_and_halves_no_wide_character),
		cmocka_unit_test(the_page_of_keys_fits_80_columns_and_24_lines),
		cmocka_unit_test(columns_fit_any_width_and_keep_the_first),
		cmocka_unit_test(
			sorting_keeps_the_order_of_equal_rows_and_puts_unmeasured_ones_last),
		cmocka_unit_test(the_next_column_to_sort_by_is_one_that_is_shown),
		cmocka_unit_test(names_are_sorted_by_the_numbers_in_them),
		cmocka_unit_test(a_filter_keeps_exactly_the_rows_that_show_its_text),
		cmocka_unit_test(enter_opens_the_row_and_escape_leads_back),
		cmocka_unit_test(the_chosen_row_stays_chosen_when_the_order_changes),
		cmocka_unit_test(a_filter_is_typed_byte_by_byte_and_erased_by_characters),
		cmocka_unit_test(what_is_no_name_and_no_delay_is_refused_in_words),
		cmocka_unit_test(any_keys_in_any_order_leave_a_screen_that_fits),
		cmocka_unit_test(
			a_rate_is_the_difference_of_two_reports_and_stays_until_the_next),
		cmocka_unit_test(unmeasured_amounts_are_absent_in_the_document_and_no_bar),
		cmocka_unit_test(a_document_of_another_form_is_an_error),
	};

	setlocale(LC_ALL, "C.UTF-8");
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
