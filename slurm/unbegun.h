/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unbegun - the mark of a job that no agent has taken when it began on this node (common/wire/slurm.h). */
#pragma once
#include <stdint.h>
#include "common/err.h"

/* `what`: SLURM_UNANSWERED or SLURM_BEGIN_REFUSED. `socket_path`: of the agent, beside which the mark is made; -errno where that
 * directory does not exist: no agent was ever there. */
int unbegun_mark(const char *socket_path, uint32_t job, char what, struct err *err);
/* Also of a job that has none. */
void unbegun_clear(const char *socket_path, uint32_t job);
