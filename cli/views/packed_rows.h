/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed_rows - reads the rows of an answer that come as packed values behind the names of their columns (docs/protocol.md, "Packed
 * rows"). */
#pragma once
#include <jansson.h>
#include "common/wire/rows/rowpack.h"

#define PACKED_COLUMNS_MAX 64

struct packed_rows {
	struct rowpack_reader from; /* borrows the answer */
	size_t n_columns;
	size_t cell
		[PACKED_COLUMNS_MAX]; /* of a column: the index of its key; SIZE_MAX: not asked for, and passed over */
};

/* `keys` are the n columns that the caller reads. -EPROTO: the answer has no packed rows, or lacks a column; err names it. */
int packed_rows_open(const json_t *answer, const char *const *keys, size_t n,
		     struct packed_rows *ret, struct err *err);
/* 1: cells[i] is the value of keys[i]. 0: there are no more rows. -EPROTO. */
int packed_rows_next(struct packed_rows *r, struct rowpack_value *cells, struct err *err);
