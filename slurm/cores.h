/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cores.h - SLURM_JOB_CPUS_PER_NODE of Slurm's Prolog: how many cores the job has on each of its nodes. Pure. */
#pragma once
#include <stdint.h>

struct cores {
	uint32_t here;	/* on the node of that index */
	uint32_t total; /* on all nodes */
	uint32_t nodes;
};

/* `text` counts equal neighbours, as in "16(x3),8". -EINVAL: it is no such list, has no node of that index, or the sum is above
 * CORES_MAX. */
#define CORES_MAX (1u << 20) /* as sync documents have them (common/wire/sync.c) */
int cores_read(const char *text, uint32_t index, struct cores *ret);
