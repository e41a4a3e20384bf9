/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_row - decodes the jobs of a list that comes as packed rows (docs/protocol.md, "Packed rows"). */
#pragma once
#include "cli/views/job_view.h"
#include "cli/views/packed_rows.h"

/* What a verb shows as it is; the rest of a row becomes a job_view. */
#define JOB_ROW_CELLS(X)                                                                       \
	X(JOB_ROW_NAME, "name")                                                                \
	X(JOB_ROW_USER, "user")                                                                \
	X(JOB_ROW_ACCOUNT, "account")                                                          \
	X(JOB_ROW_CLUSTER, "cluster")                                                          \
	X(JOB_ROW_QUEUE, "queue")                                                              \
	X(JOB_ROW_QOS, "qos")                                                                  \
	X(JOB_ROW_UNIT, "unit")                                                                \
	X(JOB_ROW_WHY, "why")                                                                  \
	X(JOB_ROW_NOTE, "note")                                                                \
	X(JOB_ROW_SUBMITTED_NS, "submitted_ns")                                                \
	X(JOB_ROW_STARTED_NS, "started_ns")                                                    \
	X(JOB_ROW_ENDED_NS, "ended_ns")                                                        \
	X(JOB_ROW_CHARGE_REQUESTED_MS, "charge_requested_ms")                                  \
	X(JOB_ROW_CHARGE_USED_MS, "charge_used_ms")                                            \
	X(JOB_ROW_JOB, "job")                                                                  \
	X(JOB_ROW_ID, "id")                                                                    \
	X(JOB_ROW_STATE, "state")                                                              \
	X(JOB_ROW_NODE, "node")                                                                \
	X(JOB_ROW_NODES, "nodes")                                                              \
	X(JOB_ROW_NCPUS, "ncpus")                                                              \
	X(JOB_ROW_NGPUS, "ngpus")                                                              \
	X(JOB_ROW_GPU_MODEL, "gpu_model")                                                      \
	X(JOB_ROW_VMEM_BYTES, "vmem_bytes")                                                    \
	X(JOB_ROW_MEM_BYTES, "mem_bytes")                                                      \
	X(JOB_ROW_JOBFS_BYTES, "jobfs_bytes")                                                  \
	X(JOB_ROW_WALLTIME_S, "walltime_s")                                                    \
	X(JOB_ROW_RUNNING_NS, "running_ns")                                                    \
	X(JOB_ROW_SUSPENDED_NS, "suspended_ns")                                                \
	X(JOB_ROW_USAGE, "usage")                                                              \
	X(JOB_ROW_GPU_IDLE, "gpu_idle")                                                        \
	X(JOB_ROW_END, "end")                                                                  \
	X(JOB_ROW_ARRAY, "array")

#define JOB_ROW_NAME_OF(name, key) name,
enum job_row_cell { JOB_ROW_CELLS(JOB_ROW_NAME_OF) _JOB_ROW_MAX };
#undef JOB_ROW_NAME_OF

struct job_row {
	struct job_view view;
	struct rowpack_value cells[_JOB_ROW_MAX]; /* borrow the answer */
	json_t *array;				  /* of the view; owned */
};

/* Begins to read an answer. -EPROTO: a column is missing; err names it. */
int job_row_open(const json_t *answer, struct packed_rows *ret, struct err *err);
/* 1: *ret is the next job, until job_row_done(). 0: there are no more. -EPROTO: the row is not what docs/protocol.md says. */
int job_row_next(struct packed_rows *rows, struct job_row *ret, struct err *err);
void job_row_done(struct job_row *r);
/* NULL: none, or "". */
const char *job_row_text(const struct job_row *r, enum job_row_cell cell);
/* 0: none. */
int64_t job_row_int(const struct job_row *r, enum job_row_cell cell);
