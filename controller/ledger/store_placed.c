/* store_placed.c - see store_placed.h. */
#include "controller/ledger/store_placed.h"
#include "controller/ledger/store_gpus.h"
#include "controller/ledger/store_sqlite.h"

static const char placed_sql[] =
	"SELECT j.job, j.account, j.user, j.queue, a.node, j.ncpus, j.vmem_bytes,"
	" j.mem_bytes, j.jobfs_bytes, j.ngpus, j.walltime_s, j.exclusive, a.state, j.want,"
	" j.gave_way_to, j.due_ns, j.submitted_ns, a.given_ns, a.at_ns, a.running_ns,"
	" a.suspended_ns, j.gpu_model"
	" FROM attempts a JOIN jobs j ON j.job = a.job"
	" WHERE a.closed = 0 AND j.cluster = ?1 ORDER BY a.job";

static struct store_placed read_row(struct db_row *st)
{
	struct store_placed p = {
		.job = db_int(st, 0),
		.account = store_text(st, 1),
		.user = store_text(st, 2),
		.queue = store_text(st, 3),
		.node = store_text(st, 4),
		.want = { .ncpus = db_int(st, 5),
			  .vmem_bytes = db_int(st, 6),
			  .mem_bytes = db_int(st, 7),
			  .jobfs_bytes = db_int(st, 8),
			  .ngpus = db_int(st, 9),
			  .walltime_s = db_int(st, 10) },
		.is_exclusive = db_int(st, 11) != 0,
		.state = (enum job_state)(int)db_int(st, 12),
		.wish = (enum store_want)(int)db_int(st, 13),
		.gave_way_to = db_int(st, 14),
		.due_ns = db_int(st, 15),
		.submitted_ns = db_int(st, 16),
		.given_ns = db_int(st, 17),
		.at_ns = db_int(st, 18),
		.running_ns = db_int(st, 19),
		.suspended_ns = db_int(st, 20),
	};

	store_gpu_model(st, 21, &p.want);
	return p;
}

int store_placed(struct store *s, const char *cluster, store_placed_fn fn, void *ctx,
		 struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, placed_sql, "t", cluster);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct store_placed p = read_row(st);

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
	if (r < 0) {
		db_rollback(s->db);
		return r;
	}
	return db_commit(s->db, err);
}
