/* gpus - which of a cluster's GPUs a request means. */
#pragma once
#include "controller/api/call.h"

/* A model without its size becomes the only one there is: of the nodes' models, or where no
 * node tells any, of those that the configuration weighs. Refuses what is not there. */
int gpus_choose(struct call *c, struct request *q, struct err *err);
