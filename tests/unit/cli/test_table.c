/* SPDX-License-Identifier: GPL-2.0-or-later */
/* test_table - the forms of the same rows; hostile text stays text; nothing measured is not 0.
 */
#include <errno.h>
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>
#include "cli/output/table_data.h"
#include "cli/output/text.h"
#include "common/err.h"
#include "common/utf8.h"

static const struct table_column columns[] = {
	{ "job", "JOB", CELL_COUNT },
	{ "vmem_bytes", "VMEM", CELL_BYTES },
	{ "running_ns", "RUNNING", CELL_DURATION_NS },
	{ "charge_ms", "-CHARGE MS", CELL_CHARGE_MS },
	{ "name", "NAME", CELL_TEXT },
	{ 0 },
};

static struct table *two_rows(void)
{
	struct table *t = NULL;

	assert_int_equal(table_new("jobs", columns, &t, NULL), 0);
	table_row(t);
	table_int(t, "job", 7);
	table_int(t, "vmem_bytes", 1LL << 30);
	table_int(t, "running_ns", 61999999999LL);
	table_int(t, "charge_ms", 9007199254740993LL);
	table_text(t, "name", "a, \"b\"\033[31m\tc");
	table_tone(t, "name", TONE_BAD);
	table_row(t);
	table_int(t, "job", 12);
	table_text(t, "name", NULL);
	return t;
}

static char *print_table(const struct table *t, struct table_format f)
{
	struct err err = { "" };
	char *text = NULL;
	size_t size;

	f.to = open_memstream(&text, &size);
	if (table_print(t, &f, &err) < 0)
		fail_msg("%s", err.text);
	fclose(f.to);
	return text;
}

static void expect_output(struct table_format f, const char *expected)
{
	struct table *t = two_rows();
	char *text = print_table(t, f);

	assert_string_equal(text, expected);
	free(text);
	table_free(t);
}

static void tables_for_people_have_units_and_a_dash_for_nothing(void **state)
{
	(void)state;
	expect_output((struct table_format){ .output = TABLE_TABLE },
		      "JOB     VMEM RUNNING NAME\n"
		      "  7 1.00 GiB 0:01:01 a, \"b\"\\033[31m\\011c\n"
		      " 12        -       - -\n");
	expect_output((struct table_format){ .output = TABLE_TABLE,
					     .columns = "name,job",
					     .no_header = true },
		      "a, \"b\"\\033[31m\\011c   7\n"
		      "-                    12\n");
}

static void amounts_have_the_unit_of_the_request_beside_them(void **state)
{
	static const struct table_column amounts[] = {
		{ "gpu", "GPU", CELL_BYTES },	   { "vmem", "VMEM", CELL_REQUEST },
		{ "peak", "PEAK", CELL_BYTES },	   { "mem", "MEM", CELL_REQUEST },
		{ "resident", "RSS", CELL_BYTES }, { 0 },
	};
	struct table *t = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new("jobs", amounts, &t, NULL), 0);
	table_row(t); /* only vmem was requested */
	table_int(t, "gpu", 1000000000);
	table_int(t, "vmem", 100000000);
	table_int(t, "peak", 92800000);
	table_int(t, "resident", 46100000);
	table_row(t); /* each has its own */
	table_int(t, "vmem", 1LL << 30);
	table_int(t, "peak", 1LL << 29);
	table_int(t, "mem", 500000000);
	table_int(t, "resident", 250000000);
	table_row(t); /* nothing was: table_like() decides */
	table_int(t, "peak", 46100000);
	table_like(t, 2000000000);
	text = print_table(t, (struct table_format){ .output = TABLE_TABLE });
	assert_string_equal(text, "    GPU     VMEM    PEAK    MEM     RSS\n"
				  "1.00 GB   100 MB 92.8 MB      - 46.1 MB\n"
				  "      - 1.00 GiB 512 MiB 500 MB  250 MB\n"
				  "      -        - 46.1 MB      -       -\n");
	free(text);
	table_free(t);
}

static void output_for_programs_has_exact_figures_and_empty_cells(void **state)
{
	(void)state;
	expect_output((struct table_format){ .output = TABLE_CSV },
		      "job,vmem_bytes,running_ns,charge_ms,name\n"
		      "7,1073741824,61999999999,9007199254740993,\"a, \"\"b\"\"\033[31m\tc\"\n"
		      "12,,,,\n");
	expect_output((struct table_format){ .output = TABLE_RAW, .columns = "name,job" },
		      "name\tjob\n"
		      "a, \"b\"\\033[31m\\011c\t7\n"
		      "\t12\n");
	expect_output((struct table_format){ .output = TABLE_JSON },
		      "{\n  \"schema\": \"reeve/1\",\n  \"jobs\": [\n    {\n      \"job\": 7,\n"
		      "      \"vmem_bytes\": 1073741824,\n      \"running_ns\": 61999999999,\n"
		      "      \"charge_ms\": 9007199254740993,\n"
		      "      \"name\": \"a, \\\"b\\\"\\u001B[31m\\tc\"\n    },\n    {\n"
		      "      \"job\": 12\n    }\n  ]\n}\n");
}

static void no_field_breaks_a_row_of_bars(void **state)
{
	static const char hostile[] = "a|b\\c\nd\r|\033[31m\177\xc3\xbc";
	struct table *t = NULL;
	char *text;

	(void)state;
	expect_output((struct table_format){ .output = TABLE_PARSABLE,
					     .columns = "job,vmem_bytes,name" },
		      "job|vmem_bytes|name|\n"
		      "7|1073741824|a, \"b\"\\033[31m\\011c|\n"
		      "12|||\n");
	expect_output((struct table_format){ .output = TABLE_PARSABLE2,
					     .columns = "job,name",
					     .no_header = true },
		      "7|a, \"b\"\\033[31m\\011c\n"
		      "12|\n");
	assert_int_equal(table_new("jobs", columns, &t, NULL), 0);
	table_row(t);
	table_text(t, "name", hostile);
	text = print_table(
		t, (struct table_format){ .output = TABLE_PARSABLE2, .columns = "name,job" });
	assert_string_equal(text,
			    "name|job\na\\174b\\134c\\012d\\015\\174\\033[31m\\177\xc3\xbc|\n");
	free(text);
	table_free(t);
}

static const struct table_column figures[] = {
	{ "share", "SHARE", CELL_FIGURE },
	{ "who", "WHO", CELL_TEXT },
	{ 0 },
};

static void figures_are_numbers_in_json_where_they_are_numbers(void **state)
{
	static const struct {
		const char *text, *json;
	} cases[] = {
		{ "0", "0" },
		{ "-1.250000", "-1.250000" },
		{ "12345678901234567890123456789", "12345678901234567890123456789" },
		{ "1.5e-10", "1.5e-10" },
		{ "inf", "\"inf\"" },
		{ "-", "\"-\"" },
		{ "007", "\"007\"" },
		{ "1.", "\"1.\"" },
		{ ".5", "\".5\"" },
		{ "1e", "\"1e\"" },
		{ "", "\"\"" },
		{ "2.666666... (8/3)", "\"2.666666... (8/3)\"" },
	};
	char expected[192], *text;
	struct table *t = NULL;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(table_new("rows", figures, &t, NULL), 0);
		table_row(t);
		table_text(t, "share", cases[i].text);
		text = print_table(t, (struct table_format){ .output = TABLE_JSON });
		snprintf(expected, sizeof(expected),
			 "{\n  \"schema\": \"reeve/1\",\n  \"rows\": [\n    {\n"
			 "      \"share\": %s\n    }\n  ]\n}\n",
			 cases[i].json);
		assert_string_equal(text, expected);
		free(text);
		table_free(t);
	}
}

static void json_with_bytes_that_are_not_utf8_is_refused_before_any_output(void **state)
{
	struct table *t = NULL;
	struct err err = { "" };
	char *text = NULL;
	size_t size;
	struct table_format f = { .output = TABLE_JSON, .to = open_memstream(&text, &size) };

	(void)state;
	assert_int_equal(table_new("rows", figures, &t, NULL), 0);
	table_row(t);
	table_text(t, "who", "gr\xfc");
	assert_int_equal(table_print(t, &f, &err), -EINVAL);
	assert_string_equal(err.text, "who 'gr\xfc' is not UTF-8, which JSON needs; use --csv");
	fclose(f.to);
	assert_int_equal(size, 0);
	free(text);
	table_free(t);
}

/* Every length that an alignment can go wrong with, some cells not set, some not ASCII. */
static struct table *rows_of_all_sorts(int n)
{
	static const char *const names[] = { "",
					     "x",
					     "gr\xc3\xbc\xc3\x9f",
					     "\xe4\xb8\xad\xe6\x96\x87",
					     "a\tb",
					     "a much longer name than the others" };
	struct table *t = NULL;

	assert_int_equal(table_new("jobs", columns, &t, NULL), 0);
	for (int i = 0; i < n; i++) {
		table_row(t);
		if (i % 7)
			table_int(t, "job", 1LL << (i % 40));
		table_int(t, "vmem_bytes", (int64_t)i * i * 4096);
		table_int(t, "running_ns", i % 3 ? i * 1000000000000LL : 0);
		if (i % 5)
			table_text(t, "name", names[i % 6]);
	}
	return t;
}

static char *render_text(table_render_fn fn, const struct table *t, struct table_format f)
{
	struct table_choice c = { .n = 0 };
	struct err err = { "" };
	char *text = NULL;
	size_t size;

	f.to = open_memstream(&text, &size);
	if (table_choose(t, f.columns, &c, &err) < 0 || fn(t, &c, &f, &err) < 0)
		fail_msg("%s", err.text);
	fclose(f.to);
	return text;
}

static void lines_that_fit_are_as_libsmartcols_prints_them(void **state)
{
	static const char *const choices[] = { NULL, "name,job", "name",
					       "vmem_bytes,name,name" };
	struct table *t = rows_of_all_sorts(250);
	char *plain, *theirs;

	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		fail_msg("no C.UTF-8 locale on this machine");
	for (int i = 0; i < 8; i++) {
		struct table_format f = { .columns = choices[i / 2], .no_header = i % 2 };

		plain = render_text(table_render_plain, t, f);
		theirs = render_text(table_render_columns, t, f);
		assert_string_equal(plain, theirs);
		free(plain);
		free(theirs);
	}
	setlocale(LC_CTYPE, "C");
	table_free(t);
}

/* What a controller sends as a figure may be any double. */
static void a_figure_of_any_size_has_a_short_text(void **state)
{
	static const struct table_column figure[] = { { "x", "X", CELL_FIGURE }, { 0 } };
	static const struct {
		double value;
		const char *text;
	} values[] = {
		{ 0.5, "0.500000" },
		{ -1e300, "-1.000000e+300" },
		{ 1e55, "10000000000000000102350670204085511496304388135324745728.000000" },
		{ 1e56, "1.000000e+56" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		struct table *t = NULL;
		char *text;

		assert_int_equal(table_new("rows", figure, &t, NULL), 0);
		table_row(t);
		table_decimal(t, "x", 6, values[i].value);
		text = print_table(
			t, (struct table_format){ .output = TABLE_CSV, .no_header = true });
		text[strcspn(text, "\r\n")] = '\0';
		assert_string_equal(text, values[i].text);
		free(text);
		table_free(t);
	}
}

static void no_rows_are_an_empty_list(void **state)
{
	struct table *t = NULL;
	char *text;

	(void)state;
	assert_int_equal(table_new("jobs", columns, &t, NULL), 0);
	text = print_table(t, (struct table_format){ .output = TABLE_JSON });
	assert_string_equal(text, "{\n  \"schema\": \"reeve/1\",\n  \"jobs\": []\n}\n");
	free(text);
	text = print_table(t, (struct table_format){ .output = TABLE_TABLE });
	assert_string_equal(text, "");
	free(text);
	table_free(t);
}

static void colour_only_where_asked_for(void **state)
{
	struct table *t = two_rows();
	char *text =
		print_table(t, (struct table_format){ .output = TABLE_TABLE, .color = true });

	(void)state;
	assert_non_null(strstr(text, "\033[31ma, \"b\"\\033[31m\\011c\033[0m"));
	free(text);
	table_free(t);
}

static void unknown_columns_are_refused_with_the_known(void **state)
{
	static const char *const bad[] = {
		"jbo", "", "job,", "job,,name", "zzzzzzzzz", "name "
	};
	struct table *t = two_rows();
	struct table_format f = { .output = TABLE_CSV };
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		f.columns = bad[i];
		err.text[0] = '\0';
		assert_int_equal(table_print(t, &f, &err), -EINVAL);
		assert_non_null(
			strstr(err.text, "job, vmem_bytes, running_ns, charge_ms, name"));
	}
	table_free(t);
}

static void help_lists_the_columns(void **state)
{
	(void)state;
	expect_output((struct table_format){ .output = TABLE_PARSABLE2, .columns = "help" },
		      "column|title\n"
		      "job|JOB\n"
		      "vmem_bytes|VMEM\n"
		      "running_ns|RUNNING\n"
		      "charge_ms|CHARGE MS\n"
		      "name|NAME\n");
}

static const struct table_column long_columns[] = {
#define LONG(x)                                                                                \
	{                                                                                      \
		"a_column_with_quite_a_long_name_" #x, "X", CELL_TEXT                          \
	}
	LONG(01), LONG(02), LONG(03), LONG(04), LONG(05), LONG(06), LONG(07),
	LONG(08), LONG(09), LONG(10), LONG(11), LONG(12), LONG(13), { 0 },
};

static void a_list_too_long_for_a_message_names_the_help(void **state)
{
	struct table *t = NULL;
	struct table_format f = { .output = TABLE_CSV, .columns = "nothing_like_it" };
	struct err err = { "" };

	(void)state;
	assert_int_equal(table_new("rows", long_columns, &t, NULL), 0);
	assert_int_equal(table_print(t, &f, &err), -EINVAL);
	assert_non_null(strstr(err.text, "name_10, ... ('-o help' lists all)"));
	table_free(t);
}

static void charges_round_half_up_and_small_ones_are_not_hidden(void **state)
{
	char buf[TABLE_CELL_MAX];

	(void)state;
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 0, buf), "0.000000");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 1, buf), "0.000000");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 1800, buf), "0.000500");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 359999, buf), "0.100000");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 360000, buf), "0.100");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, 9000000, buf), "2.500");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, -45000000, buf), "-12.500");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, -1800, buf), "-0.000500");
	assert_string_equal(table_format_cell(CELL_CHARGE_MS, INT64_MAX, buf),
			    "2562047788015.216");
}

static void times_are_shown_in_the_zone_of_the_process_and_name_it(void **state)
{
	char buf[TABLE_CELL_MAX];
	const int64_t at = 1795287791000000000;

	(void)state;
	setenv("TZ", ":/usr/share/zoneinfo/America/Toronto", 1);
	tzset();
	assert_string_equal(table_format_cell(CELL_TIME_NS, at, buf),
			    "2026-11-21 14:03:11 EST");
	/* The hour that comes twice is marked. */
	assert_string_equal(table_format_cell(CELL_TIME_NS, 1793511000000000000, buf),
			    "2026-11-01 01:30:00 EDT");
	assert_string_equal(table_format_cell(CELL_TIME_NS, 1793514600000000000, buf),
			    "2026-11-01 01:30:00 EST");
	assert_string_equal(table_format_cell(CELL_TIME_NS, -1, buf),
			    "1969-12-31 18:59:59 EST");
	setenv("TZ", ":/usr/share/zoneinfo/UTC", 1);
	tzset();
	assert_string_equal(table_format_cell(CELL_TIME_NS, at, buf),
			    "2026-11-21 19:03:11 UTC");
}

static void expect_safe(const char *text, enum text_keep keep, const char *expected)
{
	char *out = text_safe(text, keep);

	assert_string_equal(out, expected);
	free(out);
}

static void no_byte_moves_the_cursor(void **state)
{
	char text[2] = "", *out;

	(void)state;
	for (int c = 1; c < 256; c++) {
		text[0] = (char)c;
		out = text_safe(text, TEXT_LINE);
		if (c >= 0x20 && c < 0x7f)
			assert_string_equal(out, text);
		else
			assert_int_equal(strlen(out), 4); /* \ooo */
		free(out);
	}
	expect_safe("a\nb\tc\r\033[2J", TEXT_LINES, "a\nb\tc\\015\\033[2J");
}

static void utf8_is_shown_and_tricks_with_it_are_not(void **state)
{
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		fail_msg("no C.UTF-8 locale on this machine");
	expect_safe("gr\xc3\xbc\xc3\x9f\x65", TEXT_LINE, "gr\xc3\xbc\xc3\x9f\x65");
	expect_safe("a\xe2\x80\xae"
		    "b",
		    TEXT_LINE, "a\\u202eb"); /* right to left */
	expect_safe("\xc2\x9b"
		    "31m",
		    TEXT_LINE, "\\u009b31m"); /* C1: CSI */
	expect_safe("\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80",
		    TEXT_LINE, /* overlong, half, beyond */
		    "\\300\\233\\355\\240\\200\\364\\220\\200\\200");
	expect_safe("\xe2\x82", TEXT_LINE, "\\342\\202"); /* cut short */
	assert_true(utf8_is_valid("gr\xc3\xbc"));
	assert_false(utf8_is_valid("gr\xfc"));
	setlocale(LC_CTYPE, "C");
	expect_safe("gr\xc3\xbc", TEXT_LINE, "gr\\u00fc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_for_people_have_units_and_a_dash_for_nothing),
		cmocka_unit_test(amounts_have_the_unit_of_the_request_beside_them),
		cmocka_unit_test(output_for_programs_has_exact_figures_and_empty_cells),
		cmocka_unit_test(no_field_breaks_a_row_of_bars),
		cmocka_unit_test(figures_are_numbers_in_json_where_they_are_numbers),
		cmocka_unit_test(
			json_with_bytes_that_are_not_utf8_is_refused_before_any_output),
		cmocka_unit_test(lines_that_fit_are_as_libsmartcols_prints_them),
		cmocka_unit_test(a_figure_of_any_size_has_a_short_text),
		cmocka_unit_test(no_rows_are_an_empty_list),
		cmocka_unit_test(colour_only_where_asked_for),
		cmocka_unit_test(unknown_columns_are_refused_with_the_known),
		cmocka_unit_test(help_lists_the_columns),
		cmocka_unit_test(a_list_too_long_for_a_message_names_the_help),
		cmocka_unit_test(charges_round_half_up_and_small_ones_are_not_hidden),
		cmocka_unit_test(times_are_shown_in_the_zone_of_the_process_and_name_it),
		cmocka_unit_test(no_byte_moves_the_cursor),
		cmocka_unit_test(utf8_is_shown_and_tricks_with_it_are_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
