/* sync_part - what a node is told of its part of a job on several. */
#pragma once
#include "controller/api/call.h"

/* The request as a node gets it: array_task_request(); of a job on several nodes with the amounts
 * of the node's part, and `part`. Parts other than the first run no command: they get none, and
 * no output. NULL: no memory, or not readable. */
json_t *sync_part_request(const struct store_desired *g);
