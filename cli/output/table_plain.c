/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_plain.c - prints a table for people, as libsmartcols would.
 *
 * libsmartcols keeps each cell as a string of its own and measures it several times: 108,000
 * rows of ten columns take it 1.5 s of CPU time. Here a text is measured when it is set, another cell is
 * formatted twice, once to measure and once to print, and none is kept. Unlike libsmartcols it does not cut lines that are
 * wider than the terminal.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
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
static int format_shown(const struct table *t, size_t row, int column, struct shown *ret)
{
	const struct table_cell *cell = table_cell(t, row, column);

	ret->owned = NULL;
	if (cell->have && cell->text && cell->width >= 0) {
		ret->text = cell->text;
		ret->size = (size_t)cell->n;
		ret->width = cell->width;
		return 0;
	}
	if (!cell->have)
		ret->text = "-";
	else if (!cell->text)
		ret->text = table_format_at(t, row, column, ret->buf);
	else
		ret->text = ret->owned = text_safe(cell->text, TEXT_LINE);
	if (!ret->text)
		return -ENOMEM;
	ret->size = strlen(ret->text);
	ret->width = ret->owned ? wide_width(ret->text) : (int)ret->size;
	return 0;
}

static const char *title_of(const struct table_column *col)
{
	return col->title + (col->title[0] == '-');
}

/* The widest cell of a column; an unset one is a dash. */
static int measure_column(const struct table *t, int column, int *width)
{
	struct shown s;

	for (size_t row = 0; row < t->n_rows; row++) {
		if (format_shown(t, row, column, &s) < 0)
			return -ENOMEM;
		if (s.width > *width)
			*width = s.width;
		free(s.owned);
	}
	return 0;
}

/* How wide the columns are, their titles included, printed or not. */
static int measure_columns(const struct table *t, const struct table_choice *c, int *widths)
{
	int r = 0, widest;

	for (int k = 0; k < c->n && r == 0; k++) {
		widest = t->widest[c->column[k]];
		widths[k] = (int)strlen(title_of(&t->columns[c->column[k]]));
		if (t->widths && t->widths[k] > widths[k])
			widths[k] = t->widths[k];
		if (widest < 0)
			r = measure_column(t, c->column[k], &widths[k]);
		else if (widest > widths[k])
			widths[k] = widest;
	}
	return r;
}

bool table_plain_fits(const struct table *t, const struct table_choice *c,
		      const struct table_format *f)
{
	struct winsize w = { .ws_col = 0 };
	int widths[TABLE_COLUMNS_MAX], sum = c->n - 1;

	if (ioctl(fileno(f->to), TIOCGWINSZ, &w) < 0)
		return true;
	if (!w.ws_col || measure_columns(t, c, widths) < 0)
		return false;
	for (int k = 0; k < c->n; k++)
		sum += widths[k];
	return sum <= w.ws_col;
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

/* Room for n bytes in one piece. NULL: more than there ever is. */
static char *make_room(struct lines *l, size_t n)
{
	if (n > sizeof(l->buf) - l->n)
		flush_lines(l);
	return n > sizeof(l->buf) ? NULL : l->buf + l->n;
}

struct place {
	struct lines *to;
	int width;
	bool is_right, is_last;
	const char *color; /* "": none */
};

static char *add_blanks(char *at, int n)
{
	memset(at, ' ', (size_t)n);
	return at + n;
}

#define COLOR_END "\033[0m"
#define COLORS_MAX 16 /* bytes, of the beginning and the end */

static void print_cell(const struct place *p, const struct shown *s)
{
	int fill = p->width > s->width ? p->width - s->width : 0;
	char *at = make_room(p->to, (size_t)fill + s->size + COLORS_MAX + 1);

	if (!at) {
		fprintf(p->to->to, "%*s%s%s%s%*s%c", p->is_right ? fill : 0, "", p->color,
			s->text, *p->color ? COLOR_END : "",
			p->is_right || p->is_last ? 0 : fill, "", p->is_last ? '\n' : ' ');
		return;
	}
	if (p->is_right)
		at = add_blanks(at, fill);
	if (*p->color)
		at = stpcpy(at, p->color);
	at = mempcpy(at, s->text, s->size);
	if (*p->color)
		at = stpcpy(at, COLOR_END);
	if (!p->is_right && !p->is_last)
		at = add_blanks(at, fill);
	*at++ = p->is_last ? '\n' : ' ';
	p->to->n = (size_t)(at - p->to->buf);
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
	struct shown s;

	for (int k = 0; k < c->n; k++) {
		if (format_shown(t, row, c->column[k], &s) < 0)
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
	int widths[TABLE_COLUMNS_MAX], r = measure_columns(t, c, widths);

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
		for (int k = 0; f->color && k < c->n; k++)
			places[k].color = color_of(f, table_cell(t, row, c->column[k])->tone);
		r = print_row(t, c, row, places);
	}
	flush_lines(&lines);
	return r < 0 ? err_set(err, r, "out of memory") : 0;
}
