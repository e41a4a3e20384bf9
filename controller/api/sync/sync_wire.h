/* sync_wire - a node's sync document as plain structs. Pure but for memory. */
#pragma once
#include <jansson.h>
#include "controller/ledger/nodes/sync.h"

struct err;

/* -EINVAL names the key that is wrong ("reports[3].seq"); -ENOMEM. */
int sync_decode(const json_t *j, struct sync **ret, struct err *err);
