/* parts_rig - a job on three nodes in a ledger: of 2 cores and 1 GB on each, 6 core-seconds a
 * second. Times and figures as in ledger_rig.h. */
#pragma once
#include "controller/ledger/store.h"
#include "tests/unit/rig/ledger_rig.h"

/* In the queue; the number of the job. */
int64_t parts_submit(struct rig *r, bool requeue);
/* On n1, n2 and n3, n1 first, which say hello before. */
void parts_give(struct rig *r, int64_t job, int64_t now_ns);
/* One that runs on all three nodes since NOON. */
int64_t parts_running(struct rig *r, bool requeue);

/* What a node says. */
struct parts_says {
	int node; /* 0: n1 */
	const struct report *report;
	const struct sync_job *hold; /* NULL: it lists nothing */
	const char *boot;
	int64_t now_ns;
};

struct parts_told {
	int n;
	struct store_desired g;
	char hosts[64], reason[256];
};

void parts_say(struct rig *r, const struct parts_says *what, struct sync_result *ret);
void parts_hello(struct rig *r, int node, int64_t now_ns);
/* The node shows the attempt so. Whether other nodes have something else to do by that. */
bool parts_show(struct rig *r, int node, int64_t job, enum job_state state, int64_t now_ns);
/* A node's report with `cpu_s` of its own; and its last one. */
struct report parts_report(int64_t job, int64_t seq, enum job_state state, int64_t cpu_s);
struct report parts_ended(int64_t job, int64_t seq, enum job_end_kind kind, int64_t cpu_s);
/* Said by the node, in a list that shows the attempt so; acknowledged. As parts_show(). */
bool parts_tell(struct rig *r, int node, struct report rep, int64_t now_ns);
/* What the node gets. */
struct parts_told parts_given(struct rig *r, int node);
int64_t parts_held_cores(struct rig *r, int node);
void parts_wish(struct rig *r, int64_t job, enum job_desired want, int expected);
/* A figure of the ledger's one attempt. */
int64_t parts_of_attempt(struct rig *r, const char *what);
/* What was charged by use, which the sums of days have too. */
int64_t parts_used_ms(struct rig *r);
/* The ledger adds up. */
void parts_verify(struct rig *r);
