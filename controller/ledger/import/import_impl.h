/* SPDX-License-Identifier: GPL-2.0-or-later */
/* import_impl - the state of an import, shared by import.c and import_batch.c. */
#pragma once
#include "controller/ledger/import/import.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/rollup/rollup_set.h"

/* The columns of the table imported, and the enum in the same order. */
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

#define TOGETHER 1024 /* jobs that are sent to the database at a time */
#define RUNS_MAX 1000 /* of one requeued job */

/* A job that was added and whose outcome is not known yet. */
struct import_added {
	struct store_import_job job;
	struct history_job history; /* a copy, which job.job points to */
	struct tally all;	    /* of the whole job */
	int association;	    /* index in `sums` */
	int64_t origin;		    /* origins.id of its cluster */
	int32_t generations; /* of ids of Slurm's jobs that the ledger has of the cluster; 0: it has none */
};

#define KINDS_KEPT 64
#define KIND_KEY_MAX (3 * REQUEST_NAME_MAX + GPUS_TEXT_MAX)
struct import_kind {
	char key[KIND_KEY_MAX];
	int64_t id;
};

struct store_import {
	struct import_kind kinds[KINDS_KEPT]; /* a cache: those last found in the ledger */
	size_t n_kinds;			      /* found so far; the oldest is replaced */
	struct store *s;
	store_import_fn fn;
	void *ctx;
	struct import_row rows[TOGETHER]; /* rows[i] is of added[i] */
	struct import_added added[TOGETHER];
	size_t n_added;
	struct rollup_set *sums; /* what the batch adds to days */
	int64_t id;		 /* imports.id of the file */
	int64_t origin;		 /* origins.id of `cluster`; 0: none looked up yet */
	int32_t generations;	 /* of the origin, as import_added has it */
	char cluster[REQUEST_NAME_MAX];
	int64_t until_s; /* the latest end of a new job of this import */
	bool is_begun;	 /* the batch's transaction */
	bool has_reruns; /* a number that comes again may be another run of a requeued job */
};

/* Begins the transaction of the batch where it has not begun. */
int store_import_begin(struct store_import *i, struct err *err);

/* ---- followed.c ---- */

/* Sets `generations` of the origin. */
int import_find_generations(struct store_import *i, struct err *err);
/* ret[k] of the k-th job that was added: STORE_IMPORT_FOLLOWED; STORE_IMPORT_CONFLICT: a job of Slurm has the same id and ran as
 * long at another hour; STORE_IMPORT_NEW: neither. */
int import_find_followed(struct store_import *i, enum store_import_outcome *ret,
			 struct err *err);
