/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ledger_rig.c - makes the ledger on either database, and sends reports of its node; see ledger_rig.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include <libpq-fe.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/store_sqlite.h"
#include "tests/unit/rig/ledger_rig.h"

void rig_reopen(struct rig *r)
{
	struct err err = { "" };

	r->store = store_close(r->store);
	if (store_open(r->path, &r->store, &err) < 0)
		fail_msg("%s", err.text);
}

bool rig_is_sqlite(void)
{
	return !getenv("REEVE_TEST_POSTGRES");
}

/* A schema of its own for each test; `place` ends so that options can be added. */
static void make_schema(struct rig *r, const char *place)
{
	static int n;
	PGconn *c = PQconnectdb(place);
	char sql[128];

	snprintf(sql, sizeof(sql), "CREATE SCHEMA t%d_%d", (int)getpid(), ++n);
	if (PQresultStatus(PQexec(c, sql)) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", sql, PQerrorMessage(c));
	PQfinish(c);
	snprintf(r->path, sizeof(r->path), "%s&options=-csearch_path%%3Dt%d_%d", place,
		 (int)getpid(), n);
}

int rig_open(void **state)
{
	struct rig *r = calloc(1, sizeof(*r));

	strcpy(r->dir, "/tmp/reeve-ledger-XXXXXX");
	if (!mkdtemp(r->dir))
		return -1;
	snprintf(r->path, sizeof(r->path), "%s/ledger.db", r->dir);
	if (getenv("REEVE_TEST_POSTGRES"))
		make_schema(r, getenv("REEVE_TEST_POSTGRES"));
	rig_reopen(r);
	*state = r;
	return 0;
}

int rig_close(void **state)
{
	struct rig *r = *state;
	static const char *const tails[] = { "", "-wal", "-shm" };
	char path[128];

	store_close(r->store);
	for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
		snprintf(path, sizeof(path), "%s/ledger.db%s", r->dir, tails[i]);
		unlink(path);
	}
	rmdir(r->dir);
	free(r);
	return 0;
}

int rig_send_sync(struct rig *r, const struct rig_sync *sync, struct sync_result *ret)
{
	struct sync in = {
		.capacity = { .ncpus = 8, .mem_bytes = 64LL << 30, .jobfs_bytes = 64LL << 30 },
		.jobs = (struct sync_job *)sync->jobs,
		.reports = (struct report *)sync->reports,
		.outputs = (struct sync_output *)sync->outputs,
		.n_jobs = sync->n_jobs,
		.n_reports = sync->n_reports,
		.n_outputs = sync->n_outputs
	};
	struct sync_from from = { .cluster = "main",
				  .now_ns = sync->now_ns,
				  .lost_ns = 120 * S_NS };
	struct err err = { "" };

	strcpy(in.node, "n1");
	if (sync->boot || !*r->boot)
		snprintf(r->boot, sizeof(r->boot), "%s", sync->boot ? sync->boot : "b1");
	strcpy(in.boot, r->boot);
	strcpy(from.address, sync->address ? sync->address : "10.0.0.1");
	return store_ingest(r->store, &in, &from, ret, &err);
}

void rig_request_init(struct request *ret)
{
	request_init(ret);
	strcpy(ret->cluster, "main");
	strcpy(ret->account, "physics");
	strcpy(ret->user, "alice");
	strcpy(ret->queue, "normal");
	strcpy(ret->name, "job");
}

static void fill_request(const struct rig *r, struct request *q)
{
	rig_request_init(q);
	q->uid = q->gid = 1001;
	q->res = (struct resources){
		.ncpus = 2, .vmem_bytes = 10000000000, .jobfs_bytes = 1000, .walltime_s = 3600
	};
	q->workdir = strdup("/");
	q->mail_types = r->mail_types;
}

int rig_submit_one(struct store *s, const struct store_new *n, int64_t *ret_job,
		   struct err *err)
{
	int r = store_begin(s, err);

	if (r < 0)
		return r;
	r = store_submit_one(s, n, ret_job, err);
	if (r >= 0)
		return store_commit(s, err);
	store_rollback(s);
	return r;
}

static int64_t submit_job(struct rig *r, int64_t now_ns)
{
	_cleanup_(request_done) struct request q;
	struct store_new new = { .request = &q,
				 .pool = CHARGE_POOL_CPU,
				 .decided_by = CHARGE_MEMORY,
				 .terms = { .rate = { 5, 2 }, .ncpus = 2 },
				 .now_ns = now_ns };
	int64_t job;

	fill_request(r, &q);
	new.terms.bundle.side[CHARGE_GPUS] = (struct fraction){ 0, 1 };
	new.terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
	new.terms.bundle.side[CHARGE_MEMORY] = (struct fraction){ 4000000000, 1 };
	assert_int_equal(rig_submit_one(r->store, &new, &job, NULL), 0);
	return job;
}

static int64_t give_job(struct rig *r, int64_t job, const char *node, int64_t now_ns)
{
	const struct store_allocation gift = { .job = job, .node = node };

	assert_int_equal(store_allocate(r->store, &gift, 1, now_ns, NULL), 0);
	return job;
}

int64_t rig_job_on(struct rig *r, const char *node, int64_t now_ns)
{
	return give_job(r, submit_job(r, now_ns), node, now_ns);
}

int64_t rig_job(struct rig *r, int64_t now_ns)
{
	struct rig_sync hello = { .now_ns = now_ns };
	int64_t job = submit_job(r, now_ns);
	struct sync_result result;

	if (rig_number(r, "SELECT COUNT(*) FROM nodes") == 0) {
		assert_int_equal(rig_send_sync(r, &hello, &result), 0);
		sync_result_done(&result);
	}
	return give_job(r, job, "n1", now_ns);
}

struct report rig_report(int64_t job, int64_t seq, enum job_state state, int64_t running_s)
{
	struct report rep = { .job = job, .attempt = 1, .seq = seq, .state = state };

	rep.started_ns = NOON;
	rep.running_ns = running_s * S_NS;
	rep.at_ns = NOON + running_s * S_NS;
	usage_set(&rep.usage, &rep.usage.cpu_ns, running_s * S_NS);
	usage_set(&rep.usage, &rep.usage.rss_peak_bytes, 1000000000);
	if (state == JOB_ENDED) {
		rep.ended_ns = rep.at_ns;
		rep.end.kind = END_EXITED;
	}
	return rep;
}

void rig_send_report(struct rig *r, struct report rep, int64_t now_ns)
{
	struct sync_job hold = { rep.job, rep.attempt, rep.state };
	struct rig_sync sync = {
		.reports = &rep, .n_reports = 1, .jobs = &hold, .n_jobs = 1, .now_ns = now_ns
	};
	struct sync_result result;

	assert_int_equal(rig_send_sync(r, &sync, &result), 0);
	assert_int_equal(result.n_acks, 1);
	assert_true(result.acks[0].seq >= rep.seq);
	sync_result_done(&result);
}

static int copy_job(void *ctx, const struct store_job *j, struct err *err)
{
	struct rig_job *ret = ctx;

	(void)err;
	*ret = (struct rig_job){ .state = j->state,
				 .running_ns = j->running_ns,
				 .suspended_ns = j->suspended_ns,
				 .charge_requested_ms = j->charge_requested_ms,
				 .charge_used_ms = j->charge_used_ms,
				 .ended_ns = j->ended_ns };
	snprintf(ret->node, sizeof(ret->node), "%s", j->node ? j->node : "");
	if (j->end) {
		_cleanup_json_ json_t *doc = json_loads(j->end, 0, NULL);
		struct job_end end = { 0 };

		if (wire_decode_end(doc, "end", &end, NULL) == 0)
			ret->end = end.kind;
	}
	return 0;
}

struct rig_job rig_load_job(struct rig *r, int64_t job)
{
	struct rig_job ret = { 0 };

	assert_int_equal(store_job(r->store, job, copy_job, &ret, NULL), 0);
	return ret;
}

int64_t rig_number(struct rig *r, const char *sql)
{
	_cleanup_(store_closep) struct store *s = NULL;
	struct err err = { "" };
	struct db_row *row;
	int64_t n;

	if (store_open(r->path, &s, &err) < 0 || db_query(s->db, &err, &row, sql, "") < 0 ||
	    db_step(s->db, row, &err) <= 0)
		fail_msg("%s: %s", sql, err.text);
	n = db_int(row, 0);
	db_done(row);
	return n;
}
