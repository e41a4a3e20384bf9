/* SPDX-License-Identifier: GPL-2.0-or-later */
/* encode.c - rows as lines of COPY's text format, byte for byte as PostgreSQL writes them: fields with tabs
 * between them, \N for NULL, control characters and backslashes escaped, blobs in hex. Compares and shows
 * the keys of such lines. See migrate_impl.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/utf8.h"
#include "controller/ledger/migrate/migrate_impl.h"

/* The letter behind the backslash; 0: the character stands for itself. */
static char escape_of(char c)
{
	switch (c) {
	case '\b':
		return 'b';
	case '\f':
		return 'f';
	case '\n':
		return 'n';
	case '\r':
		return 'r';
	case '\t':
		return 't';
	case '\v':
		return 'v';
	case '\\':
		return '\\';
	default:
		return 0;
	}
}

static int add_text(struct migrate_buffer *to, const char *text, struct err *err)
{
	int r = 0;

	while (*text && r >= 0) {
		size_t n = strcspn(text, "\b\f\n\r\t\v\\");
		char escaped[2] = { '\\', escape_of(text[n]) };

		r = migrate_buffer_add(to, text, n, err);
		if (r >= 0 && text[n])
			r = migrate_buffer_add(to, escaped, 2, err);
		text += n + (text[n] != '\0');
	}
	return r;
}

/* bytea as COPY writes it: "\\x" is the escape of "\x". */
static int add_hex(struct migrate_buffer *to, const unsigned char *data, size_t n,
		   struct err *err)
{
	static const char digits[] = "0123456789abcdef";
	int r = migrate_buffer_add(to, "\\\\x", 3, err);

	for (size_t i = 0; i < n && r >= 0; i++) {
		const char pair[2] = { digits[data[i] >> 4], digits[data[i] & 15] };

		r = migrate_buffer_add(to, pair, 2, err);
	}
	return r;
}

/* PostgreSQL stores neither a NUL nor bytes that are no UTF-8. */
static int check_text(const struct db_row *row, int column, const char *text)
{
	size_t size;

	db_blob(row, column, &size);
	return strlen(text) == size && utf8_is_valid(text) ? 0 : -EBADMSG;
}

static int add_field(const struct migrate_table *t, const struct db_row *row, int column,
		     struct migrate_buffer *to, struct err *err)
{
	char number[24];
	const void *data;
	size_t size;

	if (db_is_null(row, column))
		return migrate_buffer_add(to, "\\N", 2, err);
	if (t->columns[column].type == MIGRATE_INT) {
		size = (size_t)snprintf(number, sizeof(number), "%" PRId64,
					db_int(row, column));
		return migrate_buffer_add(to, number, size, err);
	}
	if (t->columns[column].type == MIGRATE_BLOB) {
		data = db_blob(row, column, &size);
		return add_hex(to, data, size, err);
	}
	data = db_text(row, column);
	if (check_text(row, column, data) < 0)
		return err_set(err, -EBADMSG,
			       "column %s has bytes that PostgreSQL cannot store in a text (a "
			       "NUL, or no UTF-8)",
			       t->columns[column].name);
	return add_text(to, data, err);
}

/* Puts the row's key before a message about a field. */
static int name_row(const struct migrate_table *t, const struct db_row *row, int r,
		    struct err *err)
{
	char key[256] = "";
	size_t n = 0;

	for (int i = 0; i < t->n_key && n < sizeof(key); i++) {
		const char *text = db_text(row, t->key[i]);

		n += (size_t)snprintf(key + n, sizeof(key) - n, "%s%s=%.60s", i ? ", " : "",
				      t->columns[t->key[i]].name, text ? text : "NULL");
	}
	utf8_clean(key);
	return err_prefix(err, r, "table %s, row %s", t->name, key);
}

int migrate_encode(const struct migrate_table *t, const struct db_row *row,
		   struct migrate_buffer *to, struct err *err)
{
	int r = 0;

	for (int i = 0; i < t->n_columns && r >= 0; i++) {
		if (i)
			r = migrate_buffer_add(to, "\t", 1, err);
		if (r >= 0)
			r = add_field(t, row, i, to, err);
	}
	if (r == -EBADMSG)
		return name_row(t, row, r, err);
	return r < 0 ? r : migrate_buffer_add(to, "\n", 1, err);
}

const char *migrate_field(const char *line, int column, size_t *ret_size)
{
	for (; column > 0; column--)
		line += strcspn(line, "\t\n") + 1;
	*ret_size = strcspn(line, "\t\n");
	return line;
}

int migrate_format_key(const struct migrate_table *t, const char *line, char **ret,
		       struct err *err)
{
	size_t size;
	FILE *to = open_memstream(ret, &size);

	for (int i = 0; to && i < t->n_key; i++) {
		const char *field = migrate_field(line, t->key[i], &size);

		fprintf(to, "%s%s=%.*s", i ? ", " : "", t->columns[t->key[i]].name, (int)size,
			field);
	}
	return to && fclose(to) == 0 ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* The next character of a field, its escape resolved; -1 at the end. */
static int next_char(const char **at, const char *end)
{
	static const char letters[] = "bfnrtv\\", chars[] = "\b\f\n\r\t\v\\";
	const char *letter;

	if (*at == end)
		return -1;
	if (**at != '\\' || *at + 1 == end)
		return (unsigned char)*(*at)++;
	letter = strchr(letters, (*at)[1]);
	*at += 2;
	return letter && *letter ? (unsigned char)chars[letter - letters] : '\\';
}

static int compare_texts(const char *a, size_t n_a, const char *b, size_t n_b)
{
	const char *end_a = a + n_a, *end_b = b + n_b;
	int x, y;

	do {
		x = next_char(&a, end_a);
		y = next_char(&b, end_b);
	} while (x == y && x >= 0);
	return x - y;
}

/* Texts by bytes, since both databases compare them so: SQLite by memcmp(), PostgreSQL with the collation "C"
 * of the ledger's columns. */
int migrate_compare_keys(const struct migrate_table *t, const char *a, const char *b)
{
	for (int i = 0; i < t->n_key; i++) {
		size_t n_a, n_b;
		const char *x = migrate_field(a, t->key[i], &n_a),
			   *y = migrate_field(b, t->key[i], &n_b);
		int64_t v = strtoll(x, NULL, 10), w = strtoll(y, NULL, 10);
		int order = t->columns[t->key[i]].type == MIGRATE_INT
				    ? (v > w) - (v < w)
				    : compare_texts(x, n_a, y, n_b);

		if (order)
			return order;
	}
	return 0;
}
