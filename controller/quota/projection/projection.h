/* SPDX-License-Identifier: GPL-2.0-or-later */
/* projection - usage of a period beside its allocation: how much was allotted, how much of it
 * and of the period is gone, and the projected usage at the end.
 *
 * Rows are those of store_usage(), and at the end one total for each pool.
 * `counts` is what the site counts: the charge with its adjustments. The ledger has usage by
 * days: a day counts whole up to the moment asked for.
 *
 * By account alone, with accounts declared, rows stand in the order of the tree, each account
 * before those below it. An account without usage of its own has a row where it has an
 * allocation in the period, or where an account below it has usage. A row's own figures are of
 * that very account, so that rows sum up to the total; `with_below_ms` includes those below. An
 * account that is requested comes with all below it. Accounts that are not declared (any more)
 * come last.
 *
 * The allocation is what was allotted to that very account within the period, of any kind but
 * storage, summed over its allocations: a target is rate x the time of it that falls within the
 * period, a monthly quota its months, a grant the whole of it when it begins within the period.
 * It is compared with what the account and all below it used. There is none where usage of
 * one user is requested; of one cluster, only allocations of that cluster count. Rows by user
 * or cluster have projections but no allocation.
 *
 * A scope (struct store_scope) has rows of its accounts, and rows of the own user in others; only
 * accounts of the scope have allocations.
 *
 * The two rules of projection are target_project()'s, in time without outages that were declared
 * (usage/outages.h): all clusters' outages, and for a row or query of one cluster also that cluster's. There is none before the period, none
 * after it, and none of single months.
 */
#pragma once
#include "controller/quota/quota.h"

struct projection_query {
	struct store_period period;
	int64_t now_ns; /* later usage is left out */
	bool is_past;	/* left out also of a period without bounds */
	size_t limit; /* rows: those that count most, in their order; 0: all. Totals are of all */
};

struct projection_row {
	const struct store_usage *usage;
	bool is_total;	  /* the sum of all rows of the pool; its keys are "" */
	int64_t n_summed; /* of a total: so many rows */
	int32_t depth; /* of the account in the tree, 0 below the root; -1: not of the tree */
	const char *title; /* what accounts.conf describes the account as; or NULL */
	int64_t counts_ms;
	bool has_allocation;
	int64_t allocation_ms;
	int64_t with_below_ms; /* counts, with those of all accounts below */
	int64_t used_ppm;      /* with_below of the allocation */
	bool has_projection;
	int64_t by_year_ms, by_recent_ms; /* of counts; of with_below with an allocation */
	bool is_own_only;   /* of an account outside the scope: usage of its own_user alone */
	const char *owners; /* the account's coordinators, by commas; or NULL */
	/* With an allocation and a projection: the sentence on what that means, and the day on which the
	 * rate of the last days uses the allocation up; -1: it does not, or has already. */
	const char *words;
	int64_t end_day;
};

/* Was the figure measured at all? Jobs that run use some cpu time, and requests that cost
 * something would have cost something as used: a sum of 0 comes from jobs that were not
 * measured. */
bool projection_has_cpu(const struct store_usage *u);
bool projection_has_used(const struct store_usage *u);

/* Of the period itself. */
struct projection_period {
	int64_t from_day, to_day;
	int64_t gone_ppm;
	int64_t due_ppm;     /* of the period: the elapsed part without outages */
	int64_t outage_ns;   /* in the elapsed time */
	int64_t recent_days; /* days of the second rule, the one under way included */
	int64_t left_out;    /* rows beyond the limit */
	bool is_open;	     /* has begun and is not over: there are projections */
};

typedef int (*projection_fn)(void *ctx, const struct projection_row *row, struct err *err);
struct projection_each {
	projection_fn fn;
	void *ctx;
};

/* Receives the figures of a row; the keys are those of GET /v1/usage (docs/protocol.md). A
 * figure that was not measured differs from 0 and from a figure that the row does not have. */
struct projection_writer {
	void *ctx;
	void (*number)(void *ctx, const char *key, int64_t n);
	void (*text)(void *ctx, const char *key, const char *text);
	void (*unmeasured)(void *ctx, const char *key);
};
/* All figures of a row but its keys and its pool. */
void projection_write_figures(const struct projection_row *row,
			      const struct projection_writer *w);

/* site->accounts NULL: no allocations. */
int projection_usage(const struct quota_site *site, const struct projection_query *ask,
		     const struct projection_each *each, struct projection_period *ret,
		     struct err *err);

/* What the projections mean for an allocation, as one or two sentences. Pure. */
struct projection_outlook {
	int64_t used_ms, allocation_ms, by_year_ms, by_recent_ms;
	int64_t recent_days;
	int64_t last_day; /* of the period */
	int64_t end_day;  /* as in struct projection_row */
};
#define PROJECTION_WORDS_MAX 320
const char *projection_words(const struct projection_outlook *o,
			     char buf[static PROJECTION_WORDS_MAX]);

/* Finds [*ret_from, *ret_to): the allocation year ([Policy] AllocationYearStart), or its
 * quarter (AllocationPeriod), that a day is in. */
void projection_find_year(const struct config *c, int64_t day, int64_t *ret_from,
			  int64_t *ret_to);

/* docs/protocol.md, GET /v1/usage: the answer without its rows, which go to `each`; and all. */
int projection_head(const struct quota_site *site, const struct projection_query *ask,
		    const struct projection_each *each, json_t **ret, struct err *err);
int projection_document(const struct quota_site *site, const struct projection_query *ask,
			json_t **ret, struct err *err);
/* Core-years or GPU-years: milli-core-seconds / 8760 hours, six places, exact half up. */
#define PROJECTION_YEARS_MAX 32
const char *projection_format_years(int64_t ms, char buf[static PROJECTION_YEARS_MAX]);
