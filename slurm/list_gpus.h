/* SPDX-License-Identifier: GPL-2.0-or-later */
/* list_gpus.h - run slurmd for its list of this node's GPUs. */
#pragma once
#include "common/err.h"

/* What `slurmd -G` writes, with the configuration of the Prolog's environment (SLURM_CONF, SLURMD_NODENAME); the caller frees it. Waits at most ten
 * seconds. NULL: it cannot be run, did not end, or failed; err says which. */
char *list_gpus(struct err *err);
