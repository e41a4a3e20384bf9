/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_submit.c - the fields of a submission to Slurm and of its answer; see slurm_submit.h. */
#include "common/wire/slurm_submit.h"

const char *slurm_submit_verdict_name(int v)
{
	static const char *const names[] = { "accept", "move", "refuse" };

	_Static_assert(ARRAY_LEN(names) == _SLURM_SUBMIT_VERDICT_MAX,
		       "a name for each verdict");
	return v >= 0 && v < _SLURM_SUBMIT_VERDICT_MAX ? names[v] : NULL;
}

#define COUNT(field, most) WIRE_INT_OR(struct slurm_submit, field, 0, most, 0, WIRE_OPTIONAL)
const struct wire_field slurm_submit_fields[] = {
	WIRE_CHARS(struct slurm_submit, cluster, 0),
	WIRE_CHARS(struct slurm_submit, user, 0),
	WIRE_CHARS(struct slurm_submit, account, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_submit, queues, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_submit, qos, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_submit, gpu_model, WIRE_OPTIONAL),
	COUNT(ncpus, INT64_C(1) << 40),
	COUNT(ngpus, INT64_C(1) << 40),
	COUNT(mem_bytes, INT64_MAX),
	COUNT(walltime_s, INT64_C(1) << 40),
	WIRE_INT_OR(struct slurm_submit, tasks, 1, SLURM_SUBMIT_TASKS_MAX, 1, WIRE_OPTIONAL),
	COUNT(job, UINT32_MAX),
	WIRE_FLAG(struct slurm_submit, "exclusive", is_exclusive),
	WIRE_END,
};

const struct wire_field slurm_submit_answer_fields[] = {
	WIRE_WORD(struct slurm_submit_answer, "verdict", verdict, slurm_submit_verdict_name),
	WIRE_CHARS(struct slurm_submit_answer, queue, WIRE_OPTIONAL),
	WIRE_CHARS(struct slurm_submit_answer, text, WIRE_OPTIONAL),
	WIRE_END,
};
