/* table.c - see table.h: filling a table and choosing its columns. */
#include <errno.h>
#include <string.h>
#include "cli/output/table_data.h"
#include "common/err.h"
#include "common/nearest.h"

int table_new(const char *name, const struct table_column *columns, struct table **ret,
	      struct err *err)
{
	struct table *t = calloc(1, sizeof(*t));

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	t->name = name;
	t->columns = columns;
	while (columns[t->n_columns].name && t->n_columns < TABLE_COLUMNS_MAX)
		t->n_columns++;
	*ret = t;
	return 0;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	for (size_t i = 0; i < t->n_rows * (size_t)t->n_columns; i++)
		free(t->cells[i].text);
	free(t->cells);
	for (int i = 0; i < t->n_notes; i++)
		free(t->notes[i].text);
	free(t);
	return NULL;
}

void table_note(struct table *t, const char *key, const char *text)
{
	struct table_note *n = &t->notes[t->n_notes];

	if (t->n_notes == TABLE_NOTES_MAX)
		return;
	*n = (struct table_note){ .key = key, .text = strdup(text) };
	t->n_notes++;
	t->out_of_memory = t->out_of_memory || !n->text;
}

void table_note_int(struct table *t, const char *key, int64_t value)
{
	if (t->n_notes < TABLE_NOTES_MAX)
		t->notes[t->n_notes++] = (struct table_note){ .key = key, .value = value };
}

void table_row(struct table *t)
{
	size_t n = (size_t)t->n_columns, room;
	struct table_cell *more;

	if (t->n_rows == t->room) {
		room = t->room ? t->room * 2 : 16;
		more = realloc(t->cells, room * n * sizeof(*more));
		if (!more) {
			t->out_of_memory = true;
			return;
		}
		t->cells = more;
		t->room = room;
	}
	memset(&t->cells[t->n_rows * n], 0, n * sizeof(*t->cells));
	t->n_rows++;
}

static int find_column(const struct table *t, const char *name, size_t size)
{
	for (int i = 0; i < t->n_columns; i++)
		if (strlen(t->columns[i].name) == size &&
		    !strncmp(t->columns[i].name, name, size))
			return i;
	return -1;
}

/* Verbs name columns by the very texts of the table, and often in its order: then nothing is
 * compared letter by letter, which took longer than printing. */
static int same_column(struct table *t, const char *name)
{
	for (int i = 0, at = t->last_column; i < t->n_columns; i++, at++) {
		at = at < t->n_columns ? at : 0;
		if (t->columns[at].name == name)
			return t->last_column = at;
	}
	return find_column(t, name, strlen(name));
}

static struct table_cell *last_cell(struct table *t, const char *column)
{
	int i = same_column(t, column);

	if (i < 0 || !t->n_rows || t->out_of_memory)
		return NULL;
	return &t->cells[(t->n_rows - 1) * (size_t)t->n_columns + (size_t)i];
}

void table_int(struct table *t, const char *column, int64_t value)
{
	struct table_cell *c = last_cell(t, column);

	if (!c)
		return;
	c->have = true;
	c->n = value;
}

void table_text(struct table *t, const char *column, const char *text)
{
	struct table_cell *c = last_cell(t, column);

	if (!c || !text)
		return;
	free(c->text);
	c->text = strdup(text);
	c->have = c->text != NULL;
	t->out_of_memory |= !c->text;
}

void table_null(struct table *t, const char *column)
{
	struct table_cell *c = last_cell(t, column);

	if (c)
		c->is_null = true;
}

void table_total(struct table *t)
{
	size_t before = t->n_rows;

	table_row(t);
	t->n_totals += t->n_rows - before;
}

size_t table_size(const struct table *t)
{
	return t->n_rows - t->n_totals;
}

static bool is_zero(const struct table_cell *c)
{
	return c->text ? !strpbrk(c->text, "123456789") : c->n == 0;
}

bool table_has(const struct table *t, const char *column, enum table_want want)
{
	int i = find_column(t, column, strlen(column));
	const struct table_cell *c;

	for (size_t row = 0; i >= 0 && row < t->n_rows; row++) {
		c = table_cell(t, row, i);
		if (c->have && (want == TABLE_SET || !is_zero(c)))
			return true;
	}
	return false;
}

void table_tone(struct table *t, const char *column, enum cell_tone tone)
{
	struct table_cell *c = last_cell(t, column);

	if (c)
		c->tone = tone;
}

#define LISTED_MAX 400 /* of a message's room */

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

/* What -o help prints: every column, and what heads it for people. */
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
		i = find_column(t, columns, n);
		if (i < 0)
			return unknown_column(t, columns, (int)n, err);
		if (c->n == TABLE_COLUMNS_MAX)
			return err_set(err, -EINVAL, "more than %d columns", TABLE_COLUMNS_MAX);
		c->column[c->n++] = i;
		if (!columns[n])
			return 0;
	}
}

/* People see the usual columns; programs get all. */
static void drop_untitled(const struct table *t, struct table_choice *c)
{
	int n = 0;

	for (int i = 0; i < c->n; i++)
		if (t->columns[c->column[i]].title[0] != '-')
			c->column[n++] = c->column[i];
	c->n = n;
}

/* libsmartcols fits lines to a terminal, and takes long for many. */
static table_render_fn renderer_of(const struct table *t, const struct table_format *f)
{
	static const table_render_fn renderers[_TABLE_OUTPUT_MAX] = {
		[TABLE_TABLE] = table_render_columns, [TABLE_JSON] = table_render_json,
		[TABLE_CSV] = table_render_rows,      [TABLE_RAW] = table_render_rows,
		[TABLE_PARSABLE] = table_render_rows, [TABLE_PARSABLE2] = table_render_rows,
	};

	if (f->output == TABLE_TABLE && t->n_rows > TABLE_MANY_ROWS)
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
	if (!f->columns && f->output == TABLE_TABLE)
		drop_untitled(t, &c);
	return renderer_of(t, f)(t, &c, f, err);
}
