/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup - the usage of an association (cluster, account and user) on a day, and its addition to the
 * tables rollups (by day) and months. */
#pragma once
#include "common/db/db.h"
#include "controller/policy/charge/tally.h"

/* In the order of the columns of the tables rollups, months and slices (these from running_ms
 * to gpu_ms). */
enum rollup_figure {
	ROLLUP_JOBS_STARTED,
	ROLLUP_JOBS_ENDED,
	ROLLUP_RUNNING_MS,
	ROLLUP_SUSPENDED_MS,
	ROLLUP_CPU_MS,
	ROLLUP_CHARGE_REQUESTED_MS,
	ROLLUP_CHARGE_USED_MS,
	ROLLUP_CORE_MS,
	ROLLUP_GPU_MS,
	ROLLUP_ADJUSTED_MS, /* refunds (< 0) and recharges */
	_ROLLUP_MAX,
};
#define ROLLUP_FIGURES                                                                         \
	" jobs_started, jobs_ended, running_ms, suspended_ms, cpu_ms, charge_requested_ms,"    \
	" charge_used_ms, core_ms, gpu_ms, adjusted_ms"
const char *rollup_figure_name(enum rollup_figure f); /* "jobs_started": the column's name */

struct rollup {
	int64_t figure[_ROLLUP_MAX];
};

struct rollup_key {
	const char *cluster, *account, *user;
	int64_t pool, day;
};

/* Converts what was gained on top of *cumulative to whole milliseconds, and adds it to *cumulative.
 * Each gain is the difference of two rounded totals, so that the gains of all reports sum to the
 * rounded total. */
struct rollup rollup_gain(struct tally *cumulative, const struct tally *gained);
void rollup_add(struct rollup *to, const struct rollup *more);
bool rollup_is_zero(const struct rollup *r);

/* The day alone and a month alone, for callers that add up many rows first. A failure
 * may be reported by a later call (db_run_later()). */
int rollup_write_day(struct db *db, const struct rollup_key *k, const struct rollup *r,
		     struct err *err);
/* Adds *r to a day of rollups_base: usage that the ledger has no attempts of any more (archive/). */
int rollup_write_base(struct db *db, const struct rollup_key *k, const struct rollup *r,
		      struct err *err);
struct rollup_month {
	int64_t association, pool, month; /* the id of the association on disk */
};
int rollup_write_month(struct db *db, const struct rollup_month *m, const struct rollup *r,
		       struct err *err);
/* A row of the table totals (totals.h). */
struct rollup_total {
	int64_t kind, span, begins, pool;
	const char *cluster, *name;
};

/* Sums with different keys, gathered and written some thousands at a time, a server's with one statement for each table. Names are
 * not copied: they must live until rollup_rows_write(), which writes what is left. */
struct rollup_rows {
	struct db_rows days, months, totals;
};
struct rollup_rows rollup_rows(void);
int rollup_rows_day(struct rollup_rows *rows, struct db *db, const struct rollup_key *k,
		    const struct rollup *r, struct err *err);
int rollup_rows_month(struct rollup_rows *rows, struct db *db, const struct rollup_month *m,
		      const struct rollup *r, struct err *err);
int rollup_rows_total(struct rollup_rows *rows, struct db *db, const struct rollup_total *t,
		      const struct rollup *r, struct err *err);
int rollup_rows_write(struct rollup_rows *rows, struct db *db, struct err *err);
void rollup_rows_done(struct rollup_rows *rows);
/* The id of the association of k; its row is made when it is new. */
int rollup_association(struct db *db, const struct rollup_key *k, int64_t *ret,
		       struct err *err);
