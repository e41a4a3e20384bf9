/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_render.c - prints a table for people, through libsmartcols; see table.h. */
#include <errno.h>
#include <inttypes.h>
#include <libsmartcols/libsmartcols.h>
#include <string.h>
#include <time.h>
#include "cli/output/table_data.h"
#include "cli/output/text.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"

/* Equivalent hours with 3 decimals, or 6 below 0.1 hours. Refunds are negative. */
static const char *format_charge(int64_t ms, char buf[static TABLE_CELL_MAX])
{
	const char *sign = ms < 0 ? "-" : "";
	uint64_t n = ms < 0 ? -(uint64_t)ms : (uint64_t)ms;

	if (n < 360000) {
		n = (n * 10 + 18) / 36;
		snprintf(buf, TABLE_CELL_MAX, "%s%" PRIu64 ".%06u", sign, n / 1000000,
			 (unsigned)(n % 1000000));
		return buf;
	}
	n = n / 3600 + (n % 3600 >= 1800);
	snprintf(buf, TABLE_CELL_MAX, "%s%" PRIu64 ".%03u", sign, n / 1000,
		 (unsigned)(n % 1000));
	return buf;
}

/* In the process's time zone; in UTC where libc cannot convert it. */
static const char *format_time(int64_t at_ns, char buf[static TABLE_CELL_MAX])
{
	const time_t at_s = (time_t)(at_ns / S_NS - (at_ns % S_NS < 0));
	struct tm tm;

	if (!localtime_r(&at_s, &tm) ||
	    !strftime(buf, TABLE_CELL_MAX, "%Y-%m-%d %H:%M:%S %Z", &tm))
		return amount_format_utc(at_ns, buf);
	return buf;
}

const char *table_format_cell(enum table_cell_kind kind, int64_t value,
			      char buf[static TABLE_CELL_MAX])
{
	switch (kind) {
	case CELL_BYTES:
		return amount_format_bytes(value, buf);
	case CELL_REQUEST:
		return amount_format_bytes_like(value, value, buf);
	case CELL_SECONDS:
		return amount_format_seconds(value, buf);
	case CELL_DURATION_NS:
		return amount_format_seconds(value / S_NS, buf);
	case CELL_DURATION_MS:
		return amount_format_seconds(value / 1000, buf);
	case CELL_TIME_NS:
		return format_time(value, buf);
	case CELL_CHARGE_MS:
		return format_charge(value, buf);
	default:
		snprintf(buf, TABLE_CELL_MAX, "%" PRId64, value);
		return buf;
	}
}

/* The amount that gives the cell its units; 0: there is none. */
static int64_t find_like(const struct table *t, size_t row, int column)
{
	int64_t after = t->like;

	for (int i = t->n_columns - 1; i >= 0; i--) {
		const struct table_cell *cell = table_cell(t, row, i);

		if (t->columns[i].kind != CELL_REQUEST || !cell->have || cell->text)
			continue;
		if (i <= column)
			return cell->n;
		after = cell->n;
	}
	return after;
}

const char *table_format_at(const struct table *t, size_t row, int column,
			    char buf[static TABLE_CELL_MAX])
{
	enum table_cell_kind kind = t->columns[column].kind;
	int64_t n = table_cell(t, row, column)->n;

	return kind == CELL_BYTES ? amount_format_bytes_like(n, find_like(t, row, column), buf)
				  : table_format_cell(kind, n, buf);
}

/* As people read it, malloc()ed; NULL: no memory. */
static char *human_text(const struct table *t, size_t row, int column)
{
	const struct table_column *col = &t->columns[column];
	const struct table_cell *cell = table_cell(t, row, column);
	char buf[TABLE_CELL_MAX];

	if (!cell->have)
		return strdup("-");
	if (col->kind == CELL_TEXT || col->kind == CELL_FIGURE)
		return text_safe(cell->text, TEXT_LINE);
	return strdup(table_format_at(t, row, column, buf));
}

static const char *tone_color(enum table_cell_tone tone)
{
	static const char *const colors[] = {
		[TONE_GOOD] = "green",
		[TONE_BAD] = "red",
		[TONE_DIM] = "darkgray",
	};

	return tone == TONE_PLAIN ? NULL : colors[tone];
}

/* Only the last column may be cut at the terminal's width, and only where it is text. */
static int add_columns(struct libscols_table *st, const struct table *t,
		       const struct table_choice *c)
{
	for (int i = 0; i < c->n; i++) {
		const struct table_column *col = &t->columns[c->column[i]];
		bool right = table_column_is_right(col);
		bool cut = i == c->n - 1 && col->kind == CELL_TEXT;

		if (!scols_table_new_column(st, col->title + (col->title[0] == '-'), 0,
					    (right ? SCOLS_FL_RIGHT : 0) |
						    (cut ? SCOLS_FL_TRUNC : 0)))
			return -ENOMEM;
	}
	return 0;
}

static int add_line(struct libscols_table *st, const struct table *t,
		    const struct table_choice *c, size_t row)
{
	struct libscols_line *line = scols_table_new_line(st, NULL);
	const struct table_cell *cell;
	char *text;

	for (int i = 0; line && i < c->n; i++) {
		cell = table_cell(t, row, c->column[i]);
		text = human_text(t, row, c->column[i]);
		if (!text || scols_line_refer_data(line, (size_t)i, text) < 0) {
			free(text);
			return -ENOMEM;
		}
		if (tone_color(cell->tone))
			scols_cell_set_color(scols_line_get_cell(line, (size_t)i),
					     tone_color(cell->tone));
	}
	return line ? 0 : -ENOMEM;
}

static int fill_lines(struct libscols_table *st, const struct table *t,
		      const struct table_choice *c)
{
	int r = add_columns(st, t, c);

	for (size_t row = 0; r == 0 && row < t->n_rows; row++)
		r = add_line(st, t, c, row);
	return r;
}

int table_render_columns(const struct table *t, const struct table_choice *c,
			 const struct table_format *f, struct err *err)
{
	struct libscols_table *st;
	int r;

	scols_init_debug(0);
	st = scols_new_table();
	r = st ? fill_lines(st, t, c) : -ENOMEM;
	if (r == 0) {
		scols_table_set_stream(st, f->to);
		scols_table_enable_colors(st, f->color);
		scols_table_enable_noheadings(st, f->no_header);
		r = scols_print_table(st);
	}
	scols_unref_table(st);
	return r < 0 ? err_set(err, r, "cannot print the table: %s", strerror(-r)) : 0;
}
