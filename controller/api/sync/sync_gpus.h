/* sync_gpus - the GPUs that a node tells of (docs/protocol.md, sync: gpus). Pure but for
 * memory.
 */
#pragma once
#include <jansson.h>
#include "controller/ledger/nodes/sync.h"

struct err;

#define SYNC_GPUS_MAX 64 /* devices of a node */

/* Into s->gpus, s->gpu_models, s->free_gpu_models; where devices are told they say what ngpus
 * is. Nothing told: as it was. -EINVAL names the key; -ENOMEM. */
int sync_gpus_decode(const json_t *doc, struct sync *s, struct err *err);
