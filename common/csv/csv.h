/* SPDX-License-Identifier: GPL-2.0-or-later */
/* csv - reads, and writes field by field, tables that people exported: RFC 4180, strictly, so that a damaged file is
 * refused with its place and not half understood.
 *
 * Fields are separated by commas and may be set in double quotes, where a comma, a line break
 * and a doubled quote are text. Lines end with LF or CRLF. A UTF-8 byte order mark at the start
 * is passed over, and so is an empty line. Blanks belong to the field. Refused, with FILE:LINE
 * (the line on which the record, or the quote, begins): NUL, a quote that is not closed or that
 * has text beside it, a CR alone, a record with more or fewer fields than the header, and one
 * of more than 1 MiB.
 */
#pragma once
#include <stdio.h>
#include "common/cleanup.h"

struct csv;
struct err;

/* "-" is standard input. -errno when it cannot be opened. */
int csv_open(const char *path, struct csv **ret, struct err *err);
struct csv *csv_close(struct csv *c);
DEFINE_CLEANUP(struct csv *, csv_close)

/* Reads the first record, once, before any csv_next(). names[] ends with NULL; each must be
 * there once and no other may be; the order is free. ret_columns[i] is the index of names[i] in
 * what csv_next() returns. -EINVAL: empty file, a name missing, unknown (with the nearest) or
 * twice. */
int csv_header(struct csv *c, const char *const *names, int *ret_columns, struct err *err);
/* The same, where only the first n_required of names[] must be there; the column of another
 * that is not is -1. */
int csv_header_some(struct csv *c, const char *const *names, int n_required, int *ret_columns,
		    struct err *err);

/* 1: a record; its fields are valid until the next call. 0: the end. -EINVAL: see above;
 * -errno: cannot be read. */
int csv_next(struct csv *c, const char *const **ret_fields, struct err *err);

/* For what a caller finds wrong in the record read last: puts "FILE:LINE: " before the words
 * and returns -EINVAL. */
int csv_error(struct csv *c, struct err *err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* The text, quoted where it needs quotes. An error of the stream stays in ferror(). */
void csv_write_field(const char *text, FILE *to);
/* Where the record read last begins, from 1. */
size_t csv_line(const struct csv *c);
