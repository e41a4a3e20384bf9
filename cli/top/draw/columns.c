/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns.c - fits the columns of a list to a width, draws its rows, sorts and filters them; see columns.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output/table_data.h"
#include "cli/top/draw/bar.h"
#include "cli/top/draw/columns.h"

#define BAR_WIDEST 20

static const struct table_cell *find_cell(const struct table *t, size_t row, const char *name)
{
	int i = name ? table_find_column(t, name, strlen(name)) : -1;

	return i < 0 ? NULL : table_cell(t, row, i);
}

const char *top_column_text(const struct table *t, size_t row, const struct top_column *c,
			    char buf[static TABLE_CELL_MAX])
{
	int i = table_find_column(t, c->name, strlen(c->name));
	const struct table_cell *cell = i < 0 ? NULL : table_cell(t, row, i);

	if (!cell || !cell->have)
		return "-";
	if (cell->text)
		return cell->text;
	return table_format_at(t, row, i, buf);
}

static bool is_right(const struct table *t, const struct top_column *c)
{
	int i = table_find_column(t, c->name, strlen(c->name));

	return !c->is_bar && i >= 0 && table_column_is_right(&t->columns[i]);
}

/* ---- widths ---- */

static int clamp_width(int width, const struct top_column *c)
{
	return width < c->min ? c->min : width > c->max ? c->max : width;
}

/* As wide as the widest cell and the title with its mark. */
static int natural_width(const struct table *t, const struct top_column *c)
{
	int widest = top_text_width(c->title) + 1, width;
	char buf[TABLE_CELL_MAX];

	if (c->is_bar)
		return c->max;
	for (size_t row = 0; row < t->n_rows; row++) {
		width = top_text_width(top_column_text(t, row, c, buf));
		widest = width > widest ? width : widest;
	}
	return clamp_width(widest, c);
}

/* A column of dashes says nothing: amounts that no job requested, GPUs where there are none. */
static bool has_values(const struct table *t, const struct top_column *c)
{
	return table_has(t, c->name, TABLE_SET) ||
	       (c->peak && table_has(t, c->peak, TABLE_SET));
}

static int sum_widths(const struct top_column *columns, const struct top_widths *w)
{
	int sum = 0;

	for (int i = 0; columns[i].name; i++)
		sum += w->of[i] ? w->of[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* Narrows the columns of large rank first, down to their least widths. Returns what is still too much. */
static int narrow_columns(const struct top_column *columns, struct top_widths *w, int excess)
{
	int rank = 0, most = 0;

	for (int i = 0; columns[i].name; i++)
		most = columns[i].rank > most ? columns[i].rank : most;
	for (rank = most; rank >= 0 && excess > 0; rank--)
		for (int i = 0; columns[i].name && excess > 0; i++) {
			int room = columns[i].rank == rank && w->of[i]
					   ? w->of[i] - columns[i].min
					   : 0;
			int cut = room < 0 ? 0 : room < excess ? room : excess;

			w->of[i] -= cut;
			excess -= cut;
		}
	return excess;
}

/* The column to leave out: of the largest rank, the last of these. -1: none may be. */
static int find_least(const struct top_column *columns, const struct top_widths *w)
{
	int found = -1;

	for (int i = 0; columns[i].name; i++)
		if (w->of[i] && columns[i].rank > 0 &&
		    (found < 0 || columns[i].rank >= columns[found].rank))
			found = i;
	return found;
}

/* Not even the columns of rank 0 fit: those at the end are left out, and the first is cut. */
static void force_columns(const struct top_column *columns, struct top_widths *w, int width)
{
	int n = 0;

	while (columns[n].name)
		n++;
	while (--n > 0 && sum_widths(columns, w) > width)
		w->of[n] = 0;
	if (w->of[0] > width)
		w->of[0] = width;
}

static void widen_columns(const struct table *t, const struct top_column *columns,
			  struct top_widths *w, int width)
{
	int left = width - sum_widths(columns, w), last = -1;
	bool has_grown = true;

	while (left > 0 && has_grown) {
		has_grown = false;
		for (int i = 0; columns[i].name && left > 0; i++)
			if (columns[i].is_bar && w->of[i] && w->of[i] < BAR_WIDEST) {
				w->of[i]++;
				left--;
				has_grown = true;
			}
	}
	for (int i = 0; columns[i].name; i++)
		if (w->of[i] && !columns[i].is_bar && !is_right(t, &columns[i]))
			last = i;
	if (last >= 0 && left > 0)
		w->of[last] += left;
}

void top_columns_fit(const struct table *t, const struct top_column *columns, int width,
		     struct top_widths *ret)
{
	struct top_widths natural = { { 0 } };
	int n = 0, least;

	for (; columns[n].name; n++)
		if (columns[n].rank == 0 || t->n_rows == 0 || has_values(t, &columns[n]))
			natural.of[n] = natural_width(t, &columns[n]);
	*ret = natural;
	if (width == 0)
		return;
	while (narrow_columns(columns, ret, sum_widths(columns, ret) - width) > 0) {
		least = find_least(columns, &natural);
		if (least < 0) {
			force_columns(columns, ret, width);
			break;
		}
		natural.of[least] = 0;
		*ret = natural;
	}
	widen_columns(t, columns, ret, width);
}

/* ---- lines ---- */

void top_columns_head(const struct top_column *columns, const struct top_widths *w,
		      const struct top_sort *sort, struct top_line *to)
{
	char title[64];

	for (int i = 0; columns[i].name; i++) {
		bool is_sorted = sort->column && !strcmp(sort->column, columns[i].name);

		if (!w->of[i])
			continue;
		snprintf(title, sizeof(title), "%s%s", columns[i].title,
			 !is_sorted	       ? ""
			 : sort->is_descending ? "v"
					       : "^");
		if (to->width)
			top_line_add(to, TOP_HEAD, " ");
		top_line_put(to, (struct top_place){ TOP_HEAD, w->of[i], false }, title);
	}
}

static enum top_tone tone_of_cell(const struct table_cell *cell)
{
	static const enum top_tone tones[] = {
		[TONE_PLAIN] = TOP_PLAIN,
		[TONE_GOOD] = TOP_GOOD,
		[TONE_BAD] = TOP_BAD,
		[TONE_DIM] = TOP_DIM,
	};

	return cell ? tones[cell->tone] : TOP_PLAIN;
}

static void put_bar(const struct table *t, size_t row, const struct top_column *c, int width,
		    struct top_line *to)
{
	const struct table_cell *used = find_cell(t, row, c->name);
	const struct table_cell *peak = find_cell(t, row, c->peak);
	const struct top_bar bar = { used && used->have ? used->n : -1,
				     peak && peak->have ? peak->n : -1, 100 };
	char buf[TOP_BAR_MAX];

	top_line_put(to, (struct top_place){ tone_of_cell(used), width, true },
		     top_bar_cell(&bar, width, buf));
}

void top_columns_row(const struct table *t, size_t row, const struct top_column *columns,
		     const struct top_widths *w, struct top_line *to)
{
	char buf[TABLE_CELL_MAX];
	bool is_first = true;

	for (int i = 0; columns[i].name; i++) {
		const struct top_column *c = &columns[i];

		if (!w->of[i])
			continue;
		if (!is_first)
			top_line_add(to, TOP_PLAIN, " ");
		is_first = false;
		if (c->is_bar)
			put_bar(t, row, c, w->of[i], to);
		else
			top_line_put(
				to,
				(struct top_place){ tone_of_cell(find_cell(t, row, c->name)),
						    w->of[i], is_right(t, c) },
				top_column_text(t, row, c, buf));
	}
}

/* ---- sorting and filtering ---- */

static bool shows_text(const struct table *t, size_t row, const struct top_column *columns,
		       const char *filter)
{
	char buf[TABLE_CELL_MAX];

	for (const struct top_column *c = columns; c->name; c++) {
		_cleanup_free_ char *safe = NULL;

		if (c->is_bar)
			continue;
		safe = top_text_safe(top_column_text(t, row, c, buf));
		if (safe && strcasestr(safe, filter))
			return true;
	}
	return false;
}

struct sorting {
	const struct table *t;
	int column;
	bool is_descending;
};

/* Names by the numbers in them: n2 before n10. */
static int compare_cells(const struct table_cell *a, const struct table_cell *b)
{
	if (a->text && b->text)
		return strverscmp(a->text, b->text);
	return (a->n > b->n) - (a->n < b->n);
}

static int compare_rows(const void *a, const void *b, void *ctx)
{
	const struct sorting *s = ctx;
	size_t i = *(const size_t *)a, k = *(const size_t *)b;
	const struct table_cell *x = table_cell(s->t, i, s->column);
	const struct table_cell *y = table_cell(s->t, k, s->column);
	int order = 0;

	if (x->have != y->have)
		return x->have ? -1 : 1;
	if (x->have)
		order = compare_cells(x, y);
	if (order == 0)
		return (i > k) - (i < k);
	return s->is_descending ? -order : order;
}

int top_columns_arrange(struct table *t, const struct top_column *columns, const char *filter,
			const struct top_sort *sort)
{
	struct sorting s = { .t = t, .column = -1, .is_descending = sort->is_descending };
	_cleanup_free_ size_t *rows = calloc(t->n_rows + 1, sizeof(*rows));
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < t->n_rows; i++)
		if (!filter || !*filter || shows_text(t, i, columns, filter))
			rows[n++] = i;
	if (sort->column)
		s.column = table_find_column(t, sort->column, strlen(sort->column));
	if (s.column >= 0)
		qsort_r(rows, n, sizeof(*rows), compare_rows, &s);
	return table_pick(t, rows, n);
}

const char *top_columns_next(const struct top_column *columns, const struct top_widths *shown,
			     const char *name, int step)
{
	int n = 0, n_shown = 0, at = 0;

	for (; columns[n].name; n++) {
		n_shown += shown->of[n] > 0;
		if (name && !strcmp(columns[n].name, name))
			at = n;
	}
	if (n == 0)
		return NULL;
	do
		at = (at + step + n) % n;
	while (n_shown && !shown->of[at]);
	return columns[at].name;
}

int top_columns_lacks(const struct top_column *columns, const struct top_widths *shown,
		      const char *name)
{
	for (int i = 0; name && columns[i].name; i++)
		if (!strcmp(columns[i].name, name))
			return shown->of[i] == 0;
	return 0;
}

const struct top_column *top_columns_find(const struct top_column *columns, const char *name)
{
	for (const struct top_column *c = columns; c->name; c++)
		if (!strcasecmp(c->name, name) || !strcasecmp(c->title, name))
			return c;
	return NULL;
}
