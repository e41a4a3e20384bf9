/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waiting.c - reads queued jobs from the ledger: all that may start, those given by number, those that
 * are held, and those that start by a time or not at all. See jobs/waiting.h. */
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/jobs/waiting.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"

/* clang-format off */
#define WAITING_COLUMNS(X) \
	X(WAITING_JOB,          "job") \
	X(WAITING_SUBMITTED_NS, ", submitted_ns") \
	X(WAITING_CLUSTER,      ", cluster") \
	X(WAITING_ACCOUNT,      ", account") \
	X(WAITING_USER,         ", user") \
	X(WAITING_QUEUE,        ", queue") \
	X(WAITING_NAME,         ", name") \
	X(WAITING_POOL,         ", pool") \
	X(WAITING_NCPUS,        ", ncpus") \
	X(WAITING_VMEM_BYTES,   ", vmem_bytes") \
	X(WAITING_MEM_BYTES,    ", mem_bytes") \
	X(WAITING_JOBFS_BYTES,  ", jobfs_bytes") \
	X(WAITING_NGPUS,        ", ngpus") \
	X(WAITING_WALLTIME_S,   ", walltime_s") \
	X(WAITING_EXCLUSIVE,    ", exclusive") \
	X(WAITING_NICE,         ", nice") \
	X(WAITING_SITE,         ", site") \
	X(WAITING_GPU_MODEL,    ", gpu_model") \
	X(WAITING_DUE_NS,       ", due_ns") \
	X(WAITING_NODE_TYPE,    ", node_type") \
	X(WAITING_FEATURES,     ", features") \
	X(WAITING_CHUNKS,       ", chunks") \
	X(WAITING_SCATTERED,    ", scattered") \
	X(WAITING_ELIGIBLE_NS,  ", eligible_ns") \
	X(WAITING_WITHHELD,     ", withheld") \
	X(WAITING_QOS,          ", qos")
/* clang-format on */
enum { WAITING_COLUMNS(SQL_NAME) };
#define WAITING_SELECT "SELECT " WAITING_COLUMNS(SQL_COLUMN)

/* "state < ENDED" follows from "state = QUEUED", but SQLite uses the partial index of active jobs only
 * where its condition is spelled out. */
#define WAITING_SQL                                                                            \
	WAITING_SELECT " FROM jobs WHERE state = " SQL_JOB_QUEUED " AND state < " SQL_JOB_ENDED
#define ELIGIBLE_SQL WAITING_SQL " AND withheld = 0"

/* The strongest of what holds the job back; NULL: nothing does. */
static const char *held_by(int64_t withheld)
{
	if (withheld & STORE_HELD_OPERATOR)
		return "operator";
	if (withheld & STORE_HELD_USER)
		return "user";
	return withheld & STORE_DEPENDS ? "dependency" : NULL;
}

static int pass_waiting(struct db_row *st, store_waiting_fn fn, void *ctx, struct err *err)
{
	struct store_waiting w = {
		.job = db_int(st, WAITING_JOB),
		.submitted_ns = db_int(st, WAITING_SUBMITTED_NS),
		.cluster = store_text(st, WAITING_CLUSTER),
		.account = store_text(st, WAITING_ACCOUNT),
		.user = store_text(st, WAITING_USER),
		.queue = store_text(st, WAITING_QUEUE),
		.name = store_text(st, WAITING_NAME),
		.pool = (enum charge_pool)(int)db_int(st, WAITING_POOL),
		.want = { .ncpus = db_int(st, WAITING_NCPUS),
			  .vmem_bytes = db_int(st, WAITING_VMEM_BYTES),
			  .mem_bytes = db_int(st, WAITING_MEM_BYTES),
			  .jobfs_bytes = db_int(st, WAITING_JOBFS_BYTES),
			  .ngpus = db_int(st, WAITING_NGPUS),
			  .walltime_s = db_int(st, WAITING_WALLTIME_S) },
		.is_exclusive = db_int(st, WAITING_EXCLUSIVE) != 0,
		.nice = db_int(st, WAITING_NICE),
		.site = db_int(st, WAITING_SITE),
		.due_ns = db_int(st, WAITING_DUE_NS),
		.chunks = store_text(st, WAITING_CHUNKS),
		.is_scattered = db_int(st, WAITING_SCATTERED) != 0,
		.eligible_ns = db_int(st, WAITING_ELIGIBLE_NS),
		.held = held_by(db_int(st, WAITING_WITHHELD)),
		.qos = store_text(st, WAITING_QOS),
	};

	if (w.eligible_ns < w.submitted_ns)
		w.eligible_ns = w.submitted_ns;
	store_gpu_model(st, WAITING_GPU_MODEL, &w.want);
	store_node_kind(st, WAITING_NODE_TYPE, &w.want);
	return fn(ctx, &w, err);
}

struct receiver {
	store_waiting_fn fn;
	void *ctx;
};

static int pass_queued(struct store *s, const char *sql, const char *cluster,
		       const struct receiver *to, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, sql, "t", cluster);

	if (r >= 0)
		db_stream(st);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = pass_waiting(st, to->fn, to->ctx, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_waiting(struct store *s, const char *cluster, store_waiting_fn fn, void *ctx,
		  struct err *err)
{
	static const char of_cluster[] = ELIGIBLE_SQL " AND cluster = ?1 ORDER BY job";
	static const char of_all[] = ELIGIBLE_SQL " AND ?1 IS NULL ORDER BY job";

	return pass_queued(s, cluster ? of_cluster : of_all, cluster,
			   &(struct receiver){ fn, ctx }, err);
}

int store_withheld(struct store *s, const char *cluster, store_waiting_fn fn, void *ctx,
		   struct err *err)
{
	return pass_queued(s,
			   WAITING_SQL " AND (withheld & " SQL_STORE_HELD_OR_DEPENDS
				       ") <> 0 AND cluster = ?1 ORDER BY job",
			   cluster, &(struct receiver){ fn, ctx }, err);
}

const struct db_ints *store_some(const struct store_these *these, size_t first,
				 int64_t buf[static STORE_SOME], struct db_ints *ret)
{
	for (size_t i = 0; i < STORE_SOME; i++)
		buf[i] = these->jobs[first + i < these->n ? first + i : these->n - 1];
	*ret = (struct db_ints){ buf, STORE_SOME, INT64_MIN };
	return ret;
}

/* Passes the current row on where it is of that cluster. */
static int pass_of_cluster(struct db_row *st, const char *cluster, const struct receiver *to,
			   struct err *err)
{
	return strcmp(store_text(st, WAITING_CLUSTER), cluster) == 0
		       ? pass_waiting(st, to->fn, to->ctx, err)
		       : 0;
}

int store_waiting_these(struct store *s, const struct store_these *these, store_waiting_fn fn,
			void *ctx, struct err *err)
{
	/* "+state": the rows are found by their numbers, not by the index of queued jobs. */
	static const char sql[] = WAITING_SELECT
		" FROM jobs WHERE job IN (" STORE_SOME_PARAMETERS
		") AND +state = " SQL_JOB_QUEUED " AND withheld = 0 ORDER BY job";
	const struct receiver to = { fn, ctx };
	int r = 0;

	for (size_t i = 0; i < these->n && r >= 0; i += STORE_SOME) {
		int64_t some[STORE_SOME];
		struct db_row *st;

		r = db_query_ints(s->db, sql,
				  store_some(these, i, some, &(struct db_ints){ 0 }), &st, err);
		while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
			r = pass_of_cluster(st, these->cluster, &to, err);
			if (r < 0)
				db_done(st);
		}
	}
	return r;
}

/* ---- jobs that start by a time, or not at all ---- */

/* The planner takes the index of these jobs (jobs_start_by) only where its condition is spelled out. */
#define WITH_TIME "start_by_ns > 0 AND state = " SQL_JOB_QUEUED

int store_start_by(struct store *s, const struct store_start_by_ask *ask, int64_t *ret, int max,
		   struct err *err)
{
	struct db_row *st;
	int n = 0;
	int r = db_query(s->db, err, &st,
			 "SELECT job FROM jobs WHERE " WITH_TIME
			 " AND start_by_ns <= ?2 AND cluster = ?1"
			 " ORDER BY start_by_ns, job LIMIT ?3",
			 "tii", ask->cluster, ask->now_ns, (int64_t)max);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0)
		ret[n++] = db_int(st, 0);
	return r < 0 ? r : n;
}

int store_start_by_next(struct store *s, int64_t *ret_ns, struct err *err)
{
	int r = db_query_int(s->db, err, ret_ns,
			     "SELECT COALESCE(MIN(start_by_ns), 0) FROM jobs WHERE " WITH_TIME
			     " AND start_by_ns > " SQL_STORE_START_NOW,
			     "");

	return r < 0 ? r : 0;
}

/* 1: it was queued. */
static int write_end(struct store *s, int64_t job, const struct store_end *how, struct err *err)
{
	const struct store_event event = { how->at_ns, job, NULL, "ended", how->text };
	_cleanup_free_ char *end = NULL;
	int r = store_end_encode(how, &end, err);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?2, end = ?3"
			   " WHERE job = ?1 AND " WITH_TIME,
			   "iit", job, how->at_ns, end);
	if (r < 0 || db_changes(s->db) == 0)
		return r < 0 ? r : 0;
	store_announce_job(s, job);
	r = store_credential_drop(s, job, err);
	if (r >= 0)
		r = store_event(s, &event, err);
	return r < 0 ? r : 1;
}

int store_start_by_end(struct store *s, int64_t job, const char *text, int64_t now_ns,
		       struct err *err)
{
	const struct store_end how = { END_FAILED, text, now_ns };
	int r = db_begin(s->db, err);
	int written;

	if (r < 0)
		return r;
	written = write_end(s, job, &how, err);
	r = db_end(s->db, written, err);
	return r < 0 ? r : written;
}
