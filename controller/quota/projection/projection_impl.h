/* SPDX-License-Identifier: GPL-2.0-or-later */
/* projection_impl - shared by the files of projection. */
#pragma once
#include "controller/quota/projection/projection.h"

/* A row of store_usage(), or one made for an account that has none of its own. */
struct projection_entry {
	struct store_usage usage;
	char key[REQUEST_NAME_MAX], second[REQUEST_NAME_MAX];
	char pool[16];
	int64_t counts_ms, recent_ms;		  /* its own */
	int64_t below_counts_ms, below_recent_ms; /* with all accounts below it */
	int32_t account;			  /* index, or -1 */
	int32_t depth;				  /* in the tree; -1: not of the tree */
	bool is_left_out;			  /* by the limit */
};

/* Of all rows of a pool. */
struct projection_total {
	struct store_usage usage;
	int64_t counts_ms, recent_ms, n;
};

struct projection_outage {
	struct outage_span span;
	char cluster[REQUEST_NAME_MAX]; /* "": all clusters */
};

struct projection_state {
	const struct quota_site *site;
	const struct projection_query *ask;
	struct projection_entry *rows;
	size_t n, room, next;	    /* next: where add_recent() continues its search */
	struct store_period period; /* of the query, with the scope that counts */
	struct store_scope within;  /* the account that is asked for and those below */
	const char **names;	    /* of `within` */
	bool *sees;		    /* by account: is it in the scope? NULL: there is none */
	bool is_top; /* rows are those within the limit alone, and `totals` are of all */
	struct projection_total totals[_CHARGE_POOL_MAX];
	bool is_tree; /* rows of accounts in the order of the tree, with what is below */
	int64_t passed_ns, whole_ns, recent_ns; /* outages included */
	struct projection_outage *outages;	/* within the period, by their beginning */
	size_t n_outages;
	struct outage_span *spans; /* room for as many */
	int64_t recent_from;	   /* day */
};

/* Reads the outages of a period that is open and begins then. */
int projection_read_outages(struct projection_state *g, int64_t start_ns, struct err *err);
/* Times of the period without the outages of a row's cluster (NULL: the period's); `outages` lists them, and is good
 * until the next call. */
struct projection_pace {
	struct outage_list outages;
	int64_t passed_ns, whole_ns, recent_ns;
};
struct projection_pace projection_find_pace(const struct projection_state *g,
					    const struct projection_entry *k);

/* Adds a row of store_usage(). */
int projection_keep_row(void *ctx, const struct store_usage *u, struct err *err);
void projection_add_usage(struct store_usage *to, const struct store_usage *u);
/* The charge with its adjustments; saturates, since one row must not make the view fail. */
int64_t projection_counted_ms(const struct store_usage *u);
/* Reads the rows of a period within the limit, and the totals, where the ledger has what counts most at once. 1: it did; 0: all
 * rows are to be read. */
int projection_read_top(struct projection_state *g, const struct store_period *p,
			struct err *err);

/* Is the account in the scope of the query? */
static inline bool projection_sees(const struct projection_state *g, int32_t account)
{
	return !g->sees || g->sees[account];
}
/* Adds a row; NULL: out of memory. */
struct projection_entry *projection_add_entry(struct projection_state *g);
/* How much of one allocation lies within the period; 0: none of it. -ERANGE, -EINVAL. */
int projection_allotted_ms(const struct projection_state *g,
			   const struct accounts_allocation *a, int64_t *ret);
/* Does this view compare rows with the allocation at all? */
bool projection_counts_allocation(const struct projection_state *g,
				  const struct accounts_allocation *a);

/* Puts the rows into the order of the tree, by month, adds those of accounts that have no usage
 * of their own but an allocation in the period or usage below, and sums up what is below. Rows
 * of accounts that are not declared come last. */
int projection_order_rows(struct projection_state *g, struct err *err);
/* Marks the rows beyond the limit, those that count least. -ENOMEM. */
int projection_limit_rows(struct projection_state *g, int64_t *ret_left_out, struct err *err);
