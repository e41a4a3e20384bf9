/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocated.c - reads the jobs that are allocated to nodes, with their parts. See nodes/allocated.h. */
#include "controller/ledger/nodes/allocated.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define ALLOCATED_COLUMNS(X) \
	X(ALLOCATED_JOB,          "j.job") \
	X(ALLOCATED_ACCOUNT,      ", j.account") \
	X(ALLOCATED_USER,         ", j.user") \
	X(ALLOCATED_QUEUE,        ", j.queue") \
	X(ALLOCATED_NODE,         ", a.node") \
	X(ALLOCATED_NCPUS,        ", j.ncpus") \
	X(ALLOCATED_VMEM_BYTES,   ", j.vmem_bytes") \
	X(ALLOCATED_MEM_BYTES,    ", j.mem_bytes") \
	X(ALLOCATED_JOBFS_BYTES,  ", j.jobfs_bytes") \
	X(ALLOCATED_NGPUS,        ", j.ngpus") \
	X(ALLOCATED_WALLTIME_S,   ", j.walltime_s") \
	X(ALLOCATED_EXCLUSIVE,    ", j.exclusive") \
	X(ALLOCATED_STATE,        ", a.state") \
	X(ALLOCATED_WANT,         ", j.want") \
	X(ALLOCATED_PREEMPTED_BY,  ", j.gave_way_to") \
	X(ALLOCATED_DUE_NS,       ", j.due_ns") \
	X(ALLOCATED_SUBMITTED_NS, ", j.submitted_ns") \
	X(ALLOCATED_GIVEN_NS,     ", a.given_ns") \
	X(ALLOCATED_AT_NS,        ", a.at_ns") \
	X(ALLOCATED_RUNNING_NS,   ", a.running_ns") \
	X(ALLOCATED_SUSPENDED_NS, ", a.suspended_ns") \
	X(ALLOCATED_GPU_MODEL,    ", j.gpu_model") \
	X(ALLOCATED_ATTEMPT,      ", a.attempt") \
	X(ALLOCATED_CLOSED,       ", a.closed") \
	X(ALLOCATED_CLUSTER,      ", j.cluster")
/* clang-format on */
enum { ALLOCATED_COLUMNS(SQL_NAME) };
#define ALLOCATED_SELECT "SELECT " ALLOCATED_COLUMNS(SQL_COLUMN)

#define PLACED ALLOCATED_SELECT ""
#define OPEN                                                                                   \
	" FROM attempts a CROSS JOIN jobs j ON j.job = a.job"                                  \
	" WHERE a.closed = " SQL_STORE_OPEN " AND j.cluster = ?1"
static const char placed_sql[] = PLACED OPEN " ORDER BY a.job";
/* With those that are over while some of their nodes have not ended their parts. */
static const char and_over_sql[] =
	PLACED OPEN " UNION ALL " PLACED
		    " FROM (SELECT DISTINCT +job AS job, +attempt AS attempt FROM parts"
		    " WHERE closed = " SQL_STORE_OPEN " AND part > 0) x"
		    " CROSS JOIN attempts a ON a.job = x.job AND a.attempt = x.attempt"
		    " CROSS JOIN jobs j ON j.job = a.job WHERE a.closed <> " SQL_STORE_OPEN
		    " AND j.cluster = ?1"
		    " ORDER BY 1, 23";

static const char these_sql[] =
	PLACED " FROM attempts a CROSS JOIN jobs j ON j.job = a.job"
	       " WHERE a.job IN (" STORE_SOME_PARAMETERS ") AND (a.closed = " SQL_STORE_OPEN
	       " OR (a.hosts <> '' AND EXISTS (SELECT 1 FROM parts p WHERE p.job = a.job"
	       " AND p.attempt = a.attempt AND p.closed = " SQL_STORE_OPEN " AND p.part > 0)))"
	       " ORDER BY a.job, a.attempt";

static struct store_allocated read_row(struct db_row *st)
{
	struct store_allocated p = {
		.job = db_int(st, ALLOCATED_JOB),
		.account = store_text(st, ALLOCATED_ACCOUNT),
		.user = store_text(st, ALLOCATED_USER),
		.queue = store_text(st, ALLOCATED_QUEUE),
		.node = store_text(st, ALLOCATED_NODE),
		.want = { .ncpus = db_int(st, ALLOCATED_NCPUS),
			  .vmem_bytes = db_int(st, ALLOCATED_VMEM_BYTES),
			  .mem_bytes = db_int(st, ALLOCATED_MEM_BYTES),
			  .jobfs_bytes = db_int(st, ALLOCATED_JOBFS_BYTES),
			  .ngpus = db_int(st, ALLOCATED_NGPUS),
			  .walltime_s = db_int(st, ALLOCATED_WALLTIME_S) },
		.is_exclusive = db_int(st, ALLOCATED_EXCLUSIVE) != 0,
		.state = (enum job_state)(int)db_int(st, ALLOCATED_STATE),
		.desired = (enum job_desired)(int)db_int(st, ALLOCATED_WANT),
		.preempted_by = db_int(st, ALLOCATED_PREEMPTED_BY),
		.due_ns = db_int(st, ALLOCATED_DUE_NS),
		.submitted_ns = db_int(st, ALLOCATED_SUBMITTED_NS),
		.given_ns = db_int(st, ALLOCATED_GIVEN_NS),
		.at_ns = db_int(st, ALLOCATED_AT_NS),
		.running_ns = db_int(st, ALLOCATED_RUNNING_NS),
		.suspended_ns = db_int(st, ALLOCATED_SUSPENDED_NS),
	};

	store_gpu_model(st, ALLOCATED_GPU_MODEL, &p.want);
	return p;
}

/* The parts of one attempt, from *next on; both are in the order of jobs and attempts. */
static void set_parts(struct store_allocated *p, const struct store_parts_in_use *held,
		      size_t *next, int64_t attempt)
{
	while (*next < held->n &&
	       (held->of[*next].job < p->job ||
		(held->of[*next].job == p->job && held->of[*next].attempt < attempt)))
		++*next;
	p->parts = held->of + *next;
	while (*next < held->n && held->of[*next].job == p->job &&
	       held->of[*next].attempt == attempt) {
		++*next;
		p->n_parts++;
	}
}

struct telling {
	const char *cluster;
	store_allocated_fn fn;
	void *ctx;
};

static int pass_rows(struct store *s, struct db_row *st, const struct store_parts_in_use *held,
		     const struct telling *to, struct err *err)
{
	size_t next = 0;
	int r;

	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_allocated p = read_row(st);

		if (strcmp(store_text(st, ALLOCATED_CLUSTER), to->cluster) != 0)
			continue;
		set_parts(&p, held, &next, db_int(st, ALLOCATED_ATTEMPT));
		if (db_int(st, ALLOCATED_CLOSED)) {
			p.state = JOB_ENDING;
			p.desired = DESIRED_CANCEL;
		}
		r = to->fn(to->ctx, &p, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_allocated(struct store *s, const char *cluster, store_allocated_fn fn, void *ctx,
		    struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use held = { 0 };
	const struct telling to = { cluster, fn, ctx };
	bool has_left = false;
	struct db_row *st;
	int r = store_parts_in_use(s, cluster, &held, err);

	for (size_t i = 0; i < held.n; i++)
		has_left |= held.of[i].is_left;
	if (r >= 0)
		r = db_query(s->db, err, &st, has_left ? and_over_sql : placed_sql, "t",
			     cluster);
	if (r < 0)
		return r;
	db_stream(st);
	return pass_rows(s, st, &held, &to, err);
}

static int pass_some(struct store *s, const struct db_ints *jobs, const struct telling *to,
		     struct err *err)
{
	_cleanup_(store_parts_in_use_done) struct store_parts_in_use held = { 0 };
	struct db_row *st;
	int r = store_parts_in_use_these(s, jobs, &held, err);

	if (r >= 0)
		r = db_query_ints(s->db, these_sql, jobs, &st, err);
	return r < 0 ? r : pass_rows(s, st, &held, to, err);
}

int store_allocated_these(struct store *s, const struct store_these *these,
			  store_allocated_fn fn, void *ctx, struct err *err)
{
	const struct telling to = { these->cluster, fn, ctx };
	int r = 0;

	for (size_t i = 0; i < these->n && r >= 0; i += STORE_SOME) {
		int64_t some[STORE_SOME];
		struct db_ints jobs;

		r = pass_some(s, store_some(these, i, some, &jobs), &to, err);
	}
	return r;
}

int store_set_due(struct store *s, const int64_t *jobs, size_t n, int64_t now_ns,
		  struct err *err)
{
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = db_run(s->db, err,
			   "UPDATE jobs SET due_ns = ?2 WHERE job = ?1 AND due_ns = 0", "ii",
			   jobs[i], now_ns);
	for (size_t i = 0; i < n; i++)
		store_announce_job(s, jobs[i]);
	return db_end(s->db, r, err);
}
