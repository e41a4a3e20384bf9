/* rows - a list of jobs as rows under one header of columns (docs/protocol.md, "GET /v1/jobs?rows=1"): thousands of jobs cost a
 * quarter of what they cost as objects with keys. */
#pragma once
#include <jansson.h>
#include "controller/ledger/store.h"

struct api;

/* The names of the columns, in their order. NULL: out of memory. */
json_t *rows_columns(void);
/* The values of a job, in that order; null where there is none. NULL: out of memory. */
json_t *rows_describe(const struct api *a, const struct store_job *row);
