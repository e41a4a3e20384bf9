/* sync_gpus - the GPUs that a node tells of (docs/protocol.md, sync: gpus). Pure but for
 * memory.
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/nodes/sync.h"

struct err;

#define SYNC_GPUS_MAX 64 /* devices of a node */

/* Into s->gpus, s->gpu_models, s->free_gpu_models; where the document lists devices, they
 * determine ngpus; where it does not, nothing changes. -EINVAL names the key; -ENOMEM. */
int sync_gpus_decode(const json_t *doc, struct sync *s, struct err *err);
