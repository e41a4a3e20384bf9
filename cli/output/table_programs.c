/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_programs.c - prints a table for programs: JSON, CSV and other rows; see table.h. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include "cli/output/table_data.h"
#include "cli/output/text.h"
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/utf8.h"
#include "common/wire/wire.h"

static bool is_text(const struct table_column *col)
{
	return col->kind == CELL_TEXT || col->kind == CELL_FIGURE;
}

/* printf() takes three times as long, and most cells are numbers. */
static int put_int(int64_t n, FILE *to)
{
	char buf[24], *p = buf + sizeof(buf) - 1;
	uint64_t left = n < 0 ? -(uint64_t)n : (uint64_t)n;

	*p = '\0';
	do
		*--p = (char)('0' + left % 10);
	while (left /= 10);
	if (n < 0)
		*--p = '-';
	return fputs(p, to);
}

/* ---- JSON: written row by row, since tables may have 100,000 rows ---- */

/* Printable ASCII that needs no escape. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text < ' ' || *text > '~' || *text == '"' || *text == '\\')
			return false;
	return true;
}

static size_t count_digits(const char *p)
{
	return strspn(p, "0123456789");
}

/* Is the text a number in JSON? "inf", "parent" and "007" are not. */
static bool is_number(const char *p)
{
	size_t n;

	p += *p == '-';
	n = count_digits(p);
	if (n == 0 || (*p == '0' && n > 1))
		return false;
	p += n;
	if (*p == '.') {
		n = count_digits(++p);
		p += n;
	}
	if (n && (*p == 'e' || *p == 'E')) {
		p += 1 + (p[1] == '-' || p[1] == '+');
		n = count_digits(p);
		p += n;
	}
	return n && !*p;
}

static int put_json_text(const char *text, FILE *to)
{
	_cleanup_json_ json_t *j = NULL;

	if (is_plain(text)) {
		fputc('"', to);
		fputs(text, to);
		return fputc('"', to);
	}
	j = json_string(text);
	return j ? json_dumpf(j, to, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : -1;
}

/* A figure is a JSON number where its text is one; "inf" and "parent" are texts. */
static int put_json_cell(const struct table_column *col, const struct table_cell *cell,
			 FILE *to)
{
	if (!is_text(col))
		return put_int(cell->n, to);
	if (col->kind == CELL_FIGURE && is_number(cell->text))
		return fputs(cell->text, to);
	return put_json_text(cell->text, to);
}

static int put_json_row(const struct table *t, const struct table_choice *c, size_t row,
			FILE *to)
{
	const struct table_cell *cell;
	int n = 0, r = 0;

	fputs("    {", to);
	for (int k = 0; k < c->n && r >= 0; k++) {
		cell = table_cell(t, row, c->column[k]);
		if (!cell->have && !cell->is_null)
			continue;
		fputs(n++ ? ",\n      \"" : "\n      \"", to);
		fputs(t->columns[c->column[k]].name, to);
		fputs("\": ", to);
		r = cell->have ? put_json_cell(&t->columns[c->column[k]], cell, to)
			       : fputs("null", to);
	}
	fputs(n ? "\n    }" : "}", to);
	return r;
}

struct json_rows {
	const char *name;
	size_t from, to;
};

static int put_json_rows(const struct json_rows *rows, const struct table *t,
			 const struct table_choice *c, FILE *to)
{
	bool is_first = t->n_before == 0;
	int r = 0;

	if (is_first)
		fprintf(to, "\"%s\": [", rows->name);
	for (size_t row = rows->from; row < rows->to && r >= 0; row++) {
		fputs(row > rows->from || !is_first ? ",\n" : "\n", to);
		r = put_json_row(t, c, row, to);
	}
	if (!t->is_more)
		fputs(rows->to > rows->from || !is_first ? "\n  ]" : "]", to);
	return r;
}

static void put_json_notes(const struct table *t, FILE *to)
{
	fprintf(to, "{\n  \"schema\": \"%s\",\n  ", WIRE_SCHEMA);
	for (int i = 0; i < t->n_notes; i++) {
		fprintf(to, "\"%s\": ", t->notes[i].key);
		if (t->notes[i].text)
			put_json_text(t->notes[i].text, to);
		else
			fprintf(to, "%" PRId64, t->notes[i].value);
		fputs(",\n  ", to);
	}
}

/* Before anything is printed: half a document would be worse than none. */
static int check_utf8(const struct table *t, const struct table_choice *c, struct err *err)
{
	const struct table_cell *cell;

	for (size_t row = 0; row < t->n_rows; row++)
		for (int k = 0; k < c->n; k++) {
			cell = table_cell(t, row, c->column[k]);
			if (cell->have && cell->text && !utf8_is_valid(cell->text))
				return err_set(
					err, -EINVAL,
					"%s '%.64s' is not UTF-8, which JSON needs; use --csv",
					t->columns[c->column[k]].name, cell->text);
		}
	return 0;
}

int table_render_json(const struct table *t, const struct table_choice *c,
		      const struct table_format *f, struct err *err)
{
	int r = check_utf8(t, c, err);

	if (r < 0)
		return r;
	if (t->n_before == 0)
		put_json_notes(t, f->to);
	r = put_json_rows(&(struct json_rows){ t->name, 0, table_size(t) }, t, c, f->to);
	if (t->n_totals && r >= 0) {
		fputs(",\n  ", f->to);
		r = put_json_rows(&(struct json_rows){ "totals", table_size(t), t->n_rows }, t,
				  c, f->to);
	}
	if (!t->is_more)
		fputs("\n}\n", f->to);
	return r < 0 || ferror(f->to) ? err_set(err, -EIO, "cannot write the output") : 0;
}

/* ---- rows: csv, raw, parsable ---- */

static void put_raw(const char *text, FILE *to)
{
	char *safe = is_plain(text) ? NULL : text_safe(text, TEXT_LINE);

	fputs(safe ? safe : is_plain(text) ? text : "?", to);
	free(safe);
}

/* Bytes beyond ASCII stay as they are: no locale changes what a program reads. */
static bool is_escaped_in_bars(unsigned char c)
{
	return c < 0x20 || c == 0x7f || c == '|' || c == '\\';
}

static void put_bar(const char *text, FILE *to)
{
	size_t n;

	for (; *text; text += n) {
		for (n = 0; text[n] && !is_escaped_in_bars((unsigned char)text[n]); n++)
			;
		fwrite(text, 1, n, to);
		if (!n) {
			fprintf(to, "\\%03o", (unsigned char)*text);
			n = 1;
		}
	}
}

struct row_form {
	void (*put)(const char *text, FILE *to);
	const char *between, *end;
};

static const struct row_form row_forms[_TABLE_OUTPUT_MAX] = {
	[TABLE_CSV] = { csv_write_field, ",", "\n" },
	[TABLE_RAW] = { put_raw, "\t", "\n" },
	[TABLE_PARSABLE] = { put_bar, "|", "|\n" },
	[TABLE_PARSABLE2] = { put_bar, "|", "\n" },
};

int table_render_rows(const struct table *t, const struct table_choice *c,
		      const struct table_format *f, struct err *err)
{
	const struct row_form *form = &row_forms[f->output];
	bool has_header = !f->no_header && t->n_before == 0;
	const struct table_cell *cell;

	(void)err; /* write errors are reported when the output is finished */
	for (int k = 0; k < c->n && has_header; k++)
		fprintf(f->to, "%s%s", k ? form->between : "", t->columns[c->column[k]].name);
	if (has_header)
		fputs(form->end, f->to);
	for (size_t i = 0; i < table_size(t); i++) {
		for (int k = 0; k < c->n; k++) {
			fputs(k ? form->between : "", f->to);
			cell = table_cell(t, i, c->column[k]);
			if (cell->have && cell->text)
				form->put(cell->text, f->to);
			else if (cell->have)
				put_int(cell->n, f->to);
		}
		fputs(form->end, f->to);
	}
	return 0;
}
