/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota - what an account has used of its allocation and what is left, now or at the end of a
 * past day.
 *
 * The policy says what an allocation is ([Policy] Quota): a monthly allowance in a window that
 * slides (policy/window.h), a grant (policy/grant.h), or a target (policy/target.h). The
 * allocation that counts is the account's own, else that of the nearest account above it; what
 * was used is that of its owner and of all accounts below the owner.
 *
 * Used is what was charged on the days of the period, adjustments included, running jobs with
 * what they were charged so far. A day's usage is the ledger's, so a job that runs over the
 * end of a month counts in both with what it ran there. Jobs that are queued or run may still
 * be charged for the rest of their walltime: that is `active`, and of a grant it is reserved.
 * Suspended time is neither. What was active on a past day is not in the ledger any more.
 *
 * The accounting period of a window is one allocation, or several of the account that adjoin
 * and whose labels are alike up to the first '.' ("2026.1", "2026.2"): that is how an allowance
 * changes within a period. Without an allowance in a month there is no quota left in it.
 *
 * Charges are milli-unit-seconds; days are those of the ledger.
 */
#pragma once
#include <jansson.h>
#include "controller/accounts/accounts.h"
#include "controller/config/config.h"
#include "controller/ledger/usage/quota.h"
#include "controller/policy/quota/grant.h"
#include "controller/policy/quota/target.h"
#include "controller/policy/quota/window.h"

struct err;
struct expected;
struct expected_own;

struct quota_site {
	struct store *store;
	const struct config *config;
	const struct accounts *accounts;
	/* Jobs of Slurm that the ledger does not have yet, and now by their clock (CLOCK_MONOTONIC); NULL: none. */
	const struct expected *expected;
	int64_t expected_ns;
};

#define QUOTA_NOW INT32_MIN

#define QUOTA_ACTIVE 1u /* jobs that are queued or run; of a grant always */
#define QUOTA_USERS 2u	/* figures by user */
#define QUOTA_MONTHS 4u /* figures by month */

struct quota_query {
	const char *account, *cluster;
	enum charge_pool pool;
	int64_t now_ns;
	int32_t at_day;			/* QUOTA_NOW, or a past day: as it stood at its end */
	unsigned parts;			/* QUOTA_ACTIVE ...: read these as well */
	const struct expected_own *own; /* this job of Slurm is not counted; NULL: all are */
};

struct quota_active {
	int64_t queued, running, suspended; /* jobs */
	int64_t running_ms; /* charged so far to those that run or are suspended */
	int64_t rest_ms;    /* what they would still be charged up to their walltimes */
	int64_t queued_ms;  /* the same of queued jobs */
};

struct quota_user {
	char user[REQUEST_NAME_MAX];
	int64_t used_ms;
	struct quota_active active;
};

struct quota_view {
	enum config_quota rule;
	char account[REQUEST_NAME_MAX], cluster[REQUEST_NAME_MAX];
	enum charge_pool pool;
	bool has_allocation; /* else nothing below but storage, and `mode` */
	bool is_past;
	char owner[REQUEST_NAME_MAX], label[REQUEST_NAME_MAX];
	char allocation_cluster[REQUEST_NAME_MAX]; /* "": all together */
	int32_t day, from_day, to_day;
	int64_t used_ms, core_ms, gpu_ms; /* of the period */
	struct quota_active active;
	int64_t own_ms;	       /* what the own job of the query would count besides */
	enum window_mode mode; /* windows; else normal */
	struct window window;
	int64_t available_after_ms; /* windows: less what active jobs may still be charged */
	int32_t normal_day;	    /* normal again, if nothing more is used; -1: not in the
				       period, or it is now */
	int32_t submit_day;	    /* of one that is stopped: jobs may be submitted again, if
				       nothing more is used; -1: not in the period */
	struct grant grant;
	struct target_view target;
	int32_t end_day; /* targets: used up then, at the rate of the last 30 days; -1: no such day */
	struct fraction amount; /* as allotted */
	int64_t storage_bytes;	/* -1: none allotted */
	struct quota_user *users;
	size_t n_users;
	struct window_month
		*months; /* of the period, with QUOTA_MONTHS; allowances of windows alone */
	size_t n_months;
};

/* -ENOENT: no such account. */
int quota_get_view(const struct quota_site *site, const struct quota_query *ask,
		   struct quota_view *ret, struct err *err);
void quota_view_done(struct quota_view *v);

/* Calls fn for every allocation of the policy's kind that counts for the account on that day,
 * each once, by cluster and pool; at least one view, without one where there is none.
 * `ask->cluster` "" asks all clusters. The view is freed when fn returns. */
typedef int (*quota_view_fn)(void *ctx, const struct quota_view *v, struct err *err);
struct quota_each {
	quota_view_fn fn;
	void *ctx;
};
int quota_get_views(const struct quota_site *site, const struct quota_query *ask,
		    const struct quota_each *each, struct err *err);

/* Whose outages count for figures of a cluster; "": all clusters together: outages of all clusters count, and at
 * a site with one cluster that one's. `c` NULL: no configuration is known. */
const char *quota_outage_cluster(const struct config *c, const char *cluster);

/* One or two sentences: what the view means for a job that is submitted now. */
#define QUOTA_WORDS_MAX 400
void quota_words(const struct config *c, const struct quota_view *v,
		 char buf[static QUOTA_WORDS_MAX]);
/* The allocation as a whole, of its period; 0: there is none. */
int64_t quota_total_ms(const struct quota_view *v);
/* One element of the answer of GET /v1/quota (docs/protocol.md). NULL: out of memory. */
json_t *quota_encode(const struct config *c, const struct quota_view *v);
/* "core-h", "SU", "core-equivalent hours": the unit of the amounts (tariff_amount_name()). */
const char *quota_unit(const struct config *c, const struct quota_view *v);
/* In hours of the unit, rounded to three places, half away from 0: "12.5". */
#define QUOTA_AMOUNT_MAX 32
const char *quota_format(int64_t ms, char buf[static QUOTA_AMOUNT_MAX]);
/* To seven places: different amounts are different texts. */
const char *quota_format_exact(int64_t ms, char buf[static QUOTA_AMOUNT_MAX]);
