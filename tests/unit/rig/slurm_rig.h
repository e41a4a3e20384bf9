/* slurm_rig - rows of Slurm's jobs, as the unit tests of the ledger send them. */
#pragma once
#include "common/wire/slurm_batch.h"
#include "tests/unit/rig/ledger_rig.h"

#define NOON_S (NOON / S_NS)

/* alice's job of 2 cores on m1, submitted a second before it started. Times: seconds after noon; end_s 0: not ended. */
struct slurm_batch_job rig_slurm_row(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s);
