/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv.c - parses RFC 4180 strictly, row by row; see csv.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include "common/csv/csv.h"
#include "common/err.h"
#include "common/nearest.h"

#define RECORD_MAX (1 << 20)
#define END (-1)

struct csv {
	FILE *file;
	char *path;
	size_t line, next_line; /* of the record read last; of the byte read next */
	size_t width;		/* fields of the header; 0: not read yet */
	size_t n_read, at;
	int failed; /* errno of a read that failed */

	char *text; /* the record's fields, each with a NUL behind it */
	size_t n_text, room_text;
	const char **fields;
	size_t *starts;
	size_t n_fields, room_fields;
	unsigned char bytes[1 << 16];
};

int csv_open(const char *path, struct csv **ret, struct err *err)
{
	struct csv *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->next_line = c->line = 1;
	c->path = strdup(strcmp(path, "-") ? path : "standard input");
	c->file = strcmp(path, "-") ? fopen(path, "re") : stdin;
	r = !c->path   ? err_set(err, -ENOMEM, "out of memory")
	    : !c->file ? err_set(err, -errno, "cannot open %.300s: %m", path)
		       : 0;
	if (r < 0) {
		csv_close(c);
		return r;
	}
	*ret = c;
	return 0;
}

struct csv *csv_close(struct csv *c)
{
	if (!c)
		return NULL;
	if (c->file && c->file != stdin)
		fclose(c->file);
	free(c->path);
	free(c->text);
	free(c->fields);
	free(c->starts);
	free(c);
	return NULL;
}

size_t csv_line(const struct csv *c)
{
	return c->line;
}

int csv_error(struct csv *c, struct err *err, const char *fmt, ...)
{
	char words[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(words, sizeof(words), fmt, args);
	va_end(args);
	return err_set(err, -EINVAL, "%.200s:%zu: %s", c->path, c->line, words);
}

/* ---- bytes ---- */

/* Reads the next block. 0: the end, or a failed read, which is kept in c->failed. */
static int fill_buffer(struct csv *c)
{
	if (c->failed)
		return 0;
	c->at = 0;
	errno = 0;
	c->n_read = fread(c->bytes, 1, sizeof(c->bytes), c->file);
	if (ferror(c->file))
		c->failed = errno ? errno : EIO;
	return c->n_read > 0;
}

/* The next byte, or END; a failed read is END too and csv_next() reports it. */
static inline int get_byte(struct csv *c)
{
	if (c->at == c->n_read && !fill_buffer(c))
		return END;
	return c->bytes[c->at++];
}

/* Adds a byte to the current field; all fields of a record lie behind each other in c->text. */
static int put_byte(struct csv *c, int ch, struct err *err)
{
	char *more;
	size_t room;

	if (c->n_text == c->room_text) {
		if (c->n_text >= RECORD_MAX)
			return csv_error(c, err,
					 "the record is longer than %d bytes: is a "
					 "quote not closed?",
					 RECORD_MAX);
		room = c->room_text ? c->room_text * 2 : 256;
		more = realloc(c->text, room);
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		c->text = more;
		c->room_text = room;
	}
	c->text[c->n_text++] = (char)ch;
	return 0;
}

/* Fields are kept as offsets until the record is complete: c->text moves when it grows. */
static int begin_field(struct csv *c, struct err *err)
{
	size_t room = c->room_fields ? c->room_fields * 2 : 16, *starts;
	const char **fields;

	if (c->n_fields == c->room_fields) {
		starts = realloc(c->starts, room * sizeof(*starts));
		if (!starts)
			return err_set(err, -ENOMEM, "out of memory");
		c->starts = starts;
		fields = realloc(c->fields, room * sizeof(*fields));
		if (!fields)
			return err_set(err, -ENOMEM, "out of memory");
		c->fields = fields;
		c->room_fields = room;
	}
	c->starts[c->n_fields++] = c->n_text;
	return 0;
}

/* ---- one field: it ends with ',', '\n' or END ---- */

/* CR LF becomes '\n' in *ch; a CR alone is refused. Counts the line. */
static int end_of_line(struct csv *c, int *ch, struct err *err)
{
	if (*ch == '\r') {
		*ch = get_byte(c);
		if (*ch != '\n')
			return csv_error(c, err,
					 "a carriage return without a line feed: put the "
					 "field in quotes, or save the file with LF");
	}
	if (*ch == '\n')
		c->next_line++;
	return 0;
}

static int refuse_nul(struct csv *c, struct err *err)
{
	return csv_error(c, err, "field %zu holds a NUL byte: is this a text file (UTF-8)?",
			 c->n_fields);
}

/* A field without quotes, whose first byte is `ch`; *ret_end is what it ends with. */
static int read_plain(struct csv *c, int ch, int *ret_end, struct err *err)
{
	int r = 0;

	for (; ch != ',' && ch != '\n' && ch != '\r' && ch != END; ch = get_byte(c)) {
		if (ch == '"')
			return csv_error(c, err,
					 "field %zu has a quote within text: put the "
					 "whole field in quotes and double those in it",
					 c->n_fields);
		r = ch ? put_byte(c, ch, err) : refuse_nul(c, err);
		if (r < 0)
			return r;
	}
	*ret_end = ch;
	return end_of_line(c, ret_end, err);
}

/* After the opening quote. A line break in it counts as a line, so that the next record's number
 * is right; where the quote is not closed, the line on which it opened is reported. */
static int read_quoted(struct csv *c, int *ret_end, struct err *err)
{
	size_t begin = c->next_line;
	int r = 0, ch;

	for (;;) {
		ch = get_byte(c);
		if (ch == '"') {
			ch = get_byte(c);
			if (ch != '"')
				break;
		} else if (ch == END) {
			c->line = begin;
			return csv_error(c, err, "the quote that opens field %zu is not closed",
					 c->n_fields);
		}
		c->next_line += ch == '\n';
		r = ch ? put_byte(c, ch, err) : refuse_nul(c, err);
		if (r < 0)
			return r;
	}
	if (ch != ',' && ch != '\n' && ch != '\r' && ch != END)
		return csv_error(c, err,
				 "text behind the closing quote of field %zu: double "
				 "the quotes within it",
				 c->n_fields);
	*ret_end = ch;
	return end_of_line(c, ret_end, err);
}

/* ---- one record ---- */

/* The first byte of a record that is not empty, or END. */
static int first_byte(struct csv *c, int *ret, struct err *err)
{
	int r, ch;

	do {
		c->line = c->next_line;
		ch = get_byte(c);
		r = ch == '\n' || ch == '\r' ? end_of_line(c, &ch, err) : 0;
	} while (r == 0 && ch == '\n');
	*ret = ch;
	return r;
}

/* 1: a record, whatever its number of fields; 0: the end; < 0: refused, or a read failed. */
static int read_record(struct csv *c, struct err *err)
{
	int ch, end = ',', r;

	c->n_fields = c->n_text = 0;
	r = first_byte(c, &ch, err);
	if (r == 0 && ch == END && !c->failed)
		return 0;
	while (r == 0 && end == ',' && !c->failed) {
		if (c->n_fields)
			ch = get_byte(c);
		r = begin_field(c, err);
		if (r == 0)
			r = ch == '"' ? read_quoted(c, &end, err)
				      : read_plain(c, ch, &end, err);
		if (r == 0)
			r = put_byte(c, '\0', err);
	}
	if (c->failed)
		return err_set(err, -c->failed, "cannot read %.300s: %s", c->path,
			       strerror(c->failed));
	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n_fields; i++)
		c->fields[i] = c->text + c->starts[i];
	return 1;
}

int csv_next(struct csv *c, const char *const **ret_fields, struct err *err)
{
	int r = read_record(c, err);

	if (r <= 0)
		return r;
	if (c->n_fields != c->width)
		return csv_error(c, err, "%zu field%s, but the header names %zu", c->n_fields,
				 c->n_fields == 1 ? "" : "s", c->width);
	*ret_fields = c->fields;
	return 1;
}

/* ---- the header ---- */

/* The first field from `from` on that is `name`, or -1. */
static int find_column(const struct csv *c, const char *name, size_t from)
{
	for (size_t i = from; i < c->n_fields; i++)
		if (!strcmp(c->fields[i], name))
			return (int)i;
	return -1;
}

static int check_known(struct csv *c, const char *name, const char *const *names,
		       struct err *err)
{
	char known[256] = "";
	struct nearest near;
	size_t n = 0;

	nearest_init(&near, name);
	for (; *names; names++) {
		if (!strcmp(*names, name))
			return 0;
		nearest_offer(&near, *names);
		if (n < sizeof(known))
			n += (size_t)snprintf(known + n, sizeof(known) - n, "%s%s",
					      n ? "," : "", *names);
	}
	if (nearest_word(&near))
		return csv_error(c, err, "unknown column '%.64s'; did you mean '%s'?", name,
				 nearest_word(&near));
	return csv_error(c, err, "unknown column '%.64s'; the columns are %s", name, known);
}

/* A UTF-8 byte order mark, as spreadsheets write it. */
static void skip_mark(struct csv *c)
{
	if (c->at == c->n_read && fill_buffer(c) && c->n_read >= 3 &&
	    !memcmp(c->bytes, "\xef\xbb\xbf", 3))
		c->at = 3;
}

int csv_header_some(struct csv *c, const char *const *names, int n_required, int *ret_columns,
		    struct err *err)
{
	int r;

	skip_mark(c);
	r = read_record(c, err);
	if (r < 0)
		return r;
	if (r == 0)
		return csv_error(c, err,
				 "the file is empty: its first line must name the "
				 "columns");
	for (size_t i = 0; i < c->n_fields; i++) {
		if (find_column(c, c->fields[i], i + 1) >= 0)
			return csv_error(c, err, "column '%.64s' is named twice", c->fields[i]);
		r = check_known(c, c->fields[i], names, err);
		if (r < 0)
			return r;
	}
	for (int i = 0; names[i]; i++) {
		ret_columns[i] = find_column(c, names[i], 0);
		if (ret_columns[i] < 0 && i < n_required)
			return csv_error(c, err, "column '%s' is missing from the first line",
					 names[i]);
	}
	c->width = c->n_fields;
	return 0;
}

int csv_header(struct csv *c, const char *const *names, int *ret_columns, struct err *err)
{
	int n = 0;

	while (names[n])
		n++;
	return csv_header_some(c, names, n, ret_columns, err);
}
