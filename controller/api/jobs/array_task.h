/* element - arrays and their elements, as calls name them and as nodes get them. */
#pragma once
#include "controller/api/call.h"

/* The call names an element: c->id becomes its number. Where something is to be done to it, it
 * gets its row; where it is only looked at and has none, c->id stays its array's. -ENOENT: no
 * such element, or not the caller's; refused: it was cancelled before it had a row. */
int array_task_find(struct call *c, struct err *err);

/* The request as a node gets it; of an element, with its index in the environment
 * (REEVE_ARRAY_JOB, REEVE_ARRAY_INDEX, and as PBS calls them) and output files of its own.
 * NULL: no memory, or not readable. */
json_t *array_task_request(const struct store_desired *g);
