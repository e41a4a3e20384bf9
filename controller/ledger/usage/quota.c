/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - reads the sums and the active jobs that quotas count, and notes what a quota did to a job.
 * See usage/quota.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/quota.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

/* The columns of the sums; SUM_WHEN is a day, or a month in months_sql. */
enum sum_column { SUM_USER, SUM_WHEN, SUM_CHARGE_MS, SUM_CORE_MS, SUM_GPU_MS };

/* What counts against a quota: the charge with its adjustments. */
#define SUMS                                                                                   \
	" SUM(charge_requested_ms + adjusted_ms), SUM(core_ms), SUM(gpu_ms) FROM rollups"      \
	" WHERE account = ?1 AND (?2 = '' OR cluster = ?2) AND pool = ?3"                      \
	" AND day >= ?4 AND day < ?5"

static const char days_sql[] = "SELECT NULL, day," SUMS " GROUP BY day ORDER BY day";
static const char users_sql[] = "SELECT user, 0," SUMS " GROUP BY user ORDER BY user";

static const char months_sql[] =
	"SELECT NULL, m.month, SUM(m.charge_requested_ms + m.adjusted_ms), SUM(m.core_ms),"
	" SUM(m.gpu_ms) FROM associations a JOIN months m ON m.association = a.id"
	" WHERE a.account = ?1 AND (?2 = '' OR a.cluster = ?2) AND m.pool = ?3"
	" AND m.month >= ?4 AND m.month < ?5 GROUP BY m.month ORDER BY m.month";

struct receiver {
	store_quota_sum_fn fn;
	void *ctx;
	bool is_by_month;
};

/* The span is in days, or in months where the receiver is by month. */
static int each_sum(struct store *s, const char *sql, const struct store_quota_span *span,
		    const struct receiver *to, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, sql, "ttiii", span->account,
			 span->cluster ? span->cluster : "", (int64_t)span->pool,
			 span->from_day, span->to_day);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int64_t when = db_int(st, SUM_WHEN);
		const struct store_quota_sum sum = {
			.user = db_text(st, SUM_USER),
			.day = to->is_by_month ? calendar_month_first(when) : when,
			.charge_ms = db_int(st, SUM_CHARGE_MS),
			.core_ms = db_int(st, SUM_CORE_MS),
			.gpu_ms = db_int(st, SUM_GPU_MS),
		};

		r = to->fn(to->ctx, &sum, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_quota_days(struct store *s, const struct store_quota_span *span,
		     store_quota_sum_fn fn, void *ctx, struct err *err)
{
	return each_sum(s, days_sql, span, &(struct receiver){ fn, ctx, false }, err);
}

int store_quota_users(struct store *s, const struct store_quota_span *span,
		      store_quota_sum_fn fn, void *ctx, struct err *err)
{
	return each_sum(s, users_sql, span, &(struct receiver){ fn, ctx, false }, err);
}

int store_quota_months(struct store *s, const struct store_quota_span *span,
		       store_quota_sum_fn fn, void *ctx, struct err *err)
{
	struct store_quota_span months = *span;

	months.from_day = calendar_month(span->from_day);
	months.to_day = calendar_month(span->to_day - 1) + 1;
	return each_sum(s, months_sql, &months, &(struct receiver){ fn, ctx, true }, err);
}

/* clang-format off */
#define ACTIVE_COLUMNS(X) \
	X(ACTIVE_JOB,        "j.job") \
	X(ACTIVE_CLUSTER,    ", j.cluster") \
	X(ACTIVE_ACCOUNT,    ", j.account") \
	X(ACTIVE_USER,       ", j.user") \
	X(ACTIVE_QUEUE,      ", j.queue") \
	X(ACTIVE_STATE,      ", j.state") \
	X(ACTIVE_WANT,       ", j.want") \
	X(ACTIVE_POOL,       ", j.pool") \
	X(ACTIVE_RATE_NUM,   ", j.rate_num") \
	X(ACTIVE_RATE_DEN,   ", j.rate_den") \
	X(ACTIVE_NCPUS,      ", j.ncpus") \
	X(ACTIVE_NGPUS,      ", j.ngpus") \
	X(ACTIVE_MEM_BYTES,  ", CASE WHEN j.vmem_bytes > 0 THEN j.vmem_bytes ELSE j.mem_bytes END") \
	X(ACTIVE_WALLTIME_S, ", j.walltime_s") \
	X(ACTIVE_RUNNING_NS, ", COALESCE(a.running_ns, 0)") \
	X(ACTIVE_CHARGE_MS,  ", COALESCE(a.charge_requested_ms, 0)") \
	X(ACTIVE_WITHHELD,   ", j.withheld") \
	X(ACTIVE_N,          ", CASE WHEN (j.withheld & " SQL_STORE_IS_ARRAY ") <> 0 THEN " \
		" (SELECT r.n_waiting FROM arrays r WHERE r.job = j.job) ELSE 1 END") \
	X(ACTIVE_QOS,        ", j.qos")
/* clang-format on */
enum { ACTIVE_COLUMNS(SQL_NAME) };
#define ACTIVE_SELECT "SELECT " ACTIVE_COLUMNS(SQL_COLUMN)

/* "+": with a plain "j.job" SQLite would read all jobs in the order of their numbers instead of the
 * index of active jobs. */
static const char active_sql[] = ACTIVE_SELECT
	" FROM jobs j"
	" LEFT JOIN attempts a ON a.job = j.job AND a.attempt = j.attempt AND j.state > " SQL_JOB_QUEUED
	" WHERE j.state < " SQL_JOB_ENDED " ORDER BY +j.job";

static void read_job(struct db_row *st, struct store_quota_job *j)
{
	*j = (struct store_quota_job){
		.job = db_int(st, ACTIVE_JOB),
		.cluster = store_text(st, ACTIVE_CLUSTER),
		.account = store_text(st, ACTIVE_ACCOUNT),
		.user = store_text(st, ACTIVE_USER),
		.queue = store_text(st, ACTIVE_QUEUE),
		.state = (enum job_state)(int)db_int(st, ACTIVE_STATE),
		.want = (enum job_desired)(int)db_int(st, ACTIVE_WANT),
		.pool = (enum charge_pool)(int)db_int(st, ACTIVE_POOL),
		.rate = { db_int(st, ACTIVE_RATE_NUM), db_int(st, ACTIVE_RATE_DEN) },
		.held = { .ncpus = db_int(st, ACTIVE_NCPUS),
			  .ngpus = db_int(st, ACTIVE_NGPUS),
			  .mem_bytes = db_int(st, ACTIVE_MEM_BYTES),
			  .walltime_s = db_int(st, ACTIVE_WALLTIME_S) },
		.running_ns = db_int(st, ACTIVE_RUNNING_NS),
		.charge_ms = db_int(st, ACTIVE_CHARGE_MS),
		.is_withheld = db_int(st, ACTIVE_WITHHELD) != 0,
		.n = db_int(st, ACTIVE_N),
		.qos = store_text(st, ACTIVE_QOS),
	};
}

int store_quota_active(struct store *s, store_quota_job_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, active_sql, "");

	if (r < 0)
		return r;
	while ((r = db_step(s->db, st, err)) > 0) {
		struct store_quota_job j;

		read_job(st, &j);
		r = fn(ctx, &j, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

int store_quota_note(struct store *s, const struct store_quota_note *n, struct err *err)
{
	struct store_event e = { n->now_ns, n->job, NULL, "quota", n->text };
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, store_event(s, &e, err), err);
}

int store_quota_noted(struct store *s, int64_t job, char ret[static STORE_QUOTA_NOTE_MAX],
		      struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT text FROM events WHERE job = ?1 AND what = 'quota'"
			       " ORDER BY id DESC LIMIT 1",
			       "i", job);

	if (r < 0)
		return r;
	snprintf(ret, STORE_QUOTA_NOTE_MAX, "%s", r > 0 ? store_text(st, 0) : "");
	db_done(st);
	return 0;
}
