/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup.c - adds usage to the rows of a day and of its month. See rollup.h. */
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/usage/rollup/rollup.h"

static const char *const names[] = {
	[ROLLUP_JOBS_STARTED] = "jobs_started",
	[ROLLUP_JOBS_ENDED] = "jobs_ended",
	[ROLLUP_RUNNING_MS] = "running_ms",
	[ROLLUP_SUSPENDED_MS] = "suspended_ms",
	[ROLLUP_CPU_MS] = "cpu_ms",
	[ROLLUP_CHARGE_REQUESTED_MS] = "charge_requested_ms",
	[ROLLUP_CHARGE_USED_MS] = "charge_used_ms",
	[ROLLUP_CORE_MS] = "core_ms",
	[ROLLUP_GPU_MS] = "gpu_ms",
	[ROLLUP_ADJUSTED_MS] = "adjusted_ms",
};
_Static_assert(ARRAY_LEN(names) == _ROLLUP_MAX, "a name a figure");

const char *rollup_figure_name(enum rollup_figure f)
{
	return f < _ROLLUP_MAX ? names[f] : "unknown";
}

/* Moves the total on, and returns by how many whole milliseconds it grew. */
static int64_t gained_ms(int64_t *cumulative_ns, int64_t gained_ns)
{
	int64_t was = *cumulative_ns / MS_NS;

	*cumulative_ns += gained_ns;
	return *cumulative_ns / MS_NS - was;
}

struct rollup rollup_gain(struct tally *cumulative, const struct tally *gained)
{
	return (struct rollup){ .figure = {
					[ROLLUP_RUNNING_MS] = gained_ms(&cumulative->running_ns,
									gained->running_ns),
					[ROLLUP_SUSPENDED_MS] =
						gained_ms(&cumulative->suspended_ns,
							  gained->suspended_ns),
					[ROLLUP_CPU_MS] =
						gained_ms(&cumulative->cpu_ns, gained->cpu_ns),
					[ROLLUP_CHARGE_REQUESTED_MS] =
						gained->charge_requested_ms,
					[ROLLUP_CHARGE_USED_MS] = gained->charge_used_ms,
					[ROLLUP_CORE_MS] = gained->core_ms,
					[ROLLUP_GPU_MS] = gained->gpu_ms,
				} };
}

void rollup_add(struct rollup *to, const struct rollup *more)
{
	for (int i = 0; i < _ROLLUP_MAX; i++)
		to->figure[i] += more->figure[i];
}

bool rollup_is_zero(const struct rollup *r)
{
	for (int i = 0; i < _ROLLUP_MAX; i++)
		if (r->figure[i])
			return false;
	return true;
}

/* The figures are named one by one: "UPDATE SET" has no shorter form. */
#define AND(figure, table) ", " #figure " = " table "." #figure " + excluded." #figure
#define ADD_FIGURES(table, key)                                                                \
	" ON CONFLICT(" key ") DO UPDATE SET jobs_started = " table                            \
	".jobs_started + excluded.jobs_started" AND(jobs_ended, table) AND(running_ms, table)  \
		AND(suspended_ms, table) AND(cpu_ms, table) AND(charge_requested_ms, table)    \
			AND(charge_used_ms, table) AND(core_ms, table) AND(gpu_ms, table)      \
				AND(adjusted_ms, table)
_Static_assert(_ROLLUP_MAX == 10, "ADD_FIGURES and the statements below name every figure");

#define DAY_SQL(table)                                                                         \
	"INSERT INTO " table "(cluster, account, user, pool, day," ROLLUP_FIGURES ")"          \
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"                                     \
	" ?11, ?12, ?13, ?14, ?15)" ADD_FIGURES(table, "cluster, account, user, pool, day")

#define DAY_FORMAT                                                                             \
	"ttti"                                                                                 \
	"iiiiii"                                                                               \
	"iiiii"

/* One text for both ways of writing a row: a statement is known by its address. */
static const char day_sql[] = DAY_SQL("rollups");
static const char month_sql[] =
	"INSERT INTO months(association, pool, month," ROLLUP_FIGURES ")"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
	" ?11, ?12, ?13)" ADD_FIGURES("months", "association, pool, month");
static const char total_sql[] =
	"INSERT INTO totals(kind, span, cluster, begins, name, pool," ROLLUP_FIGURES ")"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15,"
	" ?16)" ADD_FIGURES(
		"totals",
		"kind, span, cluster, begins, name, pool") ", version = totals.version + 1";

#define MONTH_FORMAT                                                                           \
	"iii"                                                                                  \
	"iiiii"                                                                                \
	"iiiii"
#define TOTAL_FORMAT                                                                           \
	"iititi"                                                                               \
	"iiiii"                                                                                \
	"iiiii"

/* `sql`: a DAY_SQL() */
static int write_day(struct db *db, const char *sql, const struct rollup_key *k,
		     const struct rollup *r, struct err *err)
{
	const int64_t *f = r->figure;

	return db_run_later(db, err, sql, DAY_FORMAT, k->cluster, k->account, k->user, k->pool,
			    k->day, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);
}

int rollup_write_day(struct db *db, const struct rollup_key *k, const struct rollup *r,
		     struct err *err)
{
	return write_day(db, day_sql, k, r, err);
}

int rollup_write_base(struct db *db, const struct rollup_key *k, const struct rollup *r,
		      struct err *err)
{
	return write_day(db, DAY_SQL("rollups_base"), k, r, err);
}

int rollup_write_month(struct db *db, const struct rollup_month *m, const struct rollup *r,
		       struct err *err)
{
	const int64_t *f = r->figure;

	return db_run_later(db, err, month_sql, MONTH_FORMAT, m->association, m->pool, m->month,
			    f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);
}

/* 1: found. */
static int find_association(struct db *db, const struct rollup_key *k, int64_t *ret,
			    struct err *err)
{
	return db_query_int(db, err, ret,
			    "SELECT id FROM associations"
			    " WHERE cluster = ?1 AND account = ?2 AND user = ?3",
			    "ttt", k->cluster, k->account, k->user);
}

int rollup_association(struct db *db, const struct rollup_key *k, int64_t *ret, struct err *err)
{
	int r = find_association(db, k, ret, err);

	if (r == 0) {
		r = db_run(
			db, err,
			"INSERT INTO associations(cluster, account, user) VALUES(?1, ?2, ?3)",
			"ttt", k->cluster, k->account, k->user);
		*ret = db_last_id(db);
	}
	return r < 0 ? r : 0;
}

/* ---- many rows ---- */

#define ROWS_TOGETHER 4096

struct rollup_rows rollup_rows(void)
{
	return (struct rollup_rows){
		.days = { .sql = day_sql, .format = DAY_FORMAT },
		.months = { .sql = month_sql, .format = MONTH_FORMAT },
		.totals = { .sql = total_sql, .format = TOTAL_FORMAT },
	};
}

/* `r`: of the row that was added last. */
static int write_many(struct db_rows *rows, struct db *db, int r, struct err *err)
{
	return r < 0 || rows->n < ROWS_TOGETHER ? r : db_rows_write(db, rows, err);
}

int rollup_rows_day(struct rollup_rows *rows, struct db *db, const struct rollup_key *k,
		    const struct rollup *r, struct err *err)
{
	const int64_t *f = r->figure;
	int n = db_rows_add(&rows->days, err, k->cluster, k->account, k->user, k->pool, k->day,
			    f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);

	return write_many(&rows->days, db, n, err);
}

int rollup_rows_month(struct rollup_rows *rows, struct db *db, const struct rollup_month *m,
		      const struct rollup *r, struct err *err)
{
	const int64_t *f = r->figure;
	int n = db_rows_add(&rows->months, err, m->association, m->pool, m->month, f[0], f[1],
			    f[2], f[3], f[4], f[5], f[6], f[7], f[8], f[9]);

	return write_many(&rows->months, db, n, err);
}

int rollup_rows_total(struct rollup_rows *rows, struct db *db, const struct rollup_total *t,
		      const struct rollup *r, struct err *err)
{
	const int64_t *f = r->figure;
	int n = db_rows_add(&rows->totals, err, t->kind, t->span, t->cluster, t->begins,
			    t->name, t->pool, f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7],
			    f[8], f[9]);

	return write_many(&rows->totals, db, n, err);
}

int rollup_rows_write(struct rollup_rows *rows, struct db *db, struct err *err)
{
	struct db_rows *const all[] = { &rows->days, &rows->months, &rows->totals };
	int r = 0;

	for (size_t i = 0; i < ARRAY_LEN(all) && r >= 0; i++)
		r = db_rows_write(db, all[i], err);
	return r;
}

void rollup_rows_done(struct rollup_rows *rows)
{
	db_rows_done(&rows->days);
	db_rows_done(&rows->months);
	db_rows_done(&rows->totals);
}
