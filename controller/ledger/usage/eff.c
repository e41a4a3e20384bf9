/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff.c - reads the attempts of a filter, with what they requested and used, from live jobs and from
 * imported ones. See usage/eff.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/usage/eff.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/ledger/import/imported.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/sql.h"

/* What one row was read into; good until the next row is read. */
struct read_row {
	struct store_eff_attempt e;
	struct history_job job; /* that e.history points to */
};

/* ---- jobs that Reeve ran ---- */

/* clang-format off */
#define LIVE_COLUMNS(X) \
	X(LIVE_JOB,                 "j.job") \
	X(LIVE_CLUSTER,             ", j.cluster") \
	X(LIVE_ACCOUNT,             ", j.account") \
	X(LIVE_USER,                ", j.user") \
	X(LIVE_NCPUS,               ", j.ncpus") \
	X(LIVE_NGPUS,               ", j.ngpus") \
	X(LIVE_VMEM_BYTES,          ", j.vmem_bytes") \
	X(LIVE_MEM_BYTES,           ", j.mem_bytes") \
	X(LIVE_JOBFS_BYTES,         ", j.jobfs_bytes") \
	X(LIVE_WALLTIME_S,          ", j.walltime_s") \
	X(LIVE_RUNNING_NS,          ", a.running_ns") \
	X(LIVE_CHARGE_REQUESTED_MS, ", a.charge_requested_ms") \
	X(LIVE_END_KIND,            ", a.end_kind") \
	X(LIVE_EXIT_STATUS,         ", a.exit_status") \
	X(LIVE_END,                 ", a.end") \
	X(LIVE_CPU_NS,              ", a.usage ->> '$.cpu_ns'") \
	X(LIVE_RSS_PEAK,            ", a.usage ->> '$.rss_peak_bytes'") \
	X(LIVE_VMEM_PEAK,           ", a.usage ->> '$.vmem_peak_bytes'") \
	X(LIVE_JOBFS_PEAK,          ", a.usage ->> '$.jobfs_peak_bytes'") \
	X(LIVE_MEM_PEAK,            ", a.usage ->> '$.mem_peak_bytes'") \
	X(LIVE_BUNDLE_GPUS_NUM,     ", j.bundle_gpus_num") \
	X(LIVE_BUNDLE_GPUS_DEN,     ", j.bundle_gpus_den") \
	X(LIVE_BUNDLE_CORES_NUM,    ", j.bundle_cores_num") \
	X(LIVE_BUNDLE_CORES_DEN,    ", j.bundle_cores_den") \
	X(LIVE_BUNDLE_MEMORY_NUM,   ", j.bundle_memory_num") \
	X(LIVE_BUNDLE_MEMORY_DEN,   ", j.bundle_memory_den") \
	X(LIVE_GPU_MODEL,           ", j.gpu_model") \
	X(LIVE_GPU_BUSY_NS,         ", a.usage ->> '$.gpu_busy_ns'") \
	X(LIVE_GPU_MEM_PEAK,        ", a.usage ->> '$.gpu_mem_peak_bytes'") \
	X(LIVE_GPUS_USED,           ", a.usage ->> '$.gpus_used'") \
	X(LIVE_IS_SIMULATED,        ", CASE WHEN a.gpus LIKE '%\"simulated\":true%' THEN 1" \
		" ELSE 0 END") \
	X(LIVE_SUMMED,              ", j.summed") \
	X(LIVE_IS_PBS,              ", (SELECT o.is_pbs FROM origins o" \
		" WHERE o.id = j.job >> 40)")
/* clang-format on */
enum { LIVE_COLUMNS(SQL_NAME) };
#define LIVE_SELECT "SELECT " LIVE_COLUMNS(SQL_COLUMN)
#define LIVE_JOBS LIVE_SELECT " FROM jobs j JOIN attempts a USING(job)"
/* ?1 cluster, ?2 account, ?3 user. */
#define LIVE_OF                                                                                \
	" AND (?1 IS NULL OR j.cluster = ?1) AND (?2 IS NULL OR j.account = ?2)"               \
	" AND (?3 IS NULL OR j.user = ?3)"
#define LIVE_ENDED                                                                             \
	" j.state = " SQL_JOB_ENDED                                                            \
	" AND a.running_ns > 0 AND j.ended_ns >= ?4 AND j.ended_ns < ?5"                       \
	" AND (?6 = 0 OR j.job > (SELECT COALESCE(MAX(job), 0) FROM jobs"                      \
	" WHERE job < " SQL_SLURM_FROM ") - ?6)" LIVE_OF " ORDER BY j.job, a.attempt"

static const char live_job_sql[] =
	LIVE_JOBS " WHERE j.job = ?4 AND a.running_ns > 0" LIVE_OF " ORDER BY a.attempt";
static const char live_user_sql[] = LIVE_JOBS " WHERE j.user = ?3 AND" LIVE_ENDED;
static const char live_account_sql[] = LIVE_JOBS " WHERE j.account = ?2 AND" LIVE_ENDED;
static const char live_sql[] = LIVE_JOBS " WHERE" LIVE_ENDED;

static void read_measured(struct usage *u, int64_t *field, struct db_row *st, int column)
{
	if (!db_is_null(st, column))
		usage_set(u, field, db_int(st, column));
}

static struct fraction fraction_at(struct db_row *st, int column)
{
	return (struct fraction){ db_int(st, column), db_int(st, column + 1) };
}

/* The full end is decoded only where a limit ended the job: advice needs by how much it was exceeded. */
static void read_live_end(struct db_row *st, struct job_end *end)
{
	enum job_end_kind kind = (enum job_end_kind)(int)db_int(st, LIVE_END_KIND);
	const char *text = db_text(st, LIVE_END);
	_cleanup_json_ json_t *doc = NULL;

	if (kind == END_LIMIT && text)
		doc = wire_load(text, 0, NULL);
	if (!doc || wire_decode_end(doc, "end", end, NULL) < 0)
		*end = (struct job_end){ .kind = kind,
					 .exit_status = (int)db_int(st, LIVE_EXIT_STATUS) };
}

static enum engine read_engine(struct db_row *st)
{
	if (!store_is_slurm(db_int(st, LIVE_JOB)))
		return ENGINE_REEVE;
	return db_int(st, LIVE_IS_PBS) ? ENGINE_PBS : ENGINE_SLURM;
}

static int read_live(struct db_row *st, struct read_row *ret, struct err *err)
{
	struct store_eff_attempt *e = &ret->e;
	struct eff_attempt *a = &e->a;

	(void)err;
	e->history = NULL;
	e->cluster = store_text(st, LIVE_CLUSTER);
	e->account = store_text(st, LIVE_ACCOUNT);
	e->user = store_text(st, LIVE_USER);
	a->job = db_int(st, LIVE_JOB);
	a->engine = read_engine(st);
	a->is_history = false;
	a->requested = (struct resources){ .ncpus = db_int(st, LIVE_NCPUS),
					   .ngpus = db_int(st, LIVE_NGPUS),
					   .vmem_bytes = db_int(st, LIVE_VMEM_BYTES),
					   .mem_bytes = db_int(st, LIVE_MEM_BYTES),
					   .jobfs_bytes = db_int(st, LIVE_JOBFS_BYTES),
					   .walltime_s = db_int(st, LIVE_WALLTIME_S) };
	a->running_ns = db_int(st, LIVE_RUNNING_NS);
	a->charge_ms = db_int(st, LIVE_CHARGE_REQUESTED_MS);
	read_live_end(st, &a->end);
	a->usage.have = 0;
	read_measured(&a->usage, &a->usage.cpu_ns, st, LIVE_CPU_NS);
	read_measured(&a->usage, &a->usage.rss_peak_bytes, st, LIVE_RSS_PEAK);
	read_measured(&a->usage, &a->usage.vmem_peak_bytes, st, LIVE_VMEM_PEAK);
	read_measured(&a->usage, &a->usage.jobfs_peak_bytes, st, LIVE_JOBFS_PEAK);
	read_measured(&a->usage, &a->usage.mem_peak_bytes, st, LIVE_MEM_PEAK);
	store_gpu_model(st, LIVE_GPU_MODEL, &a->requested);
	read_measured(&a->usage, &a->usage.gpu_busy_ns, st, LIVE_GPU_BUSY_NS);
	read_measured(&a->usage, &a->usage.gpu_mem_peak_bytes, st, LIVE_GPU_MEM_PEAK);
	read_measured(&a->usage, &a->usage.gpus_used, st, LIVE_GPUS_USED);
	a->is_simulated = db_int(st, LIVE_IS_SIMULATED) != 0;
	a->has_terms = true;
	a->terms.side[CHARGE_GPUS] = fraction_at(st, LIVE_BUNDLE_GPUS_NUM);
	a->terms.side[CHARGE_CORES] = fraction_at(st, LIVE_BUNDLE_CORES_NUM);
	a->terms.side[CHARGE_MEMORY] = fraction_at(st, LIVE_BUNDLE_MEMORY_NUM);
	a->terms.is_sum = db_int(st, LIVE_SUMMED) != 0;
	return 0;
}

/* ---- jobs of histories ---- */

/* Behind the columns that store_imported_read() reads. */
enum history_column { RATE_NUM = STORE_IMPORTED_N, CHARGE_REQUESTED_MS };
#define HISTORY_JOBS                                                                           \
	"SELECT" STORE_IMPORTED_COLUMNS ", i.rate_num, i.charge_requested_ms"                  \
	" FROM" STORE_IMPORTED_TABLES
#define HISTORY_OF                                                                             \
	" (?1 IS NULL OR a.cluster = ?1) AND (?2 IS NULL OR a.account = ?2)"                   \
	" AND (?3 IS NULL OR a.user = ?3)"

/* A job's number is unique in one origin only; those from 2^22 on are of later runs
 * (STORE_RERUNS_FROM). */
static const char history_job_sql[] =
	HISTORY_JOBS " WHERE i.id IN (SELECT id << 40 | ?4 FROM origins UNION ALL"
		     " SELECT (id + 4194304) << 40 | ?4 FROM reruns) AND" HISTORY_OF;
/* ?4, ?5: the ends of the period in seconds. */
static const char history_sql[] = HISTORY_JOBS " WHERE i.submit_s + i.wait_s + i.run_s >= ?4"
					       " AND i.submit_s + i.wait_s + i.run_s < ?5"
					       " AND" HISTORY_OF;

/* Without a rate of its own a job was charged for its cores. */
static void read_history_terms(struct db_row *st, struct eff_attempt *a)
{
	a->has_terms = db_is_null(st, RATE_NUM);
	a->terms = (struct charge_bundle){ .side = { [CHARGE_GPUS] = { 0, 1 },
						     [CHARGE_CORES] = { 1, 1 },
						     [CHARGE_MEMORY] = { 0, 1 } } };
	a->charge_ms = db_int(st, CHARGE_REQUESTED_MS);
}

/* A request that the history did not record is 0: none. */
static int64_t or_none(int64_t recorded)
{
	return recorded < 0 ? 0 : recorded;
}

static int read_history(struct db_row *st, struct read_row *ret, struct err *err)
{
	const struct history_job *j = &ret->job;
	struct store_eff_attempt *e = &ret->e;
	struct eff_attempt *a = &e->a;
	int r = store_imported_read(st, &ret->job, err);

	if (r < 0)
		return r;
	e->history = j;
	e->cluster = j->cluster;
	e->account = j->account;
	e->user = j->user;
	a->job = j->number;
	a->engine = ENGINE_REEVE;
	a->is_history = true;
	a->is_simulated = false;
	a->requested = (struct resources){ .ncpus = j->ncpus,
					   .ngpus = j->ngpus,
					   .walltime_s = or_none(j->walltime_s),
					   .mem_bytes = or_none(j->mem_bytes) };
	a->running_ns = (j->end_s - j->start_s - j->suspended_s) * S_NS;
	a->end = (struct job_end){ .kind = END_EXITED };
	a->usage.have = 0;
	if (j->mem_peak_bytes >= 0)
		usage_set(&a->usage, &a->usage.rss_peak_bytes, j->mem_peak_bytes);
	if (j->cpu_ms >= 0 && j->cpu_ms < INT64_MAX / MS_NS)
		usage_set(&a->usage, &a->usage.cpu_ns, j->cpu_ms * MS_NS);
	read_history_terms(st, a);
	return 0;
}

/* ---- all of them ---- */

struct source {
	const char *sql;
	int (*read)(struct db_row *st, struct read_row *ret, struct err *err);
	int64_t from, to; /* ?4, ?5; a job by number: its number as `from` */
	bool has_latest;  /* the statement has ?6 */
};

struct receiver {
	store_eff_fn fn;
	void *ctx;
};

static int read_attempts(struct store *s, const struct store_eff_filter *f,
			 const struct source *src, const struct receiver *to, struct err *err)
{
	struct read_row row = { 0 };
	struct db_row *st;
	int r;

	if (f->jobs)
		r = db_query(s->db, err, &st, src->sql, "ttti", f->cluster, f->account, f->user,
			     src->from);
	else if (src->has_latest)
		r = db_query(s->db, err, &st, src->sql, "tttiii", f->cluster, f->account,
			     f->user, src->from, src->to, f->latest);
	else
		r = db_query(s->db, err, &st, src->sql, "tttii", f->cluster, f->account,
			     f->user, src->from, src->to);
	if (r < 0)
		return r;
	if (!f->jobs)
		db_scan(st);
	while ((r = db_step(s->db, st, err)) > 0) {
		r = src->read(st, &row, err);
		if (r >= 0)
			r = to->fn(to->ctx, &row.e, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

/* The same number was in the list before: its job is passed once. */
static bool is_repeated(const struct store_eff_filter *f, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (f->jobs[k] == f->jobs[i])
			return true;
	return false;
}

static int each_by_number(struct store *s, const struct store_eff_filter *f,
			  const struct receiver *to, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < f->n_jobs && r >= 0; i++) {
		const struct source live = { live_job_sql, read_live, f->jobs[i], 0, false };
		const struct source history = { history_job_sql, read_history, f->jobs[i], 0,
						false };

		if (is_repeated(f, i))
			continue;
		r = read_attempts(s, f, &live, to, err);
		if (r >= 0)
			r = read_attempts(s, f, &history, to, err);
	}
	return r;
}

static int64_t seconds_up(int64_t ns)
{
	return ns / S_NS + (ns % S_NS > 0);
}

/* The instant at which a day begins. STORE_EFF_FIRST_DAY and STORE_EFF_LAST_DAY stand for all time. */
static int64_t first_ns(struct store *s, int64_t day)
{
	if (day <= STORE_EFF_FIRST_DAY)
		return INT64_MIN;
	return day >= STORE_EFF_LAST_DAY ? INT64_MAX : calendar_first_ns(s->calendar, day);
}

static int each_of_period(struct store *s, const struct store_eff_filter *f,
			  const struct receiver *to, struct err *err)
{
	int64_t from = first_ns(s, f->from_day), until = first_ns(s, f->to_day);
	const char *sql = f->user ? live_user_sql : f->account ? live_account_sql : live_sql;
	const struct source live = { sql, read_live, from, until, true };
	const struct source history = { history_sql, read_history, seconds_up(from),
					seconds_up(until), false };
	int r = read_attempts(s, f, &live, to, err);

	return r < 0 || f->latest ? r : read_attempts(s, f, &history, to, err);
}

int store_eff(struct store *s, const struct store_eff_filter *f, store_eff_fn fn, void *ctx,
	      struct err *err)
{
	const struct receiver to = { fn, ctx };

	return f->jobs ? each_by_number(s, f, &to, err) : each_of_period(s, f, &to, err);
}
