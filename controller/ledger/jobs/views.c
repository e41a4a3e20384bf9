/* SPDX-License-Identifier: GPL-2.0-or-later */
/* views.c - lists jobs and attempts as people see them, by filters that each have their statement and
 * their index. See store.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/jobs/hold.h"
#include "controller/ledger/segments.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

/* The request of a task is its array's. */
#define REQUEST                                                                                \
	" CASE WHEN j.array_job > 0 THEN"                                                      \
	"  (SELECT " STORE_REQUEST("p") " FROM jobs p WHERE p.job = j.array_job)"              \
					" ELSE " STORE_REQUEST("j") " END"
/* clang-format off */
#define VIEW_COLUMNS(X) \
	X(VIEW_JOB,                    "j.job") \
	X(VIEW_ATTEMPT,                ", COALESCE(a.attempt, j.attempt)") \
	X(VIEW_STATE,                  ", COALESCE(a.state, j.state)") \
	X(VIEW_WANT,                   ", j.want") \
	X(VIEW_UID,                    ", j.uid") \
	X(VIEW_CLUSTER,                ", j.cluster") \
	X(VIEW_ACCOUNT,                ", j.account") \
	X(VIEW_USER,                   ", j.user") \
	X(VIEW_QUEUE,                  ", j.queue") \
	X(VIEW_NAME,                   ", j.name") \
	X(VIEW_NODE,                   ", a.node") \
	X(VIEW_USAGE,                  ", a.usage") \
	X(VIEW_END,                    ", COALESCE(a.end, j.end)") \
	X(VIEW_CPUS,                   ", a.cpus") \
	X(VIEW_NOTE,                   ", a.note") \
	X(VIEW_POOL,                   ", j.pool") \
	X(VIEW_DECIDED_BY,             ", j.decided_by") \
	X(VIEW_RATE_NUM,               ", j.rate_num") \
	X(VIEW_RATE_DEN,               ", j.rate_den") \
	X(VIEW_SUBMITTED_NS,           ", j.submitted_ns") \
	X(VIEW_STARTED_NS,             ", COALESCE(a.started_ns, j.started_ns)") \
	X(VIEW_ENDED_NS,               ", COALESCE(a.ended_ns, j.ended_ns)") \
	X(VIEW_RUNNING_NS,             ", a.running_ns") \
	X(VIEW_SUSPENDED_NS,           ", a.suspended_ns") \
	X(VIEW_CHARGE_REQUESTED_MS,    ", a.charge_requested_ms") \
	X(VIEW_CHARGE_USED_MS,         ", a.charge_used_ms") \
	X(VIEW_NODE_LOST,              ", COALESCE(n.lost, 0)") \
	X(VIEW_UNIT,                   ", j.unit") \
	X(VIEW_RULE,                   ", j.rule") \
	X(VIEW_GPUS,                   ", a.gpus") \
	X(VIEW_WITHHELD,               ", j.withheld") \
	X(VIEW_ARRAY_JOB,              ", j.array_job") \
	X(VIEW_ARRAY_INDEX,            ", j.array_index") \
	X(VIEW_PREEMPTOR,            ", j.gave_way_to") \
	X(VIEW_HOSTS,                  ", a.hosts") \
	X(VIEW_QOS,                    ", j.qos") \
	X(VIEW_OWNER_SUSPENDED_NS,     ", j.owner_suspended_ns") \
	X(VIEW_NCPUS,                  ", j.ncpus") \
	X(VIEW_NGPUS,                  ", j.ngpus") \
	X(VIEW_VMEM_BYTES,             ", j.vmem_bytes") \
	X(VIEW_MEM_BYTES,              ", j.mem_bytes") \
	X(VIEW_JOBFS_BYTES,            ", j.jobfs_bytes") \
	X(VIEW_WALLTIME_S,             ", j.walltime_s") \
	X(VIEW_GPU_MODEL,              ", j.gpu_model")
/* clang-format on */
enum { VIEW_COLUMNS(SQL_NAME) VIEW_REQUEST, VIEW_ADJUSTED_MS, VIEW_HOLD };
#define ADJUSTED                                                                               \
	"(SELECT COALESCE(SUM(x.charge_ms), 0) FROM adjustments x"                             \
	" WHERE x.cluster = j.cluster AND x.job = j.job)"
#define VIEW_SELECT "SELECT " VIEW_COLUMNS(SQL_COLUMN) ", " REQUEST ", " ADJUSTED ", NULL"
/* Of a list; ?14 is 0: without what costs most and is not shown in brief. */
#define LIST_SELECT                                                                            \
	"SELECT " VIEW_COLUMNS(SQL_COLUMN) ", CASE WHEN ?14 = 0 THEN NULL ELSE " REQUEST       \
					   " END, CASE WHEN ?14 = 0 THEN 0 ELSE " ADJUSTED     \
					   " END, CASE WHEN (j.withheld & " SQL_STORE_HELD     \
					   ") <> 0 THEN " STORE_HOLD_TEXT("j") " END"
/* A job in the queue, also one that was queued again, has no present attempt. */
#define CURRENT_ATTEMPT                                                                        \
	" FROM jobs j LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt"         \
	" AND j.state <> " SQL_JOB_QUEUED " LEFT JOIN nodes n ON n.node = a.node"
#define EVERY_ATTEMPT                                                                          \
	" FROM jobs j JOIN attempts a ON a.job = j.job LEFT JOIN nodes n ON n.node = a.node"
/* What has no index is one CASE: of several conditions SQLite would expect that few jobs meet them all, and sort all of a node.
 * ?1 user, ?2 account, ?3 node, ?4 state (-1 any, -2 not ended, -3 started and not ended), ?5 before, ?6 limit, ?7 with tasks of
 * arrays, ?8 only those of this array, ?9 from, ?10 queue, ?11 part of the name, ?12 and ?13 submitted between, ?14 not in brief. */
#define FILTERS                                                                                \
	" (?1 IS NULL OR j.user BETWEEN ?1 AND ?1)"                                            \
	" AND (?2 IS NULL OR j.account BETWEEN ?2 AND ?2)"                                     \
	" AND (?4 = " SQL_STORE_ANY " OR (?4 = " SQL_STORE_ACTIVE                              \
	" AND j.state < " SQL_JOB_ENDED ") OR (?4 = " SQL_STORE_STARTED                        \
	" AND j.state > " SQL_JOB_QUEUED " AND j.state < " SQL_JOB_ENDED ") OR j.state = ?4)"  \
	" AND CASE WHEN j.job < ?5 AND j.job >= ?9 AND (?10 IS NULL OR j.queue = ?10)"         \
	" AND (?11 IS NULL OR LOWER(j.name) LIKE LOWER(?11) ESCAPE '!')"                       \
	" AND j.submitted_ns >= ?12 AND j.submitted_ns < ?13 THEN 1 ELSE 0 END > 0"            \
	" AND (?7 <> 0 OR j.array_job = 0) AND (?8 = 0 OR j.array_job = ?8)"
#define ON_NODE                                                                                \
	" AND (?3 IS NULL OR j.node = ?3 OR EXISTS(SELECT 1 FROM parts p"                      \
	" WHERE p.job = j.job AND p.attempt = j.attempt AND p.node = ?3))"
#define NEWEST " ORDER BY j.job DESC LIMIT ?6"
/* The newest by an index of this column and the job's number: the end of a range of it. With `column = ?` PostgreSQL would
 * take a user with one job in ten for frequent, and read all jobs by their numbers, newest first, until it has enough of theirs:
 * where other clusters have the larger numbers, these all. */
#define BEHIND_1(c1, p1) "(" c1 ", j.job) < (" p1 ", ?5) AND (" c1 ", j.job) >= (" p1 ", ?9)"
/* The index of nodes has no jobs without one: SQLite takes it only where the statement names that condition. */
#define ON_NODE_BEHIND                                                                         \
	SQL_IN_SEGMENT("j.job", "?9")                                                          \
	" AND j.node = ?3 AND j.job < ?5 AND j.job >= ?9 AND j.node IS NOT NULL"
#define NEWEST_1(c1) " ORDER BY " c1 " DESC, j.job DESC LIMIT ?6"
/* Of all active jobs the numbers alone are sorted; the rest of the columns, some of them long, is read of those that are listed. */
#define FEW(where)                                                                             \
	LIST_SELECT                                                                            \
	" FROM (" where ") AS k CROSS JOIN jobs j ON j.job = k.chosen"                         \
	" LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt"                     \
	" AND j.state <> " SQL_JOB_QUEUED " LEFT JOIN nodes n ON n.node = a.node"              \
	" ORDER BY j.job DESC"
#define NEWEST_NUMBERS(where)                                                                  \
	"SELECT j.job AS chosen FROM jobs j WHERE " where " AND j.state < " SQL_JOB_ENDED      \
	" AND" FILTERS ON_NODE " ORDER BY +j.job DESC LIMIT ?6"
/* The + keeps SQLite from reading all jobs, newest first, in search of those that have such parts. */
#define PARTS(where)                                                                           \
	LIST_SELECT                                                                            \
	" FROM parts p CROSS JOIN jobs j ON j.job = +p.job AND j.attempt = p.attempt"          \
	" LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt"                     \
	" AND j.state <> " SQL_JOB_QUEUED " LEFT JOIN nodes n ON n.node = a.node"              \
	" WHERE " where " AND p.job < ?5 AND p.job >= ?9 AND p.part > 0 AND" FILTERS           \
	" ORDER BY p.job DESC LIMIT ?6"
#define JOBS(where) LIST_SELECT CURRENT_ATTEMPT " WHERE " where " AND" FILTERS
/* The index of active jobs has them in this order. */
#define ACTIVE(column, parameter)                                                              \
	JOBS(BEHIND_1(column, parameter) " AND j.state < " SQL_JOB_ENDED)                      \
	ON_NODE NEWEST_1(column)
/* jobs.node is the first node of a job on several; it has parts on the others. */
#define NODES(jobs, newest, parts)                                                             \
	"SELECT * FROM (" JOBS(jobs) newest ") AS x UNION ALL SELECT * FROM (" PARTS(          \
		parts) ") AS y ORDER BY 1 DESC LIMIT ?6"

static bool is_of_active(const struct store_filter *f)
{
	return f->state == STORE_ACTIVE || f->state == STORE_STARTED ||
	       (f->state >= 0 && f->state < JOB_ENDED);
}

/* By an index of nodes, which has segments. */
static bool is_by_node(const struct store_filter *f)
{
	return f->node && !f->array && !is_of_active(f);
}

/* One statement for each index: the planner takes a partial index only where its condition is spelled
 * out. The + keeps it from reading all jobs by their numbers for the few that are active. */
static const char *choose_sql(const struct store_filter *f)
{
	static const char of_array[] =
		JOBS("j.array_job = ?8 AND j.array_job > 0") ON_NODE NEWEST;
	static const char by_user[] = JOBS(BEHIND_1("j.user", "?1")) ON_NODE NEWEST_1("j.user");
	static const char active_of_user[] = ACTIVE("j.user", "?1");
	static const char by_account[] =
		JOBS(BEHIND_1("j.account", "?2")) ON_NODE NEWEST_1("j.account");
	static const char active_of_account[] = ACTIVE("j.account", "?2");
	static const char by_node[] = NODES(ON_NODE_BEHIND, NEWEST, "p.node = ?3");
	static const char by_user_and_node[] =
		NODES("j.user = ?1 AND " ON_NODE_BEHIND, NEWEST, "p.user = ?1 AND p.node = ?3");
	/* A part does not name its account: jobs on several nodes are searched among the parts of
	 * the node. */
	static const char by_account_and_node[] =
		NODES("j.account = ?2 AND " ON_NODE_BEHIND, NEWEST, "p.node = ?3");
	static const char active[] = FEW(NEWEST_NUMBERS("j.job < ?5"));
	static const char started[] =
		FEW(NEWEST_NUMBERS("j.job < ?5 AND j.state > " SQL_JOB_QUEUED));
	static const char any[] = JOBS("j.job < ?5 AND j.job >= ?9") NEWEST;

	bool is_active = is_of_active(f);

	if (f->array)
		return of_array;
	if (f->user && is_active)
		return active_of_user;
	if (f->user)
		return f->node ? by_user_and_node : by_user;
	if (f->account && is_active)
		return active_of_account;
	if (f->account)
		return f->node ? by_account_and_node : by_account;
	if (is_active)
		return f->state == STORE_STARTED ? started : active;
	return f->node ? by_node : any;
}

static void read_job(struct db_row *st, struct store_job *j)
{
	const char *node = db_text(st, VIEW_NODE);

	*j = (struct store_job){
		.job = db_int(st, VIEW_JOB),
		.attempt = (int)db_int(st, VIEW_ATTEMPT),
		.state = (enum job_state)(int)db_int(st, VIEW_STATE),
		.want = (enum job_desired)(int)db_int(st, VIEW_WANT),
		.uid = (uint32_t)db_int(st, VIEW_UID),
		.cluster = store_text(st, VIEW_CLUSTER),
		.account = store_text(st, VIEW_ACCOUNT),
		.user = store_text(st, VIEW_USER),
		.queue = store_text(st, VIEW_QUEUE),
		.name = store_text(st, VIEW_NAME),
		.node = node,
		.request = db_text(st, VIEW_REQUEST),
		.usage = db_text(st, VIEW_USAGE),
		.end = db_text(st, VIEW_END),
		.cpus = store_text(st, VIEW_CPUS),
		.note = store_text(st, VIEW_NOTE),
		.pool = (enum charge_pool)(int)db_int(st, VIEW_POOL),
		.decided_by = (enum charge_side)(int)db_int(st, VIEW_DECIDED_BY),
		.rate = { db_int(st, VIEW_RATE_NUM), db_int(st, VIEW_RATE_DEN) },
		.submitted_ns = db_int(st, VIEW_SUBMITTED_NS),
		.started_ns = db_int(st, VIEW_STARTED_NS),
		.ended_ns = db_int(st, VIEW_ENDED_NS),
		.running_ns = db_int(st, VIEW_RUNNING_NS),
		.suspended_ns = db_int(st, VIEW_SUSPENDED_NS),
		.charge_requested_ms = db_int(st, VIEW_CHARGE_REQUESTED_MS),
		.charge_used_ms = db_int(st, VIEW_CHARGE_USED_MS),
		.node_is_lost = (int)db_int(st, VIEW_NODE_LOST),
		.unit = (enum tariff_unit)(int)db_int(st, VIEW_UNIT),
		.rule = store_text(st, VIEW_RULE),
		.adjusted_ms = db_int(st, VIEW_ADJUSTED_MS),
		.hold = db_text(st, VIEW_HOLD),
		.gpus = db_text(st, VIEW_GPUS),
		.is_withheld = (db_int(st, VIEW_WITHHELD) & ~(int64_t)STORE_IS_ARRAY) != 0,
		.is_array = (db_int(st, VIEW_WITHHELD) & STORE_IS_ARRAY) != 0,
		.array_job = db_int(st, VIEW_ARRAY_JOB),
		.array_index = db_int(st, VIEW_ARRAY_INDEX),
		.preempted_by = db_int(st, VIEW_PREEMPTOR),
		.hosts = store_text(st, VIEW_HOSTS),
		.qos = store_text(st, VIEW_QOS),
		.owner_suspended_ns = db_int(st, VIEW_OWNER_SUSPENDED_NS),
		.ncpus = db_int(st, VIEW_NCPUS),
		.ngpus = db_int(st, VIEW_NGPUS),
		.vmem_bytes = db_int(st, VIEW_VMEM_BYTES),
		.mem_bytes = db_int(st, VIEW_MEM_BYTES),
		.jobfs_bytes = db_int(st, VIEW_JOBFS_BYTES),
		.walltime_s = db_int(st, VIEW_WALLTIME_S),
		.gpu_model = store_text(st, VIEW_GPU_MODEL),
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

#define PATTERN_MAX (2 * REQUEST_NAME_MAX + 4)

/* "%a!_b%" of "a_b": what LIKE gives a meaning to is escaped. */
static const char *make_pattern(const char *text, char buf[static PATTERN_MAX])
{
	char *to = buf;

	if (!text)
		return NULL;
	*to++ = '%';
	for (; *text && to < buf + PATTERN_MAX - 4; text++) {
		if (strchr("%_!", *text))
			*to++ = '!';
		*to++ = *text;
	}
	*to++ = '%';
	*to = '\0';
	return buf;
}

struct job_sink {
	store_job_fn fn;
	void *ctx;
};

/* How many jobs were passed. */
static int list_jobs(struct store *s, const struct store_filter *f, const struct job_sink *to,
		     struct err *err)
{
	char pattern[PATTERN_MAX];
	struct db_row *st;
	int r = db_query(s->db, err, &st, choose_sql(f), "tttiiiiiittiii", f->user, f->account,
			 f->node, (int64_t)f->state, f->before ? f->before : INT64_MAX,
			 f->limit, (int64_t)(f->elements == STORE_ELEMENTS || f->array),
			 f->array, f->from, f->queue, make_pattern(f->name, pattern),
			 f->submitted_ns, f->before_ns ? f->before_ns : INT64_MAX,
			 (int64_t)!f->in_brief);

	return r < 0 ? r : each_job(s, st, to->fn, to->ctx, err);
}

/* f: its `before` is set. */
static int list_node(struct store *s, struct store_filter *f, const struct job_sink *to,
		     struct err *err)
{
	struct store_segment_range behind;
	int r = 1;

	while (f->limit > 0 && (r = store_next_segment(s, f, &behind, err)) > 0) {
		r = list_jobs(s, f, to, err);
		if (r < 0)
			return r;
		f->limit -= r;
		f->before = behind.before;
		f->from = behind.from;
	}
	return r < 0 ? r : 0;
}

int store_jobs(struct store *s, const struct store_filter *f, store_job_fn fn, void *ctx,
	       struct err *err)
{
	const struct job_sink to = { fn, ctx };
	struct store_filter by = *f;
	int r;

	if (!by.before)
		by.before = INT64_MAX;
	r = is_by_node(f) ? list_node(s, &by, &to, err) : list_jobs(s, f, &to, err);
	return r < 0 ? r : 0;
}

int store_job(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, VIEW_SELECT CURRENT_ATTEMPT " WHERE j.job = ?1", "i",
			 job);

	if (r >= 0)
		r = each_job(s, st, fn, ctx, err);
	if (r == 0)
		return store_no_job(s, job, err);
	return r < 0 ? r : 0;
}

int store_attempts(struct store *s, int64_t job, store_job_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 VIEW_SELECT EVERY_ATTEMPT " WHERE j.job = ?1 ORDER BY a.attempt", "i",
			 job);

	if (r >= 0)
		r = each_job(s, st, fn, ctx, err);
	return r < 0 ? r : 0;
}

enum count_column { COUNT_CLUSTER, COUNT_STATE, COUNT_N };

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
		struct store_count c = { store_text(st, COUNT_CLUSTER),
					 (enum job_state)(int)db_int(st, COUNT_STATE),
					 db_int(st, COUNT_N) };

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
