/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm_batch.c - the rows of both documents; see slurm_batch.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/fields.h"
#include "common/wire/slurm_batch.h"

#define AMOUNT_MAX (INT64_MAX / 1024)
#define CPUS_MAX (INT64_C(1) << 32)
#define SLURM_ID_MAX UINT32_MAX

static const char *const state_names[_SLURM_BATCH_STATE_MAX] = {
	[SLURM_BATCH_PENDING] = "pending",     [SLURM_BATCH_RUNNING] = "running",
	[SLURM_BATCH_SUSPENDED] = "suspended", [SLURM_BATCH_COMPLETED] = "completed",
	[SLURM_BATCH_CANCELLED] = "cancelled", [SLURM_BATCH_FAILED] = "failed",
	[SLURM_BATCH_TIMEOUT] = "timeout",     [SLURM_BATCH_NODE_FAIL] = "node-fail",
	[SLURM_BATCH_PREEMPTED] = "preempted", [SLURM_BATCH_BOOT_FAIL] = "boot-fail",
	[SLURM_BATCH_DEADLINE] = "deadline",   [SLURM_BATCH_OUT_OF_MEMORY] = "out-of-memory",
	[SLURM_BATCH_REQUEUED] = "requeued",   [SLURM_BATCH_REVOKED] = "revoked",
	[SLURM_BATCH_UNKNOWN] = "unknown",
};

const char *slurm_batch_state_name(enum slurm_batch_state s)
{
	return s >= 0 && s < _SLURM_BATCH_STATE_MAX ? state_names[s] : "?";
}

static const char *state_word(int i)
{
	return i < _SLURM_BATCH_STATE_MAX ? state_names[i] : NULL;
}

static const char *source_word(int i)
{
	static const char *const words[] = { "slurmctld", "slurmdbd", NULL };

	return words[i];
}

#define JOB_TIME_ROW(name)                                                                     \
	WIRE_INT_OR(struct slurm_batch_job, name, 0, SLURM_BATCH_TIME_MAX, 0, WIRE_OMIT)
#define JOB_INT_ROW(name, lo, hi, def)                                                         \
	WIRE_INT_OR(struct slurm_batch_job, name, lo, hi, def, WIRE_OMIT)
#define JOB_TEXT_ROW(name) WIRE_CHARS(struct slurm_batch_job, name, WIRE_OMIT)

static const struct wire_field job_fields[] = {
	WIRE_INT(struct slurm_batch_job, job, 1, SLURM_ID_MAX),
	JOB_INT_ROW(attempt, 0, INT32_MAX, 0),
	JOB_INT_ROW(uid, -1, UINT32_MAX, -1),
	WIRE_WORD(struct slurm_batch_job, "state", state, state_word),
	JOB_TEXT_ROW(user),
	JOB_TEXT_ROW(account),
	JOB_TEXT_ROW(queue),
	JOB_TEXT_ROW(qos),
	JOB_TEXT_ROW(name),
	JOB_TEXT_ROW(nodes),
	JOB_TEXT_ROW(node),
	JOB_TEXT_ROW(gpu_model),
	JOB_INT_ROW(ncpus, 0, CPUS_MAX, 0),
	JOB_INT_ROW(n_nodes, 0, CPUS_MAX, 0),
	JOB_INT_ROW(ngpus, 0, CPUS_MAX, 0),
	JOB_INT_ROW(mem_bytes, 0, AMOUNT_MAX, 0),
	JOB_INT_ROW(walltime_s, 0, SLURM_BATCH_TIME_MAX, 0),
	JOB_TIME_ROW(submit_s),
	JOB_TIME_ROW(start_s),
	JOB_TIME_ROW(end_s),
	JOB_TIME_ROW(suspended_s),
	JOB_INT_ROW(exit_status, 0, 255, 0),
	JOB_INT_ROW(signal, 0, 127, 0),
	JOB_INT_ROW(array_job, 0, SLURM_ID_MAX, 0),
	JOB_INT_ROW(array_task, SLURM_BATCH_NO_TASK, SLURM_ID_MAX, SLURM_BATCH_NO_TASK),
	JOB_INT_ROW(het_job, 0, SLURM_ID_MAX, 0),
	JOB_INT_ROW(het_offset, 0, SLURM_ID_MAX, 0),
	WIRE_FLAG(struct slurm_batch_job, "by_agent", by_agent),
	WIRE_END,
};

static const struct wire_field present_fields[] = {
	WIRE_INT(struct slurm_batch_present, job, 1, SLURM_ID_MAX),
	WIRE_INT(struct slurm_batch_present, attempt, 1, INT32_MAX),
	WIRE_END,
};

static const struct wire_field batch_fields[] = {
	WIRE_CHARS(struct slurm_batch, cluster, 0),
	WIRE_WORD(struct slurm_batch, "source", source, source_word),
	WIRE_INT(struct slurm_batch, at_s, 1, SLURM_BATCH_TIME_MAX),
	WIRE_INT_OR(struct slurm_batch, mark_s, 0, SLURM_BATCH_TIME_MAX, 0, WIRE_OMIT),
	WIRE_FLAG(struct slurm_batch, "whole", is_whole),
	WIRE_INT_OR(struct slurm_batch, age_ms, 0, DAY_S * 1000, 0, WIRE_OMIT),
	WIRE_LIST(struct slurm_batch, "jobs", jobs, n_jobs, SLURM_BATCH_MAX, job_fields,
		  WIRE_OPTIONAL),
	WIRE_LIST(struct slurm_batch, "present", present, n_present, SLURM_BATCH_PRESENT_MAX,
		  present_fields, WIRE_OPTIONAL),
	WIRE_END,
};

static const struct wire_field answer_fields[] = {
	WIRE_INT(struct slurm_batch_answer, mark_s, 0, SLURM_BATCH_TIME_MAX),
	WIRE_INT(struct slurm_batch_answer, n_changed, 0, INT64_MAX),
	WIRE_LIST(struct slurm_batch_answer, "wanted", wanted, n_wanted, SLURM_BATCH_WANTED_MAX,
		  present_fields, WIRE_OPTIONAL),
	WIRE_END,
};

static int encode_rows(const struct wire_field *rows, const void *from, json_t **ret,
		       struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	wire_encode_fields(rows, from, &d);
	return doc_finish(&d, ret, err);
}

int slurm_batch_encode(const struct slurm_batch *b, json_t **ret, struct err *err)
{
	return encode_rows(batch_fields, b, ret, err);
}

int slurm_batch_encode_answer(const struct slurm_batch_answer *a, json_t **ret, struct err *err)
{
	return encode_rows(answer_fields, a, ret, err);
}

int slurm_batch_decode(const json_t *doc, struct slurm_batch **ret, struct err *err)
{
	_cleanup_(slurm_batch_freep) struct slurm_batch *b = calloc(1, sizeof(*b));
	int r = b ? wire_decode_fields(batch_fields, doc, b, err)
		  : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	if (!request_is_name(b->cluster))
		return err_set(err, -EINVAL, "cluster: not a name");
	*ret = TAKE_PTR(b);
	return 0;
}

int slurm_batch_decode_answer(const json_t *doc, struct slurm_batch_answer *ret,
			      struct err *err)
{
	struct slurm_batch_answer a = { 0 };
	int r = wire_decode_fields(answer_fields, doc, &a, err);

	if (r < 0) {
		slurm_batch_answer_done(&a);
		return r;
	}
	*ret = a;
	return 0;
}

struct slurm_batch *slurm_batch_free(struct slurm_batch *b)
{
	if (b)
		wire_done_fields(batch_fields, b);
	free(b);
	return NULL;
}

void slurm_batch_answer_done(struct slurm_batch_answer *a)
{
	wire_done_fields(answer_fields, a);
}
