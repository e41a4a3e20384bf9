/* SPDX-License-Identifier: GPL-2.0-or-later */
/* state - what must survive the agent: every attempt it holds, saved before it acts.
 *
 * One row an attempt. state_save() is durable when it returns (one SQLite transaction, FULL
 * sync), unless the caller is inside db_begin() .. db_commit() of its own: then with that.
 * The rule of use: save the step you are about to take, take it, save that it is done. After
 * a crash the step is taken again; all steps can be.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "agent/admit/cpulist.h"
#include "agent/enforce/jobfs/jobfs.h"
#include "agent/report/packed.h"
#include "common/db/db.h"
#include "common/model/job.h"
#include "common/model/series/series.h"

#define STATE_BOOT_MAX 40
#define STATE_PATH_MAX 4096
#define STATE_OWNED_MAX 65536 /* of a text that is owned */
#define STATE_UNIT_MAX 64

/* Time in running and suspended state, as of `at_ns`. */
struct state_clock {
	int64_t running_ns, suspended_ns;
	int64_t at_ns;		      /* CLOCK_BOOTTIME when these were added up */
	char boot[STATE_BOOT_MAX];    /* boot id that at_ns belongs to */
	int64_t started_ns, ended_ns; /* real time; 0: not yet */
};

/* How it ends, in as little memory as it needs: a thousand jobs run, few are being ended. */
struct state_end {
	enum job_end_kind kind; /* END_NONE: nothing latched yet */
	int32_t exit_status;
	int32_t signal;
	struct reason *reason; /* owned; NULL: none, or there was no memory for the words */
};

struct state_series;

struct state_attempt {
	int64_t job;
	int32_t attempt;
	enum job_state state;
	char step[16];		   /* of the job's life, as its flow names it */
	char wanted[16];	   /* last order: "run" "suspend" "cancel" */
	char unit[STATE_UNIT_MAX]; /* "reeve-job-12-1.service"; "" before there is one */
	uint64_t cgroup_id;	   /* 0: not known yet */
	int32_t pid;		   /* main process; 0: none */
	struct cpulist cpus, mem_nodes;
	int64_t mem_max_bytes;
	/* Of a whole job of Slurm or PBS; 0: not known. */
	int64_t slurm_nodes, slurm_ncpus, slurm_ngpus;
	int32_t pbs_sister; /* 1: another node is the first of this job of PBS */
	struct jobfs_job jobfs;
	struct state_clock clock;
	char *err_path; /* owned; the job's error file as opened, NULL: none, and which file
			 * it was */
	uint64_t err_dev, err_ino;
	char *cgroup;		     /* owned; path below the cgroup mount, NULL: not known */
	char *note;		     /* owned; NULL: none */
	char *gpus;		     /* owned; uuids with commas, NULL: none */
	char *gpu_use;		     /* owned; its use of them, JSON; NULL: nothing */
	struct state_series *series; /* owned; by state_series_set() */
	struct state_end end;	     /* latched at the first excess; by state_end_set() */
	struct packed_usage *usage;  /* owned; by state_usage_set() */
	struct packed_usage *base;   /* owned; by state_base_set() */
	struct request request;	     /* owned */
};

void state_attempt_init(struct state_attempt *a);
/* Moves `from` to `to`; what it leaves may be given to state_attempt_done(). */
void state_attempt_take(struct state_attempt *to, struct state_attempt *from);
void state_attempt_done(struct state_attempt *a); /* frees what is owned */

/* Without memory for the words the kind is kept all the same. */
void state_end_set(struct state_attempt *a, const struct job_end *end);
void state_end_get(const struct state_attempt *a, struct job_end *ret);

/* Last sample: counters go on from here. -ENOMEM: the one before stays. */
int state_usage_set(struct state_attempt *a, const struct usage *u);
void state_usage_get(const struct state_attempt *a, struct usage *ret);

/* What the unit had used before the user's program began: not the job's. */
int state_base_set(struct state_attempt *a, const struct usage *u);
void state_base_get(const struct state_attempt *a, struct usage *ret);

/* How its use went, encoded: a fraction of the memory of struct series. _get: all zero before the first _set; the caller calls
 * series_done(). -ENOMEM: what was set before stays. */
int state_series_set(struct state_attempt *a, const struct series *s);
int state_series_get(const struct state_attempt *a, struct series *ret);
/* The same bytes, which are not copied; 0: nothing was set. */
size_t state_series_bytes(const struct state_attempt *a, const uint8_t **ret);

/* All of *a; the request only when the row is new. Text that is not UTF-8 is mended: it never
 * keeps a job from being saved. -ENOSPC, -EIO, ... */
int state_save(struct db *db, const struct state_attempt *a, struct err *err);
/* The script, arguments and environment of a saved attempt, into a request that was given to
 * request_shed(). -ENOENT: no such row. */
int state_load_command(struct db *db, int64_t job, int32_t attempt, struct request *ret,
		       struct err *err);
/* Gone; no such row is success. */
int state_forget(struct db *db, int64_t job, int32_t attempt, struct err *err);
/* Could an attempt be saved now? Writes one of no job and takes it away, as one change. */
int state_try(struct db *db, struct err *err);

/* Every attempt, oldest job first. A row that cannot be read is given with `bad` set, only
 * job and attempt filled in and err in words. -ENOMEM, and no call, where there was no memory
 * to read one. The callback may take what is owned, with
 * state_attempt_take(). Stops at the first callback result != 0 and returns it. */
typedef int (*state_each_fn)(void *ctx, struct state_attempt *a, bool bad,
			     const struct err *err);
int state_load(struct db *db, state_each_fn each, void *ctx, struct err *err);

/* Settings: small texts by name, e.g. an operator's drain. -ENOENT: never set. */
int state_get(struct db *db, const char *name, char *buf, size_t size, struct err *err);
int state_set(struct db *db, const char *name, const char *value, struct err *err);

/* Note that this boot began. STATE_NEW_BOOT: its id was not the last one seen: whatever ran
 * is gone. *ret_number counts boots from 1. */
#define STATE_NEW_BOOT 1
int state_boot(struct db *db, const char *boot, int64_t *ret_number, struct err *err);
