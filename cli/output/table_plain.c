/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_plain.c - prints a table of many rows for people, as libsmartcols would.
 *
 * libsmartcols keeps each cell as a string of its own and measures it several times: 108,000
 * rows of ten columns take it 1.5 s of CPU time. Here each cell is formatted twice, once to
 * measure and once to print, and none is kept. Unlike libsmartcols it does not cut lines that are
 * wider than the terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include "cli/output/table_data.h"
#include "cli/output/text.h"
#include "common/err.h"

/* One formatted cell. `owned` is NULL or what `text` points to. */
struct shown {
	const char *text;
	size_t size; /* bytes */
	int width;
	char *owned;
	char buf[TABLE_CELL_MAX];
};

/* Width on a terminal. -1: it has other than printable ASCII. */
static int ascii_width(const char *text, size_t size)
{
	unsigned char others = 0;

	for (size_t i = 0; i < size; i++)
		others |= (unsigned char)(text[i] - ' ') > '~' - ' ';
	return others ? -1 : (int)size;
}

static int wide_width(const char *text)
{
	mbstate_t state = { 0 };
	size_t n, left = strlen(text);
	int width = 0, w;
	wchar_t c;

	for (; left; text += n, left -= n) {
		n = mbrtowc(&c, text, left, &state);
		if (n == 0 || n > left) { /* invalid; not after text_safe() */
			n = 1;
			c = L'?';
			memset(&state, 0, sizeof(state));
		}
		w = wcwidth(c);
		width += w < 0 ? 1 : w;
	}
	return width;
}

/* What is printed of a cell, with its width on a terminal. ret->owned is freed by the caller. -ENOMEM. */
static int format_shown(const struct table_column *col, const struct table_cell *cell,
			struct shown *ret)
{
	ret->owned = NULL;
	if (!cell->have)
		ret->text = "-";
	else if (cell->text)
		ret->text = cell->text;
	else
		ret->text = table_format_cell(col->kind, cell->n, ret->buf);
	ret->size = cell->have && cell->text ? (size_t)cell->n : strlen(ret->text);
	ret->width = ascii_width(ret->text, ret->size);
	if (ret->width >= 0)
		return 0;
	ret->text = ret->owned = text_safe(ret->text, TEXT_LINE);
	if (!ret->owned)
		return -ENOMEM;
	ret->width = wide_width(ret->owned);
	ret->size = strlen(ret->owned);
	return 0;
}

static const char *title_of(const struct table_column *col)
{
	return col->title + (col->title[0] == '-');
}

/* The widest cell of each column, the title included: the first of the two passes. */
static int measure_columns(const struct table *t, const struct table_choice *c, bool has_header,
			   int *widths)
{
	const struct table_column *col;
	struct shown s;
	int r = 0;

	for (int k = 0; k < c->n; k++) {
		widths[k] = has_header ? (int)strlen(title_of(&t->columns[c->column[k]])) : 1;
		if (t->widths && t->widths[k] > widths[k])
			widths[k] = t->widths[k];
	}
	for (size_t row = 0; row < t->n_rows && r == 0; row++)
		for (int k = 0; k < c->n && r == 0; k++) {
			col = &t->columns[c->column[k]];
			r = format_shown(col, table_cell(t, row, c->column[k]), &s);
			if (r == 0 && s.width > widths[k])
				widths[k] = s.width;
			free(s.owned);
		}
	return r;
}

/* What is printed is put together here: a call of stdio for each cell took longer than formatting it. */
struct lines {
	FILE *to;
	size_t n;
	char buf[32768];
};

static void flush_lines(struct lines *l)
{
	fwrite(l->buf, 1, l->n, l->to);
	l->n = 0;
}

static void put_text(struct lines *l, const char *text, size_t n)
{
	if (n > sizeof(l->buf) - l->n)
		flush_lines(l);
	if (n > sizeof(l->buf)) {
		fwrite(text, 1, n, l->to);
		return;
	}
	memcpy(l->buf + l->n, text, n);
	l->n += n;
}

static void put_blanks(struct lines *l, int n)
{
	for (; n > 0; n--) {
		if (l->n == sizeof(l->buf))
			flush_lines(l);
		l->buf[l->n++] = ' ';
	}
}

struct place {
	struct lines *to;
	int width;
	bool is_right, is_last;
	const char *color; /* "": none */
};

static void print_cell(const struct place *p, const struct shown *s)
{
	int fill = p->width - s->width;

	if (p->is_right)
		put_blanks(p->to, fill);
	put_text(p->to, p->color, strlen(p->color));
	put_text(p->to, s->text, s->size);
	if (*p->color)
		put_text(p->to, "\033[0m", 4);
	if (!p->is_right && !p->is_last)
		put_blanks(p->to, fill);
	put_text(p->to, p->is_last ? "\n" : " ", 1);
}

static const char *color_of(const struct table_format *f, enum table_cell_tone tone)
{
	static const char *const colors[] = {
		[TONE_PLAIN] = "",
		[TONE_GOOD] = "\033[32m",
		[TONE_BAD] = "\033[31m",
		[TONE_DIM] = "\033[90m",
	};

	return f->color ? colors[tone] : "";
}

static int print_row(const struct table *t, const struct table_choice *c, size_t row,
		     struct place *places)
{
	const struct table_cell *cell;
	struct shown s;

	for (int k = 0; k < c->n; k++) {
		cell = table_cell(t, row, c->column[k]);
		if (format_shown(&t->columns[c->column[k]], cell, &s) < 0)
			return -ENOMEM;
		print_cell(&places[k], &s);
		free(s.owned);
	}
	return 0;
}

int table_render_plain(const struct table *t, const struct table_choice *c,
		       const struct table_format *f, struct err *err)
{
	struct place places[TABLE_COLUMNS_MAX];
	struct lines lines = { .to = f->to };
	bool has_header = !f->no_header && t->n_before == 0;
	int widths[TABLE_COLUMNS_MAX], r = measure_columns(t, c, has_header, widths);

	if (t->widths)
		memcpy(t->widths, widths, (size_t)c->n * sizeof(*widths));
	for (int k = 0; k < c->n && r == 0; k++) {
		const struct table_column *col = &t->columns[c->column[k]];
		const struct shown title = { .text = title_of(col),
					     .size = strlen(title_of(col)),
					     .width = (int)strlen(title_of(col)) };

		places[k] = (struct place){ &lines, widths[k], table_column_is_right(col),
					    k == c->n - 1, "" };
		if (has_header)
			print_cell(&places[k], &title);
	}
	for (size_t row = 0; row < t->n_rows && r == 0; row++) {
		for (int k = 0; k < c->n; k++)
			places[k].color = color_of(f, table_cell(t, row, c->column[k])->tone);
		r = print_row(t, c, row, places);
	}
	flush_lines(&lines);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
