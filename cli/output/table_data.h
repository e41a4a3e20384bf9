/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_data - the table's data, shared by table.c, the renderers and verbs that look at cells, such as `reeve top`. */
#pragma once
#include "cli/output/table.h"

#define TABLE_COLUMNS_MAX 48
#define TABLE_MANY_ROWS 250 /* more of them are printed without libsmartcols */

struct table_cell {
	bool have;
	bool is_null; /* json says null; without `have` alone */
	enum table_cell_tone tone : 8;
	int width;	  /* of a text, on a terminal; -1: it has other than printable ASCII */
	int64_t n;	  /* of a text: its bytes */
	const char *text; /* owned by the table */
};

struct table_block;

struct table_note {
	const char *key;
	char *text; /* NULL: `value` counts */
	int64_t value;
};

struct table {
	const char *name;
	const struct table_column *columns;
	int n_columns, last_column;    /* last: the column of the cell set last */
	struct table_cell *cells;      /* row by row */
	size_t n_rows, n_totals, room; /* the totals are the last of the rows */
	/* The widest text of each column in these rows, where each is a text of printable ASCII; else less than 0. */
	int widest[TABLE_COLUMNS_MAX];
	struct table_block *texts; /* of the cells */
	bool out_of_memory;
	struct table_note notes[TABLE_NOTES_MAX];
	int n_notes;
	int64_t like; /* table_like(); 0: none */
	/* Of table_print_part(). */
	bool is_part, is_more; /* is_more: another part follows */
	size_t n_before;       /* rows of earlier parts, which are forgotten */
	int *widths; /* of the columns of the earlier parts, in the order printed; NULL: not a part */
};

/* The columns to print, in order, as indices into t->columns. */
struct table_choice {
	int column[TABLE_COLUMNS_MAX];
	int n;
};

static inline const struct table_cell *table_cell(const struct table *t, size_t row, int column)
{
	return &t->cells[row * (size_t)t->n_columns + (size_t)column];
}

/* Drops all rows. */
void table_forget(struct table *t);
/* Keeps these rows alone, each at most once, in this order; the table has no totals. -ENOMEM: the table is as it was. */
int table_pick(struct table *t, const size_t *rows, size_t n);
/* The index of the column of that name, `size` bytes long; -1: there is none. */
int table_find_column(const struct table *t, const char *name, size_t size);
/* Appends the indices of --columns LIST to *c; NULL: of all columns. -EINVAL: an unknown name; the
 * message lists those known. */
int table_choose(const struct table *t, const char *columns, struct table_choice *c,
		 struct err *err);

/* A cell without text for people: in bytes in the units of the request next to it (CELL_REQUEST, the nearest one before it, else any
 * of the row), or of table_like(). */
const char *table_format_at(const struct table *t, size_t row, int column,
			    char buf[static TABLE_CELL_MAX]);

typedef int (*table_render_fn)(const struct table *t, const struct table_choice *c,
			       const struct table_format *f, struct err *err);
/* For people: through libsmartcols; the second without it, for many rows or where no line is wider than the terminal. */
int table_render_columns(const struct table *t, const struct table_choice *c,
			 const struct table_format *f, struct err *err);
int table_render_plain(const struct table *t, const struct table_choice *c,
		       const struct table_format *f, struct err *err);
/* No terminal, or one that is wide enough for each line. */
bool table_plain_fits(const struct table *t, const struct table_choice *c,
		      const struct table_format *f);
/* For programs. */
int table_render_json(const struct table *t, const struct table_choice *c,
		      const struct table_format *f, struct err *err);
int table_render_rows(const struct table *t, const struct table_choice *c,
		      const struct table_format *f, struct err *err);

static inline bool table_column_is_right(const struct table_column *col)
{
	return col->kind != CELL_TEXT && col->kind != CELL_TIME_NS;
}
