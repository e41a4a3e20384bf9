/* sync_steps - steps in the exchange with a node (docs/protocol.md, Steps): those that it
 * reports, and those that it should run or end.
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/steps/steps.h"

struct err;

#define SYNC_STEPS_MAX 100000

/* Into s->steps; pure but for memory. Absent: none. -EINVAL names the key; -ENOMEM. */
int sync_steps_decode(const json_t *doc, struct sync *s, struct err *err);

/* Appends to `to` the steps that the node which sent `in` should run or end. What it has not
 * carried out yet is mixed into *digest. */
int sync_steps_tell(struct store *s, const struct sync *in, json_t *to, uint64_t *digest,
		    struct err *err);
/* NULL: no memory. */
json_t *sync_steps_acks(const struct sync_result *r);
