/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table_print.c - prints a table: chooses its columns and the renderer of --output; see table.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "cli/output/table_data.h"
#include "common/err.h"
#include "common/nearest.h"

#define LISTED_MAX 400 /* bytes of an error message for the list of columns */

/* "job, name, user" */
static void list_columns(const struct table *t, char known[static LISTED_MAX])
{
	static const char rest[] = ", ... ('-o help' lists all)";
	size_t n = 0, size;

	known[0] = '\0';
	for (int i = 0; i < t->n_columns; i++) {
		size = strlen(t->columns[i].name);
		if (n + 2 + size + sizeof(rest) > LISTED_MAX) {
			strcpy(known + n, rest);
			return;
		}
		n += (size_t)sprintf(known + n, "%s%s", i ? ", " : "", t->columns[i].name);
	}
}

static int unknown_column(const struct table *t, const char *name, int size, struct err *err)
{
	char known[LISTED_MAX], typed[48];
	struct nearest near;

	snprintf(typed, sizeof(typed), "%.*s", size, name);
	nearest_init(&near, typed);
	for (int i = 0; i < t->n_columns; i++)
		nearest_offer(&near, t->columns[i].name);
	list_columns(t, known);
	if (nearest_word(&near))
		return err_set(err, -EINVAL,
			       "unknown column '%s'; did you mean '%s'? Known: %s", typed,
			       nearest_word(&near), known);
	return err_set(err, -EINVAL, "unknown column '%s'; known are: %s", typed, known);
}

/* -o help: prints every column with its title. */
static int print_columns(const struct table *t, const struct table_format *f, struct err *err)
{
	static const struct table_column columns[] = {
		{ "column", "COLUMN", CELL_TEXT },
		{ "title", "TITLE", CELL_TEXT },
		{ 0 },
	};
	_cleanup_(table_freep) struct table *list = NULL;
	struct table_format whole = *f;
	int r = table_new("columns", columns, &list, err);

	for (int i = 0; i < t->n_columns && r == 0; i++) {
		table_row(list);
		table_text(list, "column", t->columns[i].name);
		table_text(list, "title",
			   t->columns[i].title + (t->columns[i].title[0] == '-'));
	}
	whole.columns = NULL;
	return r < 0 ? r : table_print(list, &whole, err);
}

int table_choose(const struct table *t, const char *columns, struct table_choice *c,
		 struct err *err)
{
	size_t n;
	int i;

	if (!columns) {
		for (i = 0; i < t->n_columns; i++)
			c->column[c->n++] = i;
		return 0;
	}
	for (;; columns += n + 1) {
		n = strcspn(columns, ",");
		i = table_find_column(t, columns, n);
		if (i < 0)
			return unknown_column(t, columns, (int)n, err);
		if (c->n == TABLE_COLUMNS_MAX)
			return err_set(err, -EINVAL, "more than %d columns", TABLE_COLUMNS_MAX);
		c->column[c->n++] = i;
		if (!columns[n])
			return 0;
	}
}

/* People see the columns whose title has no leading "-"; programs get all. */
static void drop_untitled(const struct table *t, struct table_choice *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (t->columns[c->column[i]].title[0] != '-')
			c->column[n++] = c->column[i];
	c->n = n;
}

/* libsmartcols fits lines to a terminal, but is slow for many rows, and takes long to load for few. */
static table_render_fn choose_renderer(const struct table *t, const struct table_choice *c,
				       const struct table_format *f)
{
	static const table_render_fn renderers[_TABLE_OUTPUT_MAX] = {
		[TABLE_TABLE] = table_render_columns, [TABLE_JSON] = table_render_json,
		[TABLE_CSV] = table_render_rows,      [TABLE_RAW] = table_render_rows,
		[TABLE_PARSABLE] = table_render_rows, [TABLE_PARSABLE2] = table_render_rows,
	};

	if (f->output == TABLE_TABLE &&
	    (t->n_rows > TABLE_MANY_ROWS || t->is_part || table_plain_fits(t, c, f)))
		return table_render_plain;
	return renderers[f->output];
}

int table_print(const struct table *t, const struct table_format *f, struct err *err)
{
	struct table_choice c = { .n = 0 };
	int r;

	if (t->out_of_memory)
		return err_set(err, -ENOMEM, "out of memory");
	if (f->columns && !strcmp(f->columns, "help"))
		return print_columns(t, f, err);
	r = table_choose(t, f->columns, &c, err);
	if (r < 0)
		return r;
	if (f->output == TABLE_TABLE && !t->n_rows && !t->is_part)
		return 0;
	if (!f->columns && f->output == TABLE_TABLE)
		drop_untitled(t, &c);
	return choose_renderer(t, &c, f)(t, &c, f, err);
}

int table_print_part(struct table *t, const struct table_format *f, enum table_rest rest,
		     struct err *err)
{
	size_t n = t->n_rows;
	int r;

	if (!t->widths)
		t->widths = calloc(TABLE_COLUMNS_MAX, sizeof(*t->widths));
	if (!t->widths)
		return err_set(err, -ENOMEM, "out of memory");
	t->is_part = true;
	t->is_more = rest == TABLE_MORE;
	r = table_print(t, f, err);
	table_forget(t);
	t->n_before += n;
	return r;
}
