/* SPDX-License-Identifier: GPL-2.0-or-later */
/* columns - the columns of a list on the screen: which fit, how wide each is, and what their cells show. Pure.
 *
 * The rows are those of a struct table (output/table.h), of which a list shows some columns; a bar stands for a
 * percentage.
 */
#pragma once
#include "cli/output/table.h"
#include "cli/top/draw/line.h"

/* Lists end with a column without a name. */
struct top_column {
	const char *name, *title; /* name: of the table */
	int min, max; /* width; a column takes what its widest cell needs, between these */
	int rank; /* where there is no room, the column of the largest rank is left out first; 0: never. A column in which no row has a
			     value is left out too, but for those of rank 0. */
	bool is_bar;	  /* the cell is a percentage */
	const char *peak; /* of a bar: the column of the peak's percentage, or NULL */
};
#define TOP_COLUMNS_MAX 24

/* What the cell shows, unescaped; "-": not measured. The text belongs to the table or is buf. */
const char *top_column_text(const struct table *t, size_t row, const struct top_column *c,
			    char buf[static TABLE_CELL_MAX]);

struct top_widths {
	int of[TOP_COLUMNS_MAX]; /* 0: left out */
};
/* The widths for a screen: with a blank between, their sum is at most `width`. What is left over goes to the bars, then to
 * the last column of text. `width` 0: no limit, each as wide as its cells. */
void top_columns_fit(const struct table *t, const struct top_column *columns, int width,
		     struct top_widths *ret);

/* The titles; the one that the rows are sorted by ends with '^' (ascending) or 'v'. */
struct top_sort {
	const char *column; /* of the table */
	bool is_descending;
};
void top_columns_head(const struct top_column *columns, const struct top_widths *w,
		      const struct top_sort *sort, struct top_line *to);
void top_columns_row(const struct table *t, size_t row, const struct top_column *columns,
		     const struct top_widths *w, struct top_line *to);

/* Keeps the rows in which a column that is no bar shows `filter` (any case; NULL or "": all), sorted; rows that are equal
 * keep their order, and those without a value come last either way. -ENOMEM. */
int top_columns_arrange(struct table *t, const struct top_column *columns, const char *filter,
			const struct top_sort *sort);
/* The next column after `name` (step 1) or before it (-1) that is shown, around the ends; `shown` has none: of all. */
const char *top_columns_next(const struct top_column *columns, const struct top_widths *shown,
			     const char *name, int step);
/* 1: the column of that name is left out. */
int top_columns_lacks(const struct top_column *columns, const struct top_widths *shown,
		      const char *name);
/* Of that name or title, any case; NULL: there is none. */
const struct top_column *top_columns_find(const struct top_column *columns, const char *name);
