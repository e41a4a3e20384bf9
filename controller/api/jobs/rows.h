/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rows - a list of jobs as packed rows under one header of columns (docs/protocol.md, "Packed rows"): thousands of jobs cost a
 * tenth of what they cost as objects with keys. */
#pragma once
#include <jansson.h>
#include "common/wire/rows/rowpack.h"
#include "controller/ledger/store.h"

struct api;

/* The names of the columns, in their order. NULL: out of memory. */
json_t *rows_columns(void);
/* Adds the values of a job, in that order; null where there is none or it is 0. -ENOMEM. */
int rows_add(const struct api *a, const struct store_job *row, struct rowpack_writer *w);
