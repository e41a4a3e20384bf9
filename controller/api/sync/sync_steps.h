/* sync_steps - steps in the exchange with a node (docs/protocol.md, Steps): what it says of
 * them, and what it is told.
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/steps/steps.h"

struct err;

#define SYNC_STEPS_MAX 100000

/* Into s->steps; pure but for memory. Nothing told: none. -EINVAL names the key; -ENOMEM. */
int sync_steps_decode(const json_t *doc, struct sync *s, struct err *err);

/* What is wanted of the steps of the node that said `in`: into `to` (an array; NULL: only
 * look). What the node still has to do is mixed into *digest. */
int sync_steps_tell(struct store *s, const struct sync *in, json_t *to, uint64_t *digest,
		    struct err *err);
/* NULL: no memory. */
json_t *sync_steps_acks(const struct sync_result *r);
