/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts_rig - a job on three nodes in a ledger: of 2 cores and 1 GB on each, 6 core-seconds a
 * second. Times and figures as in ledger_rig.h. */
#pragma once
#include "controller/ledger/store.h"
#include "tests/unit/rig/ledger_rig.h"

/* Submits the job. Returns its number. */
int64_t parts_submit(struct rig *r, bool requeue);
/* Allocates it to n1, n2 and n3, n1 first; each node has sent a sync before. */
void parts_allocate(struct rig *r, int64_t job, int64_t now_ns);
/* Submits a job that runs on all three nodes since NOON. */
int64_t parts_running(struct rig *r, bool requeue);

/* The sync of a node. */
struct parts_sync {
	int node; /* 0: n1 */
	const struct report *report;
	const struct sync_job *listed; /* NULL: it lists no job */
	const char *boot;
	int64_t now_ns;
};

struct parts_desired {
	int n;
	struct store_desired g;
	char hosts[64], reason[256];
};

void parts_send_sync(struct rig *r, const struct parts_sync *what, struct sync_result *ret);
void parts_sync_empty(struct rig *r, int node, int64_t now_ns);
/* The node lists the attempt in this state. True: the desired states of other nodes change by that. */
bool parts_list_job(struct rig *r, int node, int64_t job, enum job_state state, int64_t now_ns);
/* A node's report with `cpu_s` of its own; and its final one. */
struct report parts_report(int64_t job, int64_t seq, enum job_state state, int64_t cpu_s);
struct report parts_ended(int64_t job, int64_t seq, enum job_end_kind kind, int64_t cpu_s);
/* The node sends the report, and lists the attempt in that state; it must be acknowledged. As parts_list_job(). */
bool parts_send_report(struct rig *r, int node, struct report rep, int64_t now_ns);
/* The desired states of the node. */
struct parts_desired parts_get_desired(struct rig *r, int node);
int64_t parts_cores_in_use(struct rig *r, int node);
void parts_set_desired(struct rig *r, int64_t job, enum job_desired want, int expected);
/* A figure of the ledger's one attempt. */
int64_t parts_of_attempt(struct rig *r, const char *what);
/* What was charged by use; the sums of days must have the same. */
int64_t parts_used_ms(struct rig *r);
/* All sums of the ledger can be recomputed. */
void parts_verify(struct rig *r);
