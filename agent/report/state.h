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
#include "agent/enforce/jobfs.h"
#include "common/db/db.h"
#include "common/model/job.h"

#define STATE_BOOT_MAX 40
#define STATE_PATH_MAX 4096

/* Time in running and suspended state, as of `at_ns`. */
struct state_clock {
	int64_t running_ns, suspended_ns;
	int64_t at_ns;		      /* CLOCK_BOOTTIME when these were added up */
	char boot[STATE_BOOT_MAX];    /* boot id that at_ns belongs to */
	int64_t started_ns, ended_ns; /* real time; 0: not yet */
};

struct state_attempt {
	int64_t job;
	int32_t attempt;
	enum job_state state;
	char step[32];	    /* of the job's life, as its flow names it */
	char wanted[16];    /* last order: "run" "suspend" "cancel" */
	char unit[128];	    /* "reeve-12-1.service"; "" without systemd */
	char cgroup[256];   /* path below the cgroup mount */
	uint64_t cgroup_id; /* 0: not known yet */
	int32_t pid;	    /* main process; 0: none */
	struct cpulist cpus, mem_nodes;
	int64_t mem_max_bytes;
	struct jobfs_job jobfs;
	struct state_clock clock;
	char *err_path; /* owned; the job's error file as opened, NULL: none, and which file
			 * it was */
	uint64_t err_dev, err_ino;
	struct job_end end; /* reason latched at the first excess; kind END_NONE: none yet */
	struct usage usage; /* last sample: counters go on from here */
	char note[256];
	struct request request; /* owned */
};

void state_attempt_init(struct state_attempt *a);
/* Moves `from` to `to`; what it leaves may be given to state_attempt_done(). */
void state_attempt_take(struct state_attempt *to, struct state_attempt *from);
void state_attempt_done(struct state_attempt *a); /* frees what is owned */

/* All of *a; the request only when the row is new. -ENOSPC, -EIO, ... */
int state_save(struct db *db, const struct state_attempt *a, struct err *err);
/* Gone; no such row is success. */
int state_forget(struct db *db, int64_t job, int32_t attempt, struct err *err);

/* Every attempt, oldest job first. A row that cannot be read is given with `bad` set, only
 * job and attempt filled in and err in words. The callback may take what is owned, with
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
