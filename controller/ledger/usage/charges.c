/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charges.c - reads and writes run intervals, and turns adjustments into charges. See usage/charges.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/charges.h"
#include "controller/ledger/usage/run_interval.h"
#include "controller/ledger/sql.h"

struct charges {
	struct store *s;
	const struct store_charge_span *span;
	store_charge_fn fn;
	void *ctx;
};

/* Passes on what of the charge is within the span; changes *charge. */
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

/* The columns of INTERVALS and IMPORTED. Times are in ns, or in s where `unit` is a second. */
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
/* `unit`: how many ns the times of the row are counted in. */
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

#define INTERVALS                                                                              \
	"SELECT j.cluster, j.account, j.user, j.queue, j.pool, x.from_ns, x.to_ns,"            \
	" x.running_ns," SQL_RAN_RATE("rate_num") "," SQL_RAN_RATE(                            \
		"rate_den") ", j.ncpus, j.ngpus, j.vmem_bytes, j.mem_bytes"                    \
			    " FROM stretches x JOIN jobs j USING(job) WHERE x.to_ns >= ?1 AND x.from_ns < ?2"
#define IMPORTED                                                                               \
	"SELECT a.cluster, a.account, a.user, '', i.pool, submit_s + wait_s,"                  \
	" submit_s + wait_s + run_s + COALESCE(suspended_s, 0), run_s,"                        \
	" COALESCE(rate_num, ncpus),"                                                          \
	" COALESCE(rate_den, 1), ncpus, ngpus, 0, COALESCE(mem_bytes, 0)"                      \
	" FROM imported i JOIN associations a ON a.id = i.association"                         \
	" WHERE submit_s + wait_s + run_s + COALESCE(suspended_s, 0) >= ?1"                    \
	" AND submit_s + wait_s < ?2"
/* Of jobs that were moved to files: archive/archive.h. */
#define ARCHIVED                                                                               \
	"SELECT a.cluster, a.account, a.user, x.queue, x.pool, x.from_ns, x.to_ns,"            \
	" x.running_ns, x.rate_num, x.rate_den, x.ncpus, x.ngpus, 0, x.mem_bytes"              \
	" FROM archived_runs x JOIN associations a ON a.id = x.association"                    \
	" WHERE x.to_ns >= ?1 AND x.from_ns < ?2"
static const char intervals_sql[] = INTERVALS;
static const char archived_sql[] = ARCHIVED;
static const char imported_sql[] = IMPORTED;

/* ---- adjustments ---- */

/* The run intervals of one job: live, archived or imported. */
#define OF_LIVE_JOB " AND x.job = ?3 AND j.cluster = ?4"
#define OF_IMPORTED_JOB                                                                        \
	" AND i.id = (SELECT o.id FROM origins o WHERE o.cluster = ?4) * 1099511627776 + ?3"
static const char job_intervals_sql[] = INTERVALS OF_LIVE_JOB;
static const char job_imported_sql[] = IMPORTED OF_IMPORTED_JOB;
static const char job_archived_sql[] = ARCHIVED " AND x.job = ?3 AND a.cluster = ?4";

struct of_job {
	const struct charges *c;
	int64_t job;
	double charge_ms; /* of all its run intervals */
	double part;	  /* of each, that is adjusted */
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

/* Calls fn for each run interval of the adjusted job. */
static int each_of_job(const struct of_job *o, const struct store_adjustment *a,
		       store_charge_fn fn, struct err *err)
{
	/* Of a job that still runs, the refund is of what it had run by then. */
	const struct store_charge_span span = { INT64_MIN / 4, a->at_ns };
	const struct charges c = { o->c->s, &span, fn, (void *)o };
	static const struct {
		const char *sql;
		int64_t unit;
	} kinds[] = { { job_intervals_sql, 1 },
		      { job_archived_sql, 1 },
		      { job_imported_sql, S_NS } };
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

/* First sums up the charge of the job's run intervals, then passes the same part of each. */
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

/* An adjustment of no job: spread evenly over its day. */
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
	int r = read_charges(&c, archived_sql, 1, err);

	if (r >= 0)
		r = read_charges(&c, intervals_sql, 1, err);
	if (r >= 0)
		r = read_charges(&c, imported_sql, S_NS, err);
	return r < 0 ? r : store_adjustments(s, &all, adjust_one, &c, err);
}

enum last_column { LAST_LIVE_NS, LAST_IMPORTED_S };

int store_last_charge(struct store *s, int64_t *ret_ns, struct err *err)
{
	struct db_row *st;
	int64_t live, imported = -1;
	int r = db_query_first(s->db, err, &st,
			       "SELECT COALESCE((SELECT MAX(to_ns) FROM stretches),"
			       " (SELECT MAX(to_ns) FROM archived_runs), -1),"
			       " (SELECT value FROM meta WHERE key = 'imported_until_s')",
			       "");

	if (r < 0)
		return r;
	live = db_int(st, LAST_LIVE_NS);
	if (!db_is_null(st, LAST_IMPORTED_S)) /* a text, as all of meta */
		imported = strtoll(store_text(st, LAST_IMPORTED_S), NULL, 10) * S_NS;
	db_done(st);
	*ret_ns = live > imported ? live : imported;
	return *ret_ns < 0;
}

/* ---- writing: from attempts/report.c, in its transaction ---- */

enum interval_column { INTERVAL_FROM_NS, INTERVAL_TO_NS, INTERVAL_RUNNING_NS, INTERVAL_EVEN };

/* The last run interval of the attempt that begins at x->from_ns or before. Nearly always it is the last one of all, which is known. 1: there is
 * one. */
static int load_run_interval(struct store *s, const struct store_run_interval *x,
			     struct store_run_last *ret, struct err *err)
{
	struct db_row *st;
	int r;

	if (x->last->is_known && (!x->last->is_there || x->last->from_ns <= x->from_ns)) {
		*ret = *x->last;
		return ret->is_there;
	}
	r = db_query_first(s->db, err, &st,
			   "SELECT from_ns, to_ns, running_ns, even FROM stretches"
			   " WHERE job = ?1 AND attempt = ?2 AND from_ns <= ?3"
			   " ORDER BY from_ns DESC LIMIT 1",
			   "iii", x->job, (int64_t)x->attempt, x->from_ns);
	if (r <= 0)
		return r;
	*ret = (struct store_run_last){ .from_ns = db_int(st, INTERVAL_FROM_NS),
					.to_ns = db_int(st, INTERVAL_TO_NS),
					.running_ns = db_int(st, INTERVAL_RUNNING_NS),
					.is_even = db_int(st, INTERVAL_EVEN) != 0 };
	db_done(st);
	return 1;
}

#define INTERVAL_FORMAT "iiiiii"
static const char interval_sql[] =
	"INSERT INTO stretches(job, attempt, from_ns, to_ns, running_ns, even)"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(job, attempt, from_ns) DO UPDATE SET"
	" to_ns = excluded.to_ns, running_ns = excluded.running_ns, even = excluded.even";

struct db_rows store_run_interval_rows(void)
{
	return (struct db_rows){ .sql = interval_sql, .format = INTERVAL_FORMAT };
}

static int write_interval(struct store *s, const struct store_run_interval *x,
			  const struct store_run_last *now, struct err *err)
{
	if (x->rows)
		return db_rows_add(x->rows, err, x->job, (int64_t)x->attempt, now->from_ns,
				   now->to_ns, now->running_ns, (int64_t)now->is_even);
	return db_run_later(s->db, err, interval_sql, INTERVAL_FORMAT, x->job,
			    (int64_t)x->attempt, now->from_ns, now->to_ns, now->running_ns,
			    (int64_t)now->is_even);
}

int store_run_interval(struct store *s, struct store_run_interval *x,
		       struct sync_usage_delta *gain, struct err *err)
{
	struct store_run_last was = { 0 }, now;
	bool is_even = x->suspended_ns == 0;
	int r = 0;

	if (x->running_ns <= 0)
		return 0;
	if (x->from_ns > x->to_ns)
		x->from_ns = x->to_ns;
	r = load_run_interval(s, x, &was, err);
	if (r < 0)
		return r;
	now = (struct store_run_last){ .from_ns = x->from_ns,
				       .to_ns = x->to_ns,
				       .running_ns = x->running_ns,
				       .is_even = is_even };
	/* An interval is known by its beginning: one that begins at the same moment is lengthened too. */
	if (r > 0 && (was.from_ns == x->from_ns ||
		      (was.is_even && is_even && was.to_ns == x->from_ns))) {
		now.from_ns = was.from_ns;
		now.to_ns = was.to_ns > x->to_ns ? was.to_ns : x->to_ns;
		now.running_ns += was.running_ns;
		now.is_even &= was.is_even;
	} else {
		was = (struct store_run_last){ .from_ns = x->from_ns, .to_ns = x->from_ns };
	}
	gain->from_ns = now.from_ns;
	gain->was_to_ns = was.to_ns;
	gain->was_running_ns = was.running_ns;
	gain->to_ns = now.to_ns;
	gain->running_ns = now.running_ns;
	return write_interval(s, x, &now, err);
}
