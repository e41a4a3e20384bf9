/* charges.c - reads and writes run intervals, and lists queued jobs. See usage/charges.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/changes.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/run_interval.h"
#include "controller/ledger/sql.h"

struct charges {
	struct store *s;
	const struct store_charge_span *span;
	store_charge_fn fn;
	void *ctx;
};

/* The part of it that is within the span. */
static int report_charge(const struct charges *c, struct store_charge *charge, struct err *err)
{
	int64_t until = c->span->until_ns;

	if (charge->from_ns > charge->to_ns)
		charge->from_ns = charge->to_ns;
	if (charge->to_ns < c->span->since_ns || charge->from_ns >= until)
		return 0;
	if (charge->to_ns > until) {
		charge->running_ns = charge_part(charge->running_ns, until - charge->from_ns,
						 charge->to_ns - charge->from_ns);
		charge->to_ns = until;
	}
	return c->fn(c->ctx, charge, err);
}

/* The columns of STRETCHES and IMPORTED. Times are in ns, or in s where `unit` is a second. */
enum ran_column {
	RAN_CLUSTER,
	RAN_ACCOUNT,
	RAN_USER,
	RAN_QUEUE,
	RAN_POOL,
	RAN_FROM,
	RAN_TO,
	RAN_RUNNING,
	RAN_RATE_NUM,
	RAN_RATE_DEN,
	RAN_NCPUS,
	RAN_NGPUS,
	RAN_VMEM_BYTES,
	RAN_MEM_BYTES,
};
static int pass_row(const struct charges *c, struct db_row *st, int64_t unit, struct err *err)
{
	int64_t vmem_bytes = db_int(st, RAN_VMEM_BYTES);
	struct store_charge charge = {
		.cluster = store_text(st, RAN_CLUSTER),
		.account = store_text(st, RAN_ACCOUNT),
		.user = store_text(st, RAN_USER),
		.queue = store_text(st, RAN_QUEUE),
		.pool = (enum charge_pool)(int)db_int(st, RAN_POOL),
		.from_ns = db_int(st, RAN_FROM) * unit,
		.to_ns = db_int(st, RAN_TO) * unit,
		.running_ns = db_int(st, RAN_RUNNING) * unit,
		.rate = { db_int(st, RAN_RATE_NUM), db_int(st, RAN_RATE_DEN) },
		.ncpus = db_int(st, RAN_NCPUS),
		.ngpus = db_int(st, RAN_NGPUS),
		.mem_bytes = vmem_bytes ? vmem_bytes : db_int(st, RAN_MEM_BYTES),
	};

	return report_charge(c, &charge, err);
}

static int pass_rows(const struct charges *c, struct db_row *st, int64_t unit, struct err *err)
{
	int r;

	while ((r = db_step(c->s->db, st, err)) > 0) {
		r = pass_row(c, st, unit, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

static int read_charges(const struct charges *c, const char *sql, int64_t unit, struct err *err)
{
	struct db_row *st;
	int r = db_query(c->s->db, err, &st, sql, "ii", c->span->since_ns / unit,
			 c->span->until_ns / unit + 1);

	if (r < 0)
		return r;
	db_scan(st);
	return pass_rows(c, st, unit, err);
}

#define STRETCHES                                                                              \
	"SELECT j.cluster, j.account, j.user, j.queue, j.pool, x.from_ns, x.to_ns,"            \
	" x.running_ns, j.rate_num, j.rate_den, j.ncpus, j.ngpus, j.vmem_bytes, j.mem_bytes"   \
	" FROM stretches x JOIN jobs j USING(job) WHERE x.to_ns >= ?1 AND x.from_ns < ?2"
#define IMPORTED                                                                               \
	"SELECT a.cluster, a.account, a.user, '', i.pool, submit_s + wait_s,"                  \
	" submit_s + wait_s + run_s + COALESCE(suspended_s, 0), run_s,"                        \
	" COALESCE(rate_num, ncpus),"                                                          \
	" COALESCE(rate_den, 1), ncpus, ngpus, 0, COALESCE(mem_bytes, 0)"                      \
	" FROM imported i JOIN associations a ON a.id = i.association"                         \
	" WHERE submit_s + wait_s + run_s + COALESCE(suspended_s, 0) >= ?1"                    \
	" AND submit_s + wait_s < ?2"
static const char stretches_sql[] = STRETCHES;
static const char imported_sql[] = IMPORTED;

/* ---- adjustments ---- */

/* The stretches of one job, live or imported. */
#define OF_LIVE_JOB " AND x.job = ?3 AND j.cluster = ?4"
#define OF_IMPORTED_JOB                                                                        \
	" AND i.id = (SELECT o.id FROM origins o WHERE o.cluster = ?4) * 1099511627776 + ?3"
static const char job_stretches_sql[] = STRETCHES OF_LIVE_JOB;
static const char job_imported_sql[] = IMPORTED OF_IMPORTED_JOB;

struct of_job {
	const struct charges *c;
	int64_t job;
	double charge_ms; /* of all its stretches */
	double part;	  /* of each, to be told */
};

static int add_charge(void *ctx, const struct store_charge *c, struct err *err)
{
	struct of_job *o = ctx;

	(void)err;
	o->charge_ms += (double)c->running_ns / 1e6 * (double)c->rate.num / (double)c->rate.den;
	return 0;
}

static int pass_part(void *ctx, const struct store_charge *c, struct err *err)
{
	const struct of_job *o = ctx;
	struct store_charge part = *c;

	part.running_ns = (int64_t)((double)c->running_ns * o->part);
	return report_charge(o->c, &part, err);
}

static int each_of_job(const struct of_job *o, const struct store_adjustment *a,
		       store_charge_fn fn, struct err *err)
{
	/* A job that runs on is refunded of what it had run by then. */
	const struct store_charge_span span = { INT64_MIN / 4, a->at_ns };
	const struct charges c = { o->c->s, &span, fn, (void *)o };
	static const struct {
		const char *sql;
		int64_t unit;
	} kinds[] = { { job_stretches_sql, 1 }, { job_imported_sql, S_NS } };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(kinds) && r >= 0; i++) {
		struct db_row *st;

		r = db_query(c.s->db, err, &st, kinds[i].sql, "iiit",
			     span.since_ns / kinds[i].unit, span.until_ns / kinds[i].unit + 1,
			     a->job, a->cluster);
		if (r >= 0)
			r = pass_rows(&c, st, kinds[i].unit, err);
	}
	return r;
}

static int adjust_job(const struct charges *c, const struct store_adjustment *a,
		      struct err *err)
{
	struct of_job o = { .c = c, .job = a->job };
	int r = each_of_job(&o, a, add_charge, err);

	if (r < 0 || o.charge_ms <= 0)
		return r;
	o.part = (double)a->charge_ms / o.charge_ms;
	return each_of_job(&o, a, pass_part, err);
}

static int adjust_day(const struct charges *c, const struct store_adjustment *a,
		      struct err *err)
{
	struct store_charge charge = {
		.cluster = a->cluster,
		.account = a->account,
		.user = a->user,
		.queue = "",
		.pool = a->pool,
		.from_ns = calendar_first_ns(c->s->calendar, a->day),
		.to_ns = calendar_first_ns(c->s->calendar, a->day + 1),
		.rate = { 0, 1 },
		.adjusted_ms = a->charge_ms,
	};

	if (charge.to_ns > a->at_ns)
		charge.to_ns = a->at_ns;
	return report_charge(c, &charge, err);
}

static int adjust_charges(const struct charges *c, const struct store_adjustment *a,
			  struct err *err)
{
	if (a->at_ns > c->span->until_ns)
		return 0;
	return a->job ? adjust_job(c, a, err) : adjust_day(c, a, err);
}

int store_adjustment_charges(struct store *s, const struct store_adjustment *a,
			     store_charge_fn fn, void *ctx, struct err *err)
{
	const struct store_charge_span span = { INT64_MIN, a->at_ns };
	const struct charges c = { s, &span, fn, ctx };

	return adjust_charges(&c, a, err);
}

static int adjust_one(void *ctx, const struct store_adjustment *a, struct err *err)
{
	return adjust_charges(ctx, a, err);
}

int store_charges(struct store *s, const struct store_charge_span *span, store_charge_fn fn,
		  void *ctx, struct err *err)
{
	static const struct store_adjustments all = { 0 };
	struct charges c = { s, span, fn, ctx };
	int r = read_charges(&c, stretches_sql, 1, err);

	if (r >= 0)
		r = read_charges(&c, imported_sql, S_NS, err);
	return r < 0 ? r : store_adjustments(s, &all, adjust_one, &c, err);
}

int store_last_charge(struct store *s, int64_t *ret_ns, struct err *err)
{
	struct db_row *st;
	int64_t live, imported;
	int r = db_query_first(s->db, err, &st,
			       "SELECT COALESCE((SELECT MAX(to_ns) FROM stretches), -1),"
			       " (SELECT value FROM meta WHERE key = 'imported_until_s')",
			       "");

	if (r < 0)
		return r;
	live = db_int(st, 0);
	imported = db_text(st, 1) ? strtoll(db_text(st, 1), NULL, 10) * S_NS : -1;
	db_done(st);
	*ret_ns = live > imported ? live : imported;
	return *ret_ns < 0;
}

/* ---- writing: from attempts/report.c, in its transaction ---- */

struct stretch {
	int64_t from_ns, to_ns, running_ns;
	bool is_even;
};

/* The last one that does not begin later. 1: there is one. */
static int load_stretch(struct store *s, const struct store_run_interval *x,
			struct stretch *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT from_ns, to_ns, running_ns, even FROM stretches"
			       " WHERE job = ?1 AND attempt = ?2 AND from_ns <= ?3"
			       " ORDER BY from_ns DESC LIMIT 1",
			       "iii", x->job, (int64_t)x->attempt, x->from_ns);

	if (r <= 0)
		return r;
	*ret = (struct stretch){ db_int(st, 0), db_int(st, 1), db_int(st, 2),
				 (int)db_int(st, 3) };
	db_done(st);
	return 1;
}

int store_run_interval(struct store *s, struct store_run_interval *x,
		       struct sync_usage_delta *gain, struct err *err)
{
	struct stretch was = { 0 }, now;
	bool is_even = x->suspended_ns == 0;
	int r = 0;

	if (x->running_ns <= 0)
		return 0;
	if (x->from_ns > x->to_ns)
		x->from_ns = x->to_ns;
	r = load_stretch(s, x, &was, err);
	if (r < 0)
		return r;
	now = (struct stretch){ x->from_ns, x->to_ns, x->running_ns, is_even };
	if (r > 0 && (was.from_ns == x->from_ns ||
		      (was.is_even && is_even && was.to_ns == x->from_ns))) {
		now.from_ns = was.from_ns;
		now.to_ns = was.to_ns > x->to_ns ? was.to_ns : x->to_ns;
		now.running_ns += was.running_ns;
		now.is_even &= was.is_even;
	} else {
		was = (struct stretch){ .from_ns = x->from_ns, .to_ns = x->from_ns };
	}
	gain->from_ns = now.from_ns;
	gain->was_to_ns = was.to_ns;
	gain->was_running_ns = was.running_ns;
	gain->to_ns = now.to_ns;
	gain->running_ns = now.running_ns;
	return db_run(s->db, err,
		      "INSERT INTO stretches(job, attempt, from_ns, to_ns, running_ns, even)"
		      " VALUES(?1, ?2, ?3, ?4, ?5, ?6)"
		      " ON CONFLICT(job, attempt, from_ns) DO UPDATE SET"
		      " to_ns = excluded.to_ns, running_ns = excluded.running_ns,"
		      " even = excluded.even",
		      "iiiiii", x->job, (int64_t)x->attempt, now.from_ns, now.to_ns,
		      now.running_ns, (int64_t)now.is_even);
}

/* ---- the queue ---- */

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

/* What is read of a queued job. "state < ENDED" says nothing new, but the planner takes the index
 * of active jobs only where it is spelled out. */
#define WAITING_SQL                                                                            \
	WAITING_SELECT " FROM jobs WHERE state = " SQL_JOB_QUEUED " AND state < " SQL_JOB_ENDED
#define ELIGIBLE_SQL WAITING_SQL " AND withheld = 0"

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

/* The row that the statement stands at, if it is of that cluster. */
static int pass_of_cluster(struct db_row *st, const char *cluster, const struct receiver *to,
			   struct err *err)
{
	return strcmp(store_text(st, 2), cluster) == 0 ? pass_waiting(st, to->fn, to->ctx, err)
						       : 0;
}

int store_waiting_these(struct store *s, const struct store_these *these, store_waiting_fn fn,
			void *ctx, struct err *err)
{
	/* By their numbers, not by the index of those that are queued. */
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
