/* placed.c - see nodes/allocated.h. */
#include "controller/ledger/nodes/allocated.h"
#include <errno.h>
#include <stdlib.h>
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
	X(ALLOCATED_GAVE_WAY_TO,  ", j.gave_way_to") \
	X(ALLOCATED_DUE_NS,       ", j.due_ns") \
	X(ALLOCATED_SUBMITTED_NS, ", j.submitted_ns") \
	X(ALLOCATED_GIVEN_NS,     ", a.given_ns") \
	X(ALLOCATED_AT_NS,        ", a.at_ns") \
	X(ALLOCATED_RUNNING_NS,   ", a.running_ns") \
	X(ALLOCATED_SUSPENDED_NS, ", a.suspended_ns") \
	X(ALLOCATED_GPU_MODEL,    ", j.gpu_model") \
	X(ALLOCATED_ATTEMPT,      ", a.attempt") \
	X(ALLOCATED_CLOSED,       ", a.closed")
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
		.wish = (enum job_desired)(int)db_int(st, ALLOCATED_WANT),
		.gave_way_to = db_int(st, ALLOCATED_GAVE_WAY_TO),
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

/* What is held of several nodes: of all jobs, and of one as it is told. */
struct shares {
	struct store_parts_in_use held;
	size_t next; /* of held: behind the jobs before */
	struct store_part *of;
};

static void shares_done(struct shares *s)
{
	store_parts_in_use_done(&s->held);
	free(s->of);
}

static int load_shares(struct store *s, const char *cluster, struct shares *ret,
		       bool *ret_has_left, struct err *err)
{
	int r = store_parts_in_use(s, cluster, &ret->held, err);

	*ret_has_left = false;
	for (size_t i = 0; i < ret->held.n; i++)
		*ret_has_left |= ret->held.of[i].is_left;
	if (r < 0 || !ret->held.n)
		return r;
	ret->of = calloc(ret->held.n, sizeof(*ret->of));
	return ret->of ? 0 : err_set(err, -ENOMEM, "out of memory");
}

/* Both are in the order of jobs and attempts. */
static void set_parts(struct store_allocated *p, struct shares *s, int64_t attempt)
{
	p->parts = s->of;
	for (; s->next < s->held.n; s->next++) {
		const struct store_part_in_use *h = &s->held.of[s->next];

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

int store_allocated(struct store *s, const char *cluster, store_allocated_fn fn, void *ctx,
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
		struct store_allocated p = read_row(st);

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
