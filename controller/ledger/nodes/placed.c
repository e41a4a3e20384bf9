/* placed.c - see nodes/placed.h. */
#include "controller/ledger/nodes/placed.h"
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/attempts/part.h"
#include "controller/ledger/sql.h"

/* clang-format off */
#define PLACED_COLUMNS(X) \
	X(PLACED_JOB,          "j.job") \
	X(PLACED_ACCOUNT,      ", j.account") \
	X(PLACED_USER,         ", j.user") \
	X(PLACED_QUEUE,        ", j.queue") \
	X(PLACED_NODE,         ", a.node") \
	X(PLACED_NCPUS,        ", j.ncpus") \
	X(PLACED_VMEM_BYTES,   ", j.vmem_bytes") \
	X(PLACED_MEM_BYTES,    ", j.mem_bytes") \
	X(PLACED_JOBFS_BYTES,  ", j.jobfs_bytes") \
	X(PLACED_NGPUS,        ", j.ngpus") \
	X(PLACED_WALLTIME_S,   ", j.walltime_s") \
	X(PLACED_EXCLUSIVE,    ", j.exclusive") \
	X(PLACED_STATE,        ", a.state") \
	X(PLACED_WANT,         ", j.want") \
	X(PLACED_GAVE_WAY_TO,  ", j.gave_way_to") \
	X(PLACED_DUE_NS,       ", j.due_ns") \
	X(PLACED_SUBMITTED_NS, ", j.submitted_ns") \
	X(PLACED_GIVEN_NS,     ", a.given_ns") \
	X(PLACED_AT_NS,        ", a.at_ns") \
	X(PLACED_RUNNING_NS,   ", a.running_ns") \
	X(PLACED_SUSPENDED_NS, ", a.suspended_ns") \
	X(PLACED_GPU_MODEL,    ", j.gpu_model") \
	X(PLACED_ATTEMPT,      ", a.attempt") \
	X(PLACED_CLOSED,       ", a.closed")
/* clang-format on */
enum { PLACED_COLUMNS(SQL_NAME) };
#define PLACED_SELECT "SELECT " PLACED_COLUMNS(SQL_COLUMN)

#define PLACED PLACED_SELECT ""
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

static struct store_placed read_row(struct db_row *st)
{
	struct store_placed p = {
		.job = db_int(st, PLACED_JOB),
		.account = store_text(st, PLACED_ACCOUNT),
		.user = store_text(st, PLACED_USER),
		.queue = store_text(st, PLACED_QUEUE),
		.node = store_text(st, PLACED_NODE),
		.want = { .ncpus = db_int(st, PLACED_NCPUS),
			  .vmem_bytes = db_int(st, PLACED_VMEM_BYTES),
			  .mem_bytes = db_int(st, PLACED_MEM_BYTES),
			  .jobfs_bytes = db_int(st, PLACED_JOBFS_BYTES),
			  .ngpus = db_int(st, PLACED_NGPUS),
			  .walltime_s = db_int(st, PLACED_WALLTIME_S) },
		.is_exclusive = db_int(st, PLACED_EXCLUSIVE) != 0,
		.state = (enum job_state)(int)db_int(st, PLACED_STATE),
		.wish = (enum job_desired)(int)db_int(st, PLACED_WANT),
		.gave_way_to = db_int(st, PLACED_GAVE_WAY_TO),
		.due_ns = db_int(st, PLACED_DUE_NS),
		.submitted_ns = db_int(st, PLACED_SUBMITTED_NS),
		.given_ns = db_int(st, PLACED_GIVEN_NS),
		.at_ns = db_int(st, PLACED_AT_NS),
		.running_ns = db_int(st, PLACED_RUNNING_NS),
		.suspended_ns = db_int(st, PLACED_SUSPENDED_NS),
	};

	store_gpu_model(st, PLACED_GPU_MODEL, &p.want);
	return p;
}

/* What is held of several nodes: of all jobs, and of one as it is told. */
struct shares {
	struct store_held_parts held;
	size_t next; /* of held: behind the jobs before */
	struct store_part *of;
};

static void shares_done(struct shares *s)
{
	store_held_parts_done(&s->held);
	free(s->of);
}

static int load_shares(struct store *s, const char *cluster, struct shares *ret,
		       bool *ret_has_left, struct err *err)
{
	int r = store_held_parts(s, cluster, &ret->held, err);

	*ret_has_left = false;
	for (size_t i = 0; i < ret->held.n; i++)
		*ret_has_left |= ret->held.of[i].is_left;
	if (r < 0 || !ret->held.n)
		return r;
	ret->of = calloc(ret->held.n, sizeof(*ret->of));
	return ret->of ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Both are in the order of jobs and attempts. */
static void set_parts(struct store_placed *p, struct shares *s, int64_t attempt)
{
	p->parts = s->of;
	for (; s->next < s->held.n; s->next++) {
		const struct store_held_part *h = &s->held.of[s->next];

		if (h->job != p->job || h->attempt != attempt)
			break;
		s->of[p->n_parts++] = (struct store_part){
			h->node,
			h->share.ncpus,
			h->share.vmem_bytes,
			h->share.mem_bytes,
			h->share.jobfs_bytes,
			h->share.ngpus,
		};
	}
}

int store_placed(struct store *s, const char *cluster, store_placed_fn fn, void *ctx,
		 struct err *err)
{
	_cleanup_(shares_done) struct shares shares = { 0 };
	struct db_row *st;
	bool has_left;
	int r = load_shares(s, cluster, &shares, &has_left, err);

	if (r >= 0)
		r = db_query(s->db, err, &st, has_left ? and_over_sql : placed_sql, "t",
			     cluster);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct store_placed p = read_row(st);

		set_parts(&p, &shares, db_int(st, 22));
		if (db_int(st, 23)) {
			p.state = JOB_ENDING;
			p.wish = DESIRED_CANCEL;
		}
		r = fn(ctx, &p, err);
		if (r < 0)
			db_done(st);
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
	if (r < 0) {
		db_rollback(s->db);
		return r;
	}
	return db_commit(s->db, err);
}
