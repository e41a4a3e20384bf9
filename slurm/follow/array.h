/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array - how many tasks an array of Slurm has. Pure; usable beside <slurm/slurm.h>. */
#pragma once
#include "common/wire/slurm_pending.h"

/* Of "0-9:2%3,15", at most SLURM_PENDING_TASKS_MAX; indices that are named twice count twice. What is no array is Slurm's to refuse: 1. */
int64_t array_count_tasks(const char *text);
