/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts_rig.c - submits and runs a job on three nodes, and reads its parts; see parts_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "common/err.h"
#include "controller/ledger/verify/verify.h"
#include "tests/unit/rig/parts_rig.h"

static const char *const names[] = { "n1", "n2", "n3" };

static void set_chunks(struct request *q)
{
	struct err err = { "" };

	if (select_parse("3:ncpus=2:vmem=1GB:jobfs=1GB", &q->select, q->res.gpu_model, &err) <
	    0)
		fail_msg("%s", err.text);
	assert_int_equal(select_total(&q->select, &q->res, &err), 0);
}

int64_t parts_submit(struct rig *r, bool requeue)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .terms = { .rate = { 6, 1 }, .ncpus = 6 },
				 .now_ns = NOON };
	int64_t job;

	rig_request_init(&q);
	q.res.walltime_s = 3600;
	q.requeue = requeue;
	q.select.is_scattered = true;
	set_chunks(&q);
	q.workdir = strdup("/");
	new.terms.bundle.side[CHARGE_GPUS] = (struct fraction){ 0, 1 };
	new.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	new.terms.bundle.side[CHARGE_MEMORY] = (struct fraction){ 4000000000, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

void parts_send_sync(struct rig *r, const struct parts_sync *what, struct sync_result *ret)
{
	struct sync in = {
		.capacity = { .ncpus = 8, .mem_bytes = 64LL << 30, .jobfs_bytes = 64LL << 30 },
		.jobs = (struct sync_job *)what->listed,
		.n_jobs = what->listed ? 1 : 0,
		.reports = (struct report *)what->report,
		.n_reports = what->report ? 1 : 0
	};
	struct sync_from from = { .cluster = "main",
				  .address = "10.0.0.1",
				  .now_ns = what->now_ns,
				  .lost_ns = 120 * S_NS };
	struct err err = { "" };

	strcpy(in.node, names[what->node]);
	strcpy(in.boot, what->boot ? what->boot : "b1");
	if (store_ingest(r->store, &in, &from, ret, &err) < 0)
		fail_msg("%s", err.text);
}

void parts_sync_empty(struct rig *r, int node, int64_t now_ns)
{
	const struct parts_sync what = { .node = node, .now_ns = now_ns };
	struct sync_result out;

	parts_send_sync(r, &what, &out);
	sync_result_done(&out);
}

void parts_allocate(struct rig *r, int64_t job, int64_t now_ns)
{
	static const struct store_part parts[] = {
		{ "n1", 2, 1000000000, 0, 1000000000, 0 },
		{ "n2", 2, 1000000000, 0, 1000000000, 0 },
		{ "n3", 2, 1000000000, 0, 1000000000, 0 },
	};
	const struct store_allocation gift = { job, "n1", parts, 3, 0 };
	struct err err = { "" };

	for (int i = 0; i < 3; i++)
		parts_sync_empty(r, i, now_ns);
	if (store_allocate(r->store, &gift, 1, now_ns, &err) < 0)
		fail_msg("%s", err.text);
}

bool parts_list_job(struct rig *r, int node, int64_t job, enum job_state state, int64_t now_ns)
{
	const struct sync_job listed = { job, 1, state };
	const struct parts_sync what = { .node = node, .listed = &listed, .now_ns = now_ns };
	struct sync_result out;
	bool stirs;

	parts_send_sync(r, &what, &out);
	assert_int_equal(out.n_refusals, 0);
	stirs = out.n_affected > 0;
	sync_result_done(&out);
	return stirs;
}

struct report parts_report(int64_t job, int64_t seq, enum job_state state, int64_t cpu_s)
{
	struct report rep = rig_report(job, seq, state, cpu_s);

	usage_set(&rep.usage, &rep.usage.vmem_peak_bytes, 100 * cpu_s);
	return rep;
}

bool parts_send_report(struct rig *r, int node, struct report rep, int64_t now_ns)
{
	const struct sync_job listed = { rep.job, rep.attempt, rep.state };
	const struct parts_sync what = {
		.node = node, .listed = &listed, .report = &rep, .now_ns = now_ns
	};
	struct sync_result out;
	bool stirs;

	parts_send_sync(r, &what, &out);
	assert_int_equal(out.n_acks, 1);
	assert_true(out.acks[0].seq >= rep.seq);
	stirs = out.n_affected > 0;
	sync_result_done(&out);
	return stirs;
}

static int take_given(void *ctx, const struct store_desired *g, struct err *err)
{
	struct parts_desired *t = ctx;

	(void)err;
	t->n++;
	t->g = *g;
	snprintf(t->hosts, sizeof(t->hosts), "%s", g->part.hosts);
	snprintf(t->reason, sizeof(t->reason), "%s", g->reason);
	return 0;
}

struct parts_desired parts_get_desired(struct rig *r, int node)
{
	struct parts_desired t = { 0 };

	assert_int_equal(store_desired(r->store, names[node], take_given, &t, NULL), 0);
	return t;
}

int64_t parts_cores_in_use(struct rig *r, int node)
{
	_cleanup_free_ struct fit_node *nodes = NULL;
	size_t n;

	assert_int_equal(store_nodes_in_use(r->store, "main", &nodes, &n, NULL), 0);
	assert_int_equal(n, 3);
	return nodes[node].in_use.ncpus;
}

static int fail_on_difference(void *ctx, const struct store_difference *d, struct err *err)
{
	(void)ctx;
	(void)err;
	fail_msg("job %lld %s: %lld, recomputed %lld", (long long)d->job, d->figure,
		 (long long)d->stored, (long long)d->recomputed);
	return 0;
}

void parts_verify(struct rig *r)
{
	struct store_verified n = { 0 };

	assert_int_equal(store_verify(r->store, fail_on_difference, NULL, &n, NULL), 0);
	assert_int_equal(n.differences, 0);
}

int64_t parts_running(struct rig *r, bool requeue)
{
	int64_t job = parts_submit(r, requeue);

	parts_allocate(r, job, NOON);
	for (int i = 2; i >= 0; i--)
		parts_send_report(r, i, parts_report(job, 1, JOB_RUNNING, 0), NOON + S_NS);
	return job;
}

struct report parts_ended(int64_t job, int64_t seq, enum job_end_kind kind, int64_t cpu_s)
{
	struct report rep = parts_report(job, seq, JOB_ENDED, cpu_s);

	rep.end.kind = kind;
	rep.end.reason.requested = rep.end.reason.reached = -1;
	if (kind == END_LIMIT) {
		rep.end.reason = (struct reason){ .limit = LIMIT_VMEM,
						  .requested = 1000000000,
						  .reached = 1500000000 };
		strcpy(rep.end.reason.host, "n2");
	}
	return rep;
}

int64_t parts_of_attempt(struct rig *r, const char *what)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT %s FROM attempts", what);
	return rig_number(r, sql);
}

int64_t parts_used_ms(struct rig *r)
{
	int64_t n = parts_of_attempt(r, "SUM(charge_used_ms)");

	assert_int_equal(rig_number(r, "SELECT SUM(charge_used_ms) FROM rollups"), n);
	return n;
}

void parts_set_desired(struct rig *r, int64_t job, enum job_desired want, int expected)
{
	const struct store_desired_change w = {
		.job = job, .want = want, .reason = "by alice", .now_ns = NOON + 3 * S_NS
	};
	char node[REQUEST_NAME_MAX];

	assert_int_equal(store_set_desired(r->store, &w, node, NULL), expected);
}
