/* SPDX-License-Identifier: GPL-2.0-or-later */
/* protocol.h - what slurmd's and slurmstepd's plugin asks of the agent (common/wire/slurm.h), at slurm.sock. */
#pragma once
#include "agent/foreign/server.h"

extern const struct foreign_protocol slurm_protocol;
