/* slurm_rig - see slurm_rig.h. */
#include "tests/unit/rig/slurm_rig.h"

struct slurm_batch_job rig_slurm_row(int64_t id, enum slurm_batch_state state, int64_t start_s,
				     int64_t end_s)
{
	struct slurm_batch_job j = { .job = id,
				     .uid = 1001,
				     .state = state,
				     .user = "alice",
				     .account = "physics",
				     .queue = "batch",
				     .name = "run",
				     .nodes = "m1",
				     .node = "m1",
				     .ncpus = 2,
				     .n_nodes = 1,
				     .submit_s = NOON_S + start_s - 1,
				     .start_s = NOON_S + start_s,
				     .end_s = end_s ? NOON_S + end_s : 0,
				     .array_task = SLURM_BATCH_NO_TASK };

	return j;
}
