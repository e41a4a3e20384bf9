/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verify.c - recomputes the rollups from the jobs, compares them with those that the ledger has, and
 * checks that the figures of each attempt agree with each other. See verify/verify.h.
 *
 * A recomputed sum is set to zero when its row has been compared: what is left at the end has no
 * row.
 */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/verify/verify_impl.h"

typedef int (*row_fn)(struct verify *v, struct db_row *st, struct err *err);

static int read_rows(struct verify *v, const char *sql, row_fn fn, struct err *err)
{
	struct db_row *st;
	int r = db_query(v->s->db, err, &st, sql, "");

	if (r >= 0)
		db_scan(st);
	while (r >= 0 && (r = db_step(v->s->db, st, err)) > 0) {
		r = fn(v, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* The first columns of every SELECT here. Most have a day and figures behind them, in the order of
 * enum rollup_figure. */
enum row_column { ROW_CLUSTER, ROW_ACCOUNT, ROW_USER, ROW_POOL, ROW_NEXT };
enum day_column { DAY_DAY = ROW_NEXT, DAY_FIGURES };

/* The sum in `sums` of the row's association and pool on a day (of a month, where `sums` are by
 * month). Good until the next call. */
static int find_sum(struct rollup_set *sums, struct db_row *st, int64_t day,
		    struct rollup **ret, struct err *err)
{
	int index = rollup_set_find(sums, store_text(st, ROW_CLUSTER),
				    store_text(st, ROW_ACCOUNT), store_text(st, ROW_USER));

	if (index < 0)
		return err_set(err, index, "cannot remember user '%s': %s",
			       store_text(st, ROW_USER), strerror(-index));
	*ret = rollup_set_at(sums, index, (int)db_int(st, ROW_POOL), day);
	return *ret ? 0 : err_set(err, -ENOMEM, "out of memory");
}

static struct store_difference begin_difference(struct db_row *st)
{
	return (struct store_difference){ .cluster = store_text(st, ROW_CLUSTER),
					  .account = store_text(st, ROW_ACCOUNT),
					  .user = store_text(st, ROW_USER) };
}

/* ---- imported jobs ---- */

struct split_ctx {
	struct verify *v;
	struct db_row *st;
	struct tally done;
	struct err *err;
};

static int add_day(void *ctx, int64_t day, const struct tally *gained)
{
	struct split_ctx *c = ctx;
	struct rollup gain = rollup_gain(&c->done, gained), *at;
	int r = find_sum(c->v->sums, c->st, day, &at, c->err);

	if (r >= 0)
		rollup_add(at, &gain);
	return r;
}

static int count_figure(struct verify *v, struct db_row *st, enum rollup_figure f, int64_t day,
			struct err *err)
{
	struct rollup *at;
	int r = find_sum(v->sums, st, day, &at, err);

	if (r >= 0)
		at->figure[f]++;
	return r;
}

/* clang-format off */
#define IMPORTED_COLUMNS(X) \
	X(IMPORTED_CLUSTER,             "a.cluster") \
	X(IMPORTED_ACCOUNT,             ", a.account") \
	X(IMPORTED_USER,                ", a.user") \
	X(IMPORTED_POOL,                ", i.pool") \
	X(IMPORTED_SUBMIT_S,            ", submit_s") \
	X(IMPORTED_WAIT_S,              ", wait_s") \
	X(IMPORTED_RUN_S,               ", run_s") \
	X(IMPORTED_NCPUS,               ", ncpus") \
	X(IMPORTED_NGPUS,               ", ngpus") \
	X(IMPORTED_CPU_MS,              ", COALESCE(cpu_ms, 0)") \
	X(IMPORTED_RATE_NUM,            ", COALESCE(rate_num, ncpus)") \
	X(IMPORTED_RATE_DEN,            ", COALESCE(rate_den, 1)") \
	X(IMPORTED_CHARGE_REQUESTED_MS, ", charge_requested_ms") \
	X(IMPORTED_CHARGE_USED_MS,      ", charge_used_ms") \
	X(IMPORTED_NUMBER,              ", i.id & 1099511627775") \
	X(IMPORTED_SUSPENDED_S,         ", COALESCE(suspended_s, 0)")
/* clang-format on */
enum { IMPORTED_COLUMNS(SQL_NAME) };
#define IMPORTED_SELECT "SELECT " IMPORTED_COLUMNS(SQL_COLUMN)
_Static_assert((int)IMPORTED_POOL == (int)ROW_POOL, "find_sum() reads the first columns");

/* What was charged for an imported job is its rate x time. */
static int check_charge(struct verify *v, struct db_row *st, const struct tally *t,
			struct err *err)
{
	struct store_difference d = begin_difference(st);

	d.figure = "charge_requested_ms";
	d.job = db_int(st, IMPORTED_NUMBER);
	d.stored = db_int(st, IMPORTED_CHARGE_REQUESTED_MS);
	d.recomputed = t->charge_requested_ms;
	return d.stored == d.recomputed ? 0 : store_verify_report(v, &d, err);
}

/* Spreads an imported job over its days as the import did. What it was charged for its use is taken
 * as stored: the history's figures of use are not all kept. */
static int add_imported(struct verify *v, struct db_row *st, struct err *err)
{
	int64_t start_s = db_int(st, IMPORTED_SUBMIT_S) + db_int(st, IMPORTED_WAIT_S);
	int64_t suspended_s = db_int(st, IMPORTED_SUSPENDED_S),
		end_s = start_s + db_int(st, IMPORTED_RUN_S) + suspended_s;
	const struct tally_terms terms = {
		.rate = { db_int(st, IMPORTED_RATE_NUM), db_int(st, IMPORTED_RATE_DEN) },
		.ncpus = db_int(st, IMPORTED_NCPUS),
		.ngpus = db_int(st, IMPORTED_NGPUS),
	};
	const struct tally_use use = { .running_ns = db_int(st, IMPORTED_RUN_S) * S_NS,
				       .suspended_ns = suspended_s * S_NS,
				       .cpu_ns = db_int(st, IMPORTED_CPU_MS) * MS_NS,
				       .mem_peak_bytes = -1 };
	struct tally_span span = { .from_ns = start_s * S_NS, .to_ns = end_s * S_NS };
	struct split_ctx c = { .v = v, .st = st, .err = err };
	int r;

	v->n.jobs++;
	if (end_s <= start_s || terms.rate.den <= 0 ||
	    tally_make(&terms, &use, &span.after) < 0)
		return err_set(err, -EBADMSG, "imported job %lld cannot be charged",
			       (long long)db_int(st, IMPORTED_NUMBER));
	r = check_charge(v, st, &span.after, err);
	span.after.charge_used_ms = db_int(st, IMPORTED_CHARGE_USED_MS);
	if (r >= 0)
		r = tally_split(&terms, &span, calendar_days(v->s->calendar), add_day, &c);
	if (r >= 0)
		r = count_figure(v, st, ROLLUP_JOBS_STARTED,
				 calendar_day(v->s->calendar, span.from_ns), err);
	return r < 0 ? r
		     : count_figure(v, st, ROLLUP_JOBS_ENDED,
				    calendar_last_day(v->s->calendar, span.from_ns, span.to_ns),
				    err);
}

static const char imported_sql[] =
	IMPORTED_SELECT " FROM imported i JOIN associations a ON a.id = i.association";

/* ---- attempts ---- */

/* A row of figures on a day: all of them, or from ROLLUP_RUNNING_MS on those that slices have. */
static int add_figures(struct verify *v, struct db_row *st, enum rollup_figure first,
		       struct err *err)
{
	struct rollup *at;
	int r = find_sum(v->sums, st, db_int(st, DAY_DAY), &at, err);
	int last = first == ROLLUP_JOBS_STARTED ? _ROLLUP_MAX - 1 : ROLLUP_GPU_MS;

	for (int f = first; f <= last && r >= 0; f++)
		at->figure[f] += db_int(st, DAY_FIGURES + f - (int)first);
	return r;
}

static int add_slice(struct verify *v, struct db_row *st, struct err *err)
{
	return add_figures(v, st, ROLLUP_RUNNING_MS, err);
}

static int add_base(struct verify *v, struct db_row *st, struct err *err)
{
	return add_figures(v, st, ROLLUP_JOBS_STARTED, err);
}

static int count_started(struct verify *v, struct db_row *st, struct err *err)
{
	return count_figure(v, st, ROLLUP_JOBS_STARTED, db_int(st, DAY_DAY), err);
}

static int count_ended(struct verify *v, struct db_row *st, struct err *err)
{
	return count_figure(v, st, ROLLUP_JOBS_ENDED, db_int(st, DAY_DAY), err);
}

static int add_adjustment(struct verify *v, struct db_row *st, struct err *err)
{
	struct rollup *at;
	int r = find_sum(v->sums, st, db_int(st, DAY_DAY), &at, err);

	if (r >= 0)
		at->figure[ROLLUP_ADJUSTED_MS] += db_int(st, DAY_FIGURES);
	v->n.adjustments++;
	return r;
}

static int count_attempt(struct verify *v, struct db_row *st, struct err *err)
{
	(void)st, (void)err;
	v->n.attempts++;
	return 0;
}

#define DAYS "SELECT cluster, account, user, pool, day," ROLLUP_FIGURES " FROM "
#define WHOSE "SELECT j.cluster, j.account, j.user, j.pool, "
#define ATTEMPTS " FROM attempts a JOIN jobs j USING(job)"

/* Days before the first slices are in rollups_base; the day numbers: store_sqlite.h. */
static const char whole_sql[] = WHOSE "a.usage_day," VERIFY_FIGURES ATTEMPTS
				      " WHERE a.sliced = 0 AND a.usage_day > " SQL_STORE_NO_DAY;
static const char slices_sql[] =
	WHOSE "x.day, x.running_ms, x.suspended_ms, x.cpu_ms, x.charge_requested_ms,"
	      " x.charge_used_ms, x.core_ms, x.gpu_ms FROM slices x JOIN jobs j USING(job)"
	      " WHERE x.day > " SQL_STORE_NO_DAY;
static const char base_sql[] = DAYS "rollups_base";
static const char started_sql[] =
	WHOSE "a.started_day" ATTEMPTS " WHERE a.started_day > " SQL_STORE_NO_DAY;
static const char ended_sql[] =
	WHOSE "a.ended_day" ATTEMPTS " WHERE a.ended_day > " SQL_STORE_NO_DAY;
static const char adjustments_sql[] =
	"SELECT cluster, account, user, pool, day, charge_ms FROM adjustments";
static const char attempts_sql[] = "SELECT 1 FROM attempts";

/* ---- attempts in themselves ---- */

#define N_SLICE_FIGURES (ROLLUP_GPU_MS - ROLLUP_RUNNING_MS + 1)
enum sliced_column {
	SLICED_JOB = ROW_NEXT,
	SLICED_OWN,				    /* the figures of the attempt */
	SLICED_SUMS = SLICED_OWN + N_SLICE_FIGURES, /* the sums of its slices */
};
/* The slices of an attempt sum to its own figures. */
static const char sliced_sql[] =
	WHOSE "a.job," VERIFY_FIGURES ", SUM(x.running_ms), SUM(x.suspended_ms), SUM(x.cpu_ms),"
	      " SUM(x.charge_requested_ms), SUM(x.charge_used_ms), SUM(x.core_ms),"
	      " SUM(x.gpu_ms)" ATTEMPTS
	      " LEFT JOIN slices x ON x.job = a.job AND x.attempt = a.attempt"
	      " WHERE a.sliced = 1 GROUP BY a.job, a.attempt, j.job";

enum ran_column { RAN_JOB = ROW_NEXT, RAN_OWN_NS, RAN_SUM_NS };
/* The run intervals of an attempt, from which its usage decays, sum to its running time. */
static const char stretches_sql[] =
	WHOSE "a.job, a.running_ns, COALESCE(SUM(x.running_ns), 0)" ATTEMPTS
	      " LEFT JOIN stretches x ON x.job = a.job AND x.attempt = a.attempt"
	      " GROUP BY a.job, a.attempt, j.job"
	      " HAVING a.running_ns <> COALESCE(SUM(x.running_ns), 0)";

static int check_stretches(struct verify *v, struct db_row *st, struct err *err)
{
	struct store_difference d = begin_difference(st);

	d.figure = "stretches_running_ns";
	d.job = db_int(st, RAN_JOB);
	d.stored = db_int(st, RAN_SUM_NS);
	d.recomputed = db_int(st, RAN_OWN_NS);
	return store_verify_report(v, &d, err);
}

static int check_slices(struct verify *v, struct db_row *st, struct err *err)
{
	struct store_difference d = begin_difference(st);
	int r = 0;

	d.job = db_int(st, SLICED_JOB);
	for (int i = 0; i < N_SLICE_FIGURES && r >= 0; i++) {
		d.figure = rollup_figure_name((enum rollup_figure)(ROLLUP_RUNNING_MS + i));
		d.stored = db_int(st, SLICED_SUMS + i);
		d.recomputed = db_int(st, SLICED_OWN + i);
		if (d.stored != d.recomputed)
			r = store_verify_report(v, &d, err);
	}
	return r;
}

/* ---- comparing ---- */

static int compare_sums(struct verify *v, struct store_difference *d,
			const struct rollup *stored, const struct rollup *recomputed,
			struct err *err)
{
	int r = 0;

	for (int f = 0; f < _ROLLUP_MAX && r >= 0; f++) {
		if (stored->figure[f] == recomputed->figure[f])
			continue;
		d->figure = rollup_figure_name((enum rollup_figure)f);
		d->stored = stored->figure[f];
		d->recomputed = recomputed->figure[f];
		r = store_verify_report(v, d, err);
	}
	return r;
}

/* Compares a row of rollups, or of months, with what was recomputed of it. */
static int check_row(struct verify *v, struct db_row *st, struct rollup_set *sums,
		     struct err *err)
{
	struct store_difference d = begin_difference(st);
	int64_t when = db_int(st, DAY_DAY);
	struct rollup stored, *at;
	int r = find_sum(sums, st, when, &at, err);

	if (r < 0)
		return r;
	d.pool = charge_pool_name((enum charge_pool)(int)db_int(st, ROW_POOL));
	d.is_month = sums == v->months;
	d.day = d.is_month ? calendar_month_first(when) : when;
	for (int f = 0; f < _ROLLUP_MAX; f++)
		stored.figure[f] = db_int(st, DAY_FIGURES + f);
	r = compare_sums(v, &d, &stored, at, err);
	*at = (struct rollup){ 0 };
	return r < 0 ? r : store_verify_add_total(v, &d, &stored, err);
}

static int check_rollup(struct verify *v, struct db_row *st, struct err *err)
{
	v->n.rollups++;
	return check_row(v, st, v->sums, err);
}

static int check_month(struct verify *v, struct db_row *st, struct err *err)
{
	return check_row(v, st, v->months, err);
}

/* What is left was recomputed and has no row. */
static int check_rest(struct verify *v, struct rollup_set *sums, struct err *err)
{
	const struct rollup none = { 0 };
	int r = 0;

	for (size_t i = 0; i < rollup_set_size(sums) && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(sums, i);
		const struct rollup_set_association *a =
			rollup_set_association(sums, e->association);
		struct store_difference d = {
			.cluster = a->cluster,
			.account = a->account,
			.user = a->user,
			.pool = charge_pool_name((enum charge_pool)e->pool),
			.day = sums == v->months ? calendar_month_first(e->day) : e->day,
			.is_month = sums == v->months,
		};

		r = compare_sums(v, &d, &none, &e->rollup, err);
	}
	return r;
}

static const char months_sql[] =
	"SELECT a.cluster, a.account, a.user, m.pool, m.month, m.jobs_started, m.jobs_ended,"
	" m.running_ms, m.suspended_ms, m.cpu_ms, m.charge_requested_ms, m.charge_used_ms,"
	" m.core_ms, m.gpu_ms, m.adjusted_ms"
	" FROM months m JOIN associations a ON a.id = m.association";

/* The months, from what was recomputed for each day. */
static int add_up_months(struct verify *v, struct err *err)
{
	for (size_t i = 0; i < rollup_set_size(v->sums); i++) {
		const struct rollup_set_entry *e = rollup_set_entry(v->sums, i);
		const struct rollup_set_association *a =
			rollup_set_association(v->sums, e->association);
		int index = rollup_set_find(v->months, a->cluster, a->account, a->user);
		struct rollup *at = NULL;

		if (index >= 0)
			at = rollup_set_at(v->months, index, e->pool, calendar_month(e->day));
		if (!at)
			return err_set(err, -ENOMEM, "out of memory");
		rollup_add(at, &e->rollup);
	}
	return 0;
}

int store_verify_recompute(struct verify *v, struct err *err)
{
	static const struct {
		const char *sql;
		row_fn fn;
	} steps[] = {
		{ attempts_sql, count_attempt },
		{ imported_sql, add_imported },
		{ base_sql, add_base },
		{ whole_sql, add_slice },
		{ slices_sql, add_slice },
		{ started_sql, count_started },
		{ ended_sql, count_ended },
		{ sliced_sql, check_slices },
		{ stretches_sql, check_stretches },
		{ adjustments_sql, add_adjustment },
	};
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(steps) && r >= 0; i++)
		r = read_rows(v, steps[i].sql, steps[i].fn, err);
	return r < 0 ? r : add_up_months(v, err);
}

static int verify_parts(struct verify *v, struct err *err)
{
	int64_t n = 0;
	int r = store_verify_parts(v->s, v->fn, v->ctx, &n, err);

	v->n.differences += n;
	return r;
}

static int verify_all(struct verify *v, struct err *err)
{
	int r = store_verify_recompute(v, err);

	if (r >= 0)
		r = verify_parts(v, err);
	if (r >= 0)
		r = read_rows(v, DAYS "rollups", check_rollup, err);
	if (r >= 0)
		r = read_rows(v, months_sql, check_month, err);
	if (r >= 0)
		r = check_rest(v, v->sums, err);
	if (r >= 0)
		r = check_rest(v, v->months, err);
	return r < 0 ? r : store_verify_totals(v, err);
}

int store_verify(struct store *s, store_difference_fn fn, void *ctx, struct store_verified *ret,
		 struct err *err)
{
	_cleanup_(rollup_set_freep) struct rollup_set *sums = rollup_set_new(),
						      *months = rollup_set_new(),
						      *totals = rollup_set_new();
	struct verify v = {
		.s = s, .sums = sums, .months = months, .totals = totals, .fn = fn, .ctx = ctx
	};
	int r = sums && months && totals ? db_begin(s->db, err)
					 : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	r = verify_all(&v, err);
	/* The transaction only makes all of it read one state. */
	db_rollback(s->db);
	if (r >= 0)
		*ret = v.n;
	return r < 0 ? r : 0;
}
