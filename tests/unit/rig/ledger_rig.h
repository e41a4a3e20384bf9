/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_rig - a ledger in a temporary directory, a job in it, and the reports of its node. */
#pragma once
#include "common/time_units.h"
#include "controller/ledger/store.h"

#define NOON (20000 * DAY_NS + DAY_NS / 2) /* a day like any other */

struct rig {
	char dir[64], path[256];
	char boot[24]; /* of n1, as it was last said; "": "b1" */
	struct store *store;
	uint32_t mail_types; /* of jobs from now on; mail.h */
};

/* In SQLite; or, with REEVE_TEST_POSTGRES=postgresql:///NAME?host=DIR, in PostgreSQL. */
int rig_open(void **state);
bool rig_is_sqlite(void);
int rig_close(void **state);
void rig_reopen(struct rig *r);

/* What every submission of alice's to account physics of cluster main states. */
void rig_request_init(struct request *ret);

/* Submits a job of 2 cores and 10 GB (rate 2.5 of 1 core / 4 GB), and allocates it to n1 at `now`. */
int64_t rig_job(struct rig *r, int64_t now_ns);
/* The same for another node, which has registered. */
int64_t rig_job_on(struct rig *r, const char *node, int64_t now_ns);

/* A report of attempt 1 with running time and cpu time `running_s`. */
struct report rig_report(int64_t job, int64_t seq, enum job_state state, int64_t running_s);

/* n1 (boot b1) says: these reports, these jobs in its list. */
struct rig_sync {
	const struct report *reports;
	size_t n_reports;
	const struct sync_job *jobs;
	size_t n_jobs;
	const struct sync_output *outputs;
	size_t n_outputs;
	const char *boot, *address; /* NULL: as before, "10.0.0.1" */
	int64_t now_ns;
};
int rig_send_sync(struct rig *r, const struct rig_sync *sync, struct sync_result *ret);
/* The same with one report at `now`, which must be acknowledged. */
void rig_send_report(struct rig *r, struct report rep, int64_t now_ns);

struct rig_job {
	enum job_state state;
	int64_t running_ns, suspended_ns, charge_requested_ms, charge_used_ms, ended_ns;
	char node[64];
	enum job_end_kind end;
};
struct rig_job rig_load_job(struct rig *r, int64_t job);
/* One number by SQL, seen through another connection: only what is committed. */
int64_t rig_number(struct rig *r, const char *sql);
/* One submission in a transaction of its own. */
int rig_submit_one(struct store *s, const struct store_new *n, int64_t *ret_job,
		   struct err *err);
