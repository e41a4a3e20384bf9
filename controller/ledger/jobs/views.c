/* views.c - what people see of jobs. See store.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

/* An element's is its array's. */
#define REQUEST                                                                                \
	" CASE WHEN j.array_job > 0 THEN"                                                      \
	"  (SELECT " STORE_REQUEST("p") " FROM jobs p WHERE p.job = j.array_job)"              \
					" ELSE " STORE_REQUEST("j") " END"
#define JOB_COLUMNS                                                                            \
	"SELECT j.job, COALESCE(a.attempt, j.attempt), COALESCE(a.state, j.state), j.want, "   \
	"j.uid, j.cluster,"                                                                    \
	" j.account, j.user, j.queue, j.name, a.node," REQUEST ", a.usage,"                    \
	" COALESCE(a.end, j.end), a.cpus, a.note, j.pool, j.decided_by, j.rate_num,"           \
	" j.rate_den, j.submitted_ns, COALESCE(a.started_ns, j.started_ns),"                   \
	" COALESCE(a.ended_ns, j.ended_ns), a.running_ns, a.suspended_ns,"                     \
	" a.charge_requested_ms, a.charge_used_ms, COALESCE(n.lost, 0), j.unit, j.rule,"       \
	" (SELECT COALESCE(SUM(x.charge_ms), 0) FROM adjustments x"                            \
	" WHERE x.cluster = j.cluster AND x.job = j.job), a.gpus, j.withheld,"                 \
	" j.array_job, j.array_index, j.gave_way_to, a.hosts, j.qos,"                          \
	" j.owner_suspended_ns"
/* One that is in the queue, also one that is there again, has none. */
#define CURRENT_ATTEMPT                                                                        \
	" FROM jobs j LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt"         \
	" AND j.state <> " SQL_JOB_QUEUED " LEFT JOIN nodes n ON n.node = a.node"
#define EVERY_ATTEMPT                                                                          \
	" FROM jobs j JOIN attempts a ON a.job = j.job LEFT JOIN nodes n ON n.node = a.node"
/* ?1 user, ?2 account, ?3 node, ?4 state (-1 any, -2 not ended), ?5 before, ?6 limit, ?7 with
 * elements of arrays, ?8 only those of this array. */
#define FILTERS                                                                                \
	" (?1 IS NULL OR j.user = ?1) AND (?2 IS NULL OR j.account = ?2)"                      \
	" AND (?4 = " SQL_STORE_ANY " OR (?4 = " SQL_STORE_ACTIVE                              \
	" AND j.state < " SQL_JOB_ENDED ") OR j.state = ?4)"                                   \
	" AND +j.job < ?5 AND (?7 <> 0 OR j.array_job = 0)"                                    \
	" AND (?8 = 0 OR j.array_job = ?8)"
#define ON_NODE                                                                                \
	" AND (?3 IS NULL OR j.node = ?3 OR EXISTS(SELECT 1 FROM parts p"                      \
	" WHERE p.job = j.job AND p.attempt = j.attempt AND p.node = ?3))"
#define NEWEST " ORDER BY j.job DESC LIMIT ?6"
#define FEW " ORDER BY +j.job DESC LIMIT ?6" /* of which all may be sorted */

/* The + keeps it from walking all jobs, newest first, in search of those that have such parts.
 */
#define PARTS(where)                                                                           \
	JOB_COLUMNS                                                                            \
	" FROM parts p CROSS JOIN jobs j ON j.job = +p.job AND j.attempt = p.attempt"          \
	" LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt"                     \
	" AND j.state <> " SQL_JOB_QUEUED " LEFT JOIN nodes n ON n.node = a.node"              \
	" WHERE " where " AND p.job < ?5 AND p.part > 0 AND" FILTERS                           \
	" ORDER BY p.job DESC LIMIT ?6"
#define JOBS(where) JOB_COLUMNS CURRENT_ATTEMPT " WHERE " where " AND" FILTERS
/* Of several nodes a job is in the column of one, and has parts on the others. */
#define NODES(jobs, parts)                                                                     \
	"SELECT * FROM (" JOBS(jobs " AND j.job < ?5") NEWEST                                  \
		") AS x UNION ALL SELECT * FROM (" PARTS(                                      \
			parts) ") AS y ORDER BY 1 DESC LIMIT ?6"

/* One text for each index that answers at once; the planner knows only what is spelled out. The
 * +, which says nothing, keeps it from walking all jobs by their numbers for those few that are
 * active. */
static const char *choose_sql(const struct store_filter *f)
{
	static const char of_array[] =
		JOBS("j.array_job = ?8 AND j.array_job > 0") ON_NODE NEWEST;
	static const char by_user[] = JOBS("j.user = ?1 AND j.job < ?5") ON_NODE NEWEST;
	static const char active_of_user[] =
		JOBS("j.user = ?1 AND j.state < " SQL_JOB_ENDED) ON_NODE FEW;
	static const char by_account[] = JOBS("j.account = ?2 AND j.job < ?5") ON_NODE NEWEST;
	static const char active_of_account[] =
		JOBS("j.account = ?2 AND j.state < " SQL_JOB_ENDED) ON_NODE FEW;
	static const char by_node[] = NODES("j.node = ?3", "p.node = ?3");
	static const char by_user_and_node[] =
		NODES("j.user = ?1 AND j.node = ?3", "p.user = ?1 AND p.node = ?3");
	static const char active[] = JOBS("j.state < " SQL_JOB_ENDED) ON_NODE FEW;
	static const char any[] = JOBS("j.job < ?5") NEWEST;

	bool is_active = f->state == STORE_ACTIVE || (f->state >= 0 && f->state < JOB_ENDED);

	if (f->array)
		return of_array;
	if (f->user && is_active)
		return active_of_user;
	if (f->user)
		return f->node ? by_user_and_node : by_user;
	if (f->account)
		return is_active ? active_of_account : by_account;
	if (is_active)
		return active;
	return f->node ? by_node : any;
}

static void read_job(struct db_row *st, struct store_job *j)
{
	const char *node = db_text(st, 10);

	*j = (struct store_job){
		.job = db_int(st, 0),
		.attempt = (int)db_int(st, 1),
		.state = (enum job_state)(int)db_int(st, 2),
		.want = (enum store_want)(int)db_int(st, 3),
		.uid = (uint32_t)db_int(st, 4),
		.cluster = store_text(st, 5),
		.account = store_text(st, 6),
		.user = store_text(st, 7),
		.queue = store_text(st, 8),
		.name = store_text(st, 9),
		.node = node,
		.request = db_text(st, 11),
		.usage = db_text(st, 12),
		.end = db_text(st, 13),
		.cpus = store_text(st, 14),
		.note = store_text(st, 15),
		.pool = (enum charge_pool)(int)db_int(st, 16),
		.decided_by = (enum charge_side)(int)db_int(st, 17),
		.rate = { db_int(st, 18), db_int(st, 19) },
		.submitted_ns = db_int(st, 20),
		.started_ns = db_int(st, 21),
		.ended_ns = db_int(st, 22),
		.running_ns = db_int(st, 23),
		.suspended_ns = db_int(st, 24),
		.charge_requested_ms = db_int(st, 25),
		.charge_used_ms = db_int(st, 26),
		.node_is_lost = (int)db_int(st, 27),
		.unit = (enum tariff_unit)(int)db_int(st, 28),
		.rule = store_text(st, 29),
		.adjusted_ms = db_int(st, 30),
		.gpus = db_text(st, 31),
		.is_withheld = (db_int(st, 32) & ~(int64_t)STORE_IS_ARRAY) != 0,
		.is_array = (db_int(st, 32) & STORE_IS_ARRAY) != 0,
		.array_job = db_int(st, 33),
		.array_index = db_int(st, 34),
		.gave_way_to = db_int(st, 35),
		.hosts = store_text(st, 36),
		.qos = store_text(st, 37),
		.owner_suspended_ns = db_int(st, 38),
	};
}

static int each_job(struct store *s, struct db_row *st, store_job_fn fn, void *ctx,
		    struct err *err)
{
	int r, n = 0;

	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_job j;

		read_job(st, &j);
		r = fn(ctx, &j, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
		n++;
	}
	return r < 0 ? r : n;
}

int store_jobs(struct store *s, const struct store_filter *f, store_job_fn fn, void *ctx,
	       struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, choose_sql(f), "tttiiiii", f->user, f->account,
			 f->node, (int64_t)f->state, f->before ? f->before : INT64_MAX,
			 f->limit, (int64_t)(f->elements == STORE_ELEMENTS || f->array),
			 f->array);

	if (r >= 0)
		r = each_job(s, st, fn, ctx, err);
	return r < 0 ? r : 0;
}

int store_job(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, JOB_COLUMNS CURRENT_ATTEMPT " WHERE j.job = ?1", "i",
			 job);

	if (r >= 0)
		r = each_job(s, st, fn, ctx, err);
	if (r == 0)
		return err_set(err, -ENOENT, "no job %lld", (long long)job);
	return r < 0 ? r : 0;
}

int store_attempts(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 JOB_COLUMNS EVERY_ATTEMPT " WHERE j.job = ?1 ORDER BY a.attempt", "i",
			 job);

	if (r >= 0)
		r = each_job(s, st, fn, ctx, err);
	return r < 0 ? r : 0;
}

int store_counts(struct store *s, store_count_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT cluster, state, CAST(SUM(CASE WHEN (withheld & " SQL_STORE_IS_ARRAY
		") <> 0 THEN"
		"  (SELECT r.n_waiting FROM arrays r WHERE r.job = jobs.job)"
		" ELSE 1 END) AS BIGINT) FROM jobs WHERE state < " SQL_JOB_ENDED
		" GROUP BY cluster, state",
		"");

	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_count c = { store_text(st, 0), (enum job_state)(int)db_int(st, 1),
					 db_int(st, 2) };

		r = fn(ctx, &c, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

const char *store_place(const struct store *s)
{
	return db_place(s->db);
}
