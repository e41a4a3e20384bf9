/* SPDX-License-Identifier: GPL-2.0-or-later */
/* table.c - fills a table: rows, cells, totals, notes; see table.h. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <string.h>
#include "cli/output/decimal.h"
#include "cli/output/table_data.h"
#include "common/err.h"

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

/* Texts of cells stand behind each other in blocks: one strdup() and free() for each took a third of a long list's time. */
#define BLOCK_SIZE 65536
struct table_block {
	struct table_block *next; /* filled before */
	size_t used, size;
	char bytes[];
};

static struct table_block *add_block(struct table *t, size_t n)
{
	size_t size = n > BLOCK_SIZE ? n : BLOCK_SIZE;
	struct table_block *b = malloc(sizeof(*b) + size);

	if (!b)
		return NULL;
	*b = (struct table_block){ .next = t->texts, .size = size };
	return t->texts = b;
}

/* A copy, ended by NUL, that lasts as long as the rows. NULL: out of memory. */
static char *keep_text(struct table *t, const char *text, size_t size)
{
	size_t n = size + 1;
	struct table_block *b = t->texts;
	char *to;

	if (!b || b->size - b->used < n)
		b = add_block(t, n);
	if (!b)
		return NULL;
	to = memcpy(b->bytes + b->used, text, size);
	to[size] = '\0';
	b->used += n;
	return to;
}

static void free_blocks(struct table *t)
{
	struct table_block *next;

	for (struct table_block *b = t->texts; b; b = next) {
		next = b->next;
		free(b);
	}
	t->texts = NULL;
}

void table_forget(struct table *t)
{
	free_blocks(t);
	memset(t->widest, 0, sizeof(t->widest));
	t->n_rows = t->n_totals = 0;
}

struct table *table_free(struct table *t)
{
	if (!t)
		return NULL;
	table_forget(t);
	free(t->cells);
	for (int i = 0; i < t->n_notes; i++)
		free(t->notes[i].text);
	free(t->widths);
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

void table_like(struct table *t, int64_t bytes)
{
	t->like = bytes;
}

/* The new cells are unset. Without memory the row is not added, and table_print() reports it. */
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

int table_find_column(const struct table *t, const char *name, size_t size)
{
	for (int i = 0; i < t->n_columns; i++)
		if (strlen(t->columns[i].name) == size &&
		    !strncmp(t->columns[i].name, name, size))
			return i;
	return -1;
}

/* Verbs often pass the column's own text (the same pointer), in the order of the table: pointers
 * are compared first, since comparing letters took longer than printing. */
static int find_cell_column(struct table *t, const char *name)
{
	for (int i = 0, at = t->last_column + 1; i < t->n_columns; i++, at++) {
		at = at < t->n_columns ? at : 0;
		if (t->columns[at].name == name)
			return t->last_column = at;
	}
	return table_find_column(t, name, strlen(name));
}

/* NULL: no such column, no row yet, or no memory; the caller then sets nothing. The column becomes as wide as `width`, a text's;
 * -1: another kind of cell. */
static struct table_cell *last_cell(struct table *t, const char *column, int width)
{
	int i = find_cell_column(t, column);

	if (i < 0 || !t->n_rows || t->out_of_memory)
		return NULL;
	if (width < 0)
		t->widest[i] = -1;
	else if (t->widest[i] >= 0 && width > t->widest[i])
		t->widest[i] = width;
	return &t->cells[(t->n_rows - 1) * (size_t)t->n_columns + (size_t)i];
}

void table_int(struct table *t, const char *column, int64_t value)
{
	struct table_cell *c = last_cell(t, column, -1);

	if (!c)
		return;
	c->have = true;
	c->n = value;
}

/* Width on a terminal. -1: it has other than printable ASCII. */
static int ascii_width(const char *text, size_t size)
{
	unsigned char others = 0;

	for (size_t i = 0; i < size; i++)
		others |= (unsigned char)(text[i] - ' ') > '~' - ' ';
	return others || size > INT_MAX ? -1 : (int)size;
}

static void set_text(struct table *t, const char *column, const char *text, size_t size,
		     int width)
{
	struct table_cell *c = last_cell(t, column, width);

	if (!c)
		return;
	c->width = width;
	c->n = (int64_t)size;
	c->text = keep_text(t, text, size);
	c->have = c->text != NULL;
	t->out_of_memory |= !c->text;
}

void table_text_n(struct table *t, const char *column, const char *text, size_t size)
{
	if (text)
		set_text(t, column, text, size, ascii_width(text, size));
}

void table_text(struct table *t, const char *column, const char *text)
{
	if (text)
		table_text_n(t, column, text, strlen(text));
}

void table_decimal(struct table *t, const char *column, int decimals, double value)
{
	char text[TABLE_CELL_MAX] = "inf";
	int n = 3;

	if (isnan(value))
		return;
	/* The largest usage of `reeve fairshare` has 39 digits before the point. */
	if (!isinf(value))
		n = decimal_format(value, decimals, text);
	if (n < 0)
		n = snprintf(text, sizeof(text), "%.*f", decimals, value);
	if (n >= (int)sizeof(text)) /* no figure of Reeve's */
		n = snprintf(text, sizeof(text), "%.*e", decimals, value);
	set_text(t, column, text, (size_t)n, n);
}

void table_null(struct table *t, const char *column)
{
	struct table_cell *c = last_cell(t, column, 0);

	if (c)
		c->is_null = true;
}

void table_total(struct table *t)
{
	size_t before = t->n_rows;

	table_row(t);
	t->n_totals += t->n_rows - before;
}

int table_pick(struct table *t, const size_t *rows, size_t n)
{
	size_t size = (size_t)t->n_columns;
	struct table_cell *picked = calloc(n * size + 1, sizeof(*picked));

	if (!picked)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		struct table_cell *from = &t->cells[rows[i] * size];

		memcpy(&picked[i * size], from, size * sizeof(*from));
	}
	free(t->cells);
	for (int i = 0; i < t->n_columns; i++)
		t->widest[i] = -1; /* it may not be among those kept */
	t->cells = picked;
	t->n_rows = t->room = n;
	return 0;
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
	int i = table_find_column(t, column, strlen(column));
	const struct table_cell *c;

	for (size_t row = 0; i >= 0 && row < t->n_rows; row++) {
		c = table_cell(t, row, i);
		if (c->have && (want == TABLE_SET || !is_zero(c)))
			return true;
	}
	return false;
}

void table_tone(struct table *t, const char *column, enum table_cell_tone tone)
{
	struct table_cell *c = last_cell(t, column, 0);

	if (c)
		c->tone = tone;
}
