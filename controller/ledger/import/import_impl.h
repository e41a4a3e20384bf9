/* import_impl - what import.c and import_batch.c share. */
#pragma once
#include "controller/ledger/import/import.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup_set.h"

/* The columns of the table imported, in one order. */
#define IMPORTED_COLUMNS                                                                       \
	"id, association, submit_s, wait_s, run_s, ncpus, ngpus, pool, walltime_s, mem_bytes," \
	" mem_peak_bytes, cpu_ms, rate_num, rate_den, charge_requested_ms, charge_used_ms,"    \
	" suspended_s, nodes, kind"
enum import_column {
	ID,
	ASSOCIATION,
	SUBMIT_S,
	WAIT_S,
	RUN_S,
	NCPUS,
	NGPUS,
	POOL,
	WALLTIME_S,
	MEM_BYTES,
	MEM_PEAK_BYTES,
	CPU_MS,
	RATE_NUM,
	RATE_DEN,
	CHARGE_REQUESTED_MS,
	CHARGE_USED_MS,
	SUSPENDED_S,
	NODES,
	KIND,
	_COLUMN_MAX,
};

struct import_row {
	int64_t v[_COLUMN_MAX];
};

#define TOGETHER 1024 /* jobs that are written at a time */
#define RUNS_MAX 1000 /* of one job */

/* A job that was taken and is not settled yet. */
struct import_taken {
	struct store_import_job job;
	struct history_job history; /* that job.job points to */
	struct tally all;
	int association;
};

#define KINDS_KEPT 64
#define KIND_KEY_MAX (3 * REQUEST_NAME_MAX + GPUS_TEXT_MAX)
struct import_kind {
	char key[KIND_KEY_MAX];
	int64_t id;
};

struct store_import {
	struct import_kind kinds[KINDS_KEPT]; /* of those of the ledger, the last found */
	size_t n_kinds;
	struct store *s;
	store_import_fn fn;
	void *ctx;
	struct import_row rows[TOGETHER]; /* of the jobs taken */
	struct import_taken taken[TOGETHER];
	size_t n_taken;
	struct rollup_set *sums;
	int64_t id; /* of the file */
	int64_t origin;
	char cluster[REQUEST_NAME_MAX]; /* whose origin that is */
	int64_t until_s;		/* the last end of a new job of this batch */
	bool is_begun, has_reruns;
};

/* The transaction of the batch, begun when it is not yet. */
int store_import_begin(struct store_import *i, struct err *err);
