/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows_csv - the rows of a document of the API as CSV: its first list of objects, one line each. */
#pragma once
#include <jansson.h>
#include <stddef.h>

struct err;

/* The columns are the scalars of the rows, in the order in which they first come; members of an object in a row are
 * "object.member". Null and absent are an empty field. A document without a list of objects is one row.
 * *ret is malloc()ed. */
int rows_csv_format(const json_t *doc, char **ret, size_t *ret_size, struct err *err);
