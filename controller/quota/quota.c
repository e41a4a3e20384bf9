/* SPDX-License-Identifier: GPL-2.0-or-later */
/* quota.c - sums usage and active jobs of an allocation and applies the site's rule; see
 * quota.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/quota/expected.h"
#include "controller/quota/quota_impl.h"

#define RECENT_DAYS (TARGET_RECENT_NS / (24 * HOUR_NS))

/* One view being made. */
struct view_work {
	const struct quota_site *site;
	const struct quota_query *ask;
	const struct accounts_allocation *allocation;
	int32_t account, from_day, to_day; /* to_day: of the period */
	struct window_month *months;
	size_t n_months;
	int64_t recent_ms;
	bool has_own; /* the own job was found */
	struct quota_view *v;
};

/* The kind of allocation that a policy counts; CONFIG_QUOTA_NONE has none. */
bool quota_kind(enum config_quota rule, enum accounts_kind *ret)
{
	static const enum accounts_kind kinds[] = {
		[CONFIG_QUOTA_WINDOW] = ACCOUNTS_MONTHLY,
		[CONFIG_QUOTA_WINDOW_3X] = ACCOUNTS_MONTHLY,
		[CONFIG_QUOTA_GRANT] = ACCOUNTS_GRANT,
		[CONFIG_QUOTA_TARGET] = ACCOUNTS_TARGET,
	};

	if (rule == CONFIG_QUOTA_NONE)
		return false;
	*ret = kinds[rule];
	return true;
}

static bool is_window(const struct quota_view *v)
{
	return v->rule == CONFIG_QUOTA_WINDOW || v->rule == CONFIG_QUOTA_WINDOW_3X;
}

/* ---- the period ---- */

/* Are both parts of one accounting period: same owner, kind, pool, cluster, and label up to the
 * '.'? */
static bool is_alike(const struct accounts_allocation *a, const struct accounts_allocation *b)
{
	size_t n = strcspn(a->label, ".");

	return a->account == b->account && a->kind == b->kind && a->pool == b->pool &&
	       !strcmp(a->cluster, b->cluster) && n == strcspn(b->label, ".") &&
	       !strncmp(a->label, b->label, n);
}

/* Extends [from, to) by every allocation that adjoins it, until none does; O(n^2) of the few
 * parts of one period. */
static void find_period(struct view_work *l)
{
	const struct accounts *a = l->site->accounts;
	bool grew = true;

	l->from_day = l->allocation->from_day;
	l->to_day = l->allocation->to_day;
	while (grew && is_window(l->v)) {
		grew = false;
		for (size_t i = 0; i < a->n_allocations; i++) {
			const struct accounts_allocation *n = &a->allocations[i];

			if (!is_alike(n, l->allocation))
				continue;
			if (n->to_day == l->from_day)
				l->from_day = n->from_day;
			else if (n->from_day == l->to_day)
				l->to_day = n->to_day;
			else
				continue;
			grew = true;
		}
	}
}

static int add_months(struct view_work *l, const struct accounts_allocation *a, struct err *err)
{
	int64_t first = calendar_month(l->from_day), allowance;
	int r = charge_requested(a->amount, HOUR_NS, &allowance);

	if (r < 0 || allowance > WINDOW_AMOUNT_MAX)
		return err_set(err, -ERANGE, "the allocation %s of account %s is too large",
			       a->label, l->v->owner);
	for (int64_t m = calendar_month(a->from_day); m < calendar_month(a->to_day); m++)
		l->months[m - first].allowance = allowance;
	return 0;
}

/* One entry a month that the period touches; months without an allowance keep 0. */
static int make_months(struct view_work *l, struct err *err)
{
	const struct accounts *a = l->site->accounts;
	int64_t first = calendar_month(l->from_day);
	int r = 0;

	if (!is_window(l->v) && !(l->ask->parts & QUOTA_MONTHS))
		return 0;
	l->n_months = (size_t)(calendar_month(l->to_day - 1) + 1 - first);
	l->months = calloc(l->n_months + 1, sizeof(*l->months));
	if (!l->months)
		return err_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < l->n_months; i++)
		l->months[i].month = (int)(first + (int64_t)i);
	for (size_t i = 0; i < a->n_allocations && is_window(l->v) && r >= 0; i++) {
		const struct accounts_allocation *n = &a->allocations[i];

		if (is_alike(n, l->allocation) && n->from_day >= l->from_day &&
		    n->to_day <= l->to_day)
			r = add_months(l, n, err);
	}
	return r;
}

/* ---- what was used ---- */

/* A day of usage, or a month of it (see is_by_month): both carry the day that they begin with.
 */
static int add_day(void *ctx, const struct store_quota_sum *s, struct err *err)
{
	struct view_work *l = ctx;

	if (__builtin_add_overflow(l->v->used_ms, s->charge_ms, &l->v->used_ms) ||
	    __builtin_add_overflow(l->v->core_ms, s->core_ms, &l->v->core_ms) ||
	    __builtin_add_overflow(l->v->gpu_ms, s->gpu_ms, &l->v->gpu_ms))
		return err_set(err, -ERANGE, "the usage of account %s is too large",
			       l->v->owner);
	if (s->day > l->v->day - RECENT_DAYS)
		l->recent_ms += s->charge_ms;
	if (l->months)
		l->months[calendar_month(s->day) - calendar_month(l->from_day)].used +=
			s->charge_ms;
	return 0;
}

/* By name, added when new; a linear search: an account has tens of users. NULL: out of memory.
 */
static struct quota_user *find_user(struct quota_view *v, const char *name)
{
	struct quota_user *more;

	for (size_t i = 0; i < v->n_users; i++)
		if (!strcmp(v->users[i].user, name))
			return &v->users[i];
	more = realloc(v->users, (v->n_users + 1) * sizeof(*more));
	if (!more)
		return NULL;
	v->users = more;
	more += v->n_users++;
	*more = (struct quota_user){ 0 };
	snprintf(more->user, sizeof(more->user), "%s", name);
	return more;
}

static int add_user(void *ctx, const struct store_quota_sum *s, struct err *err)
{
	struct view_work *l = ctx;
	struct quota_user *u = find_user(l->v, s->user);

	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	u->used_ms += s->charge_ms;
	return 0;
}

/* May usage be read by month instead of by day? Whole months up to now are the sum of the days
 * up to now. A target needs the last 30 days, and a past day cuts a month. */
static bool is_by_month(const struct view_work *l)
{
	return !l->v->is_past && l->v->rule != CONFIG_QUOTA_TARGET &&
	       calendar_month_first(calendar_month(l->from_day)) == l->from_day;
}

/* Adds the usage of the period up to the view's day, of the owner and all accounts below it. */
static int add_usage(struct view_work *l, struct err *err)
{
	const struct accounts *a = l->site->accounts;
	struct store_quota_span span = { .cluster = l->allocation->cluster,
					 .pool = l->ask->pool,
					 .from_day = l->from_day,
					 .to_day = l->v->day + 1 };
	bool by_month = is_by_month(l);
	int r = 0;

	for (size_t i = 0; i < a->n_accounts && r >= 0; i++) {
		if (!accounts_is_within(a, (int32_t)i, l->allocation->account))
			continue;
		span.account = a->accounts[i].name;
		r = by_month ? store_quota_months(l->site->store, &span, add_day, l, err)
			     : store_quota_days(l->site->store, &span, add_day, l, err);
		if (r >= 0 && (l->ask->parts & QUOTA_USERS))
			r = store_quota_users(l->site->store, &span, add_user, l, err);
	}
	return r;
}

/* ---- what is active ---- */

bool quota_is_of(const struct quota_site *site, const struct accounts_allocation *a,
		 const struct store_quota_job *j)
{
	int32_t account = accounts_find(site->accounts, j->account);

	return account >= 0 && accounts_is_within(site->accounts, account, a->account) &&
	       j->pool == a->pool && (!*a->cluster || !strcmp(a->cluster, j->cluster));
}

/* What the job may still be charged, as grant_job_part() reserves it. */
int quota_job_rest(const struct store_quota_job *j, int64_t *ret)
{
	const struct grant_job job = { .rate = j->rate,
				       .walltime_ns = j->held.walltime_s * S_NS,
				       .ran_ns = j->running_ns };
	struct grant_part part;
	int r;

	if (j->held.walltime_s > INT64_MAX / S_NS)
		return -ERANGE;
	r = grant_job_part(&job, &part);
	if (r >= 0)
		*ret = part.reserved;
	return r;
}

/* An array's queued tasks are one row with n of them. */
static int count_job(struct quota_active *a, const struct store_quota_job *j, int64_t rest)
{
	if (j->state == JOB_QUEUED) {
		a->queued += j->n;
		return __builtin_mul_overflow(rest, j->n, &rest) ||
				       __builtin_add_overflow(a->queued_ms, rest, &a->queued_ms)
			       ? -ERANGE
			       : 0;
	}
	if (j->state == JOB_SUSPENDED)
		a->suspended++;
	else
		a->running++;
	a->running_ms += j->charge_ms;
	return __builtin_add_overflow(a->rest_ms, rest, &a->rest_ms) ? -ERANGE : 0;
}

/* The job that the query leaves out. */
static bool is_own(const struct view_work *l, const struct store_quota_job *j)
{
	const struct expected_own *own = l->ask->own;

	return own && store_is_slurm(j->job) && store_slurm_id(j->job) == own->job &&
	       !strcmp(j->cluster, own->cluster);
}

static int add_job(void *ctx, const struct store_quota_job *j, struct err *err)
{
	struct view_work *l = ctx;
	struct quota_user *u;
	int64_t rest;

	if (is_own(l, j))
		l->has_own = true;
	if (!quota_is_of(l->site, l->allocation, j))
		return 0;
	if (is_own(l, j))
		return quota_job_rest(j, &rest) < 0 ||
				       __builtin_mul_overflow(rest, j->n, &rest) ||
				       __builtin_add_overflow(l->v->own_ms, rest, &l->v->own_ms)
			       ? err_set(err, -ERANGE,
					 "a job reserves more than can be counted")
			       : 0;
	if (quota_job_rest(j, &rest) < 0 || count_job(&l->v->active, j, rest) < 0)
		return err_set(err, -ERANGE, "job %lld reserves more than can be counted",
			       (long long)j->job);
	if (!(l->ask->parts & QUOTA_USERS))
		return 0;
	u = find_user(l->v, j->user);
	if (!u)
		return err_set(err, -ENOMEM, "out of memory");
	return count_job(&u->active, j, rest); /* no overflow: the sum of all did not */
}

/* ---- the rules ---- */

/* The first day on which the mode is no worse than `mode`, with no more usage; -1: none left.
 */
static int32_t find_day(const struct view_work *l, enum window_mode mode)
{
	const struct window_period p = { l->months, l->n_months };
	struct window w;

	_Static_assert(WINDOW_NORMAL < WINDOW_LOW_PRIORITY &&
			       WINDOW_LOW_PRIORITY < WINDOW_STOPPED,
		       "modes from the best to the worst");
	for (size_t i = 0; i < l->n_months; i++) {
		if (l->months[i].month <= l->v->window.month)
			continue;
		if (window_compute(&p, l->months[i].month, l->v->window.rule, &w, NULL) == 0 &&
		    w.mode <= mode)
			return (int32_t)calendar_month_first(l->months[i].month);
	}
	return -1;
}

static int apply_window(struct view_work *l, struct err *err)
{
	const struct window_period p = { l->months, l->n_months };
	struct quota_view *v = l->v;
	int r;

	/* A refund larger than the usage of its month leaves a usage of 0, not a negative one.
	 */
	for (size_t i = 0; i < l->n_months; i++)
		if (l->months[i].used < 0)
			l->months[i].used = 0;
	r = window_compute(&p, (int)calendar_month(v->day),
			   v->rule == CONFIG_QUOTA_WINDOW ? WINDOW_SLIDING
							  : WINDOW_THREE_MONTHS,
			   &v->window, err);
	if (r < 0)
		return r;
	v->mode = v->window.mode;
	if (__builtin_sub_overflow(v->window.available, v->active.rest_ms,
				   &v->available_after_ms) ||
	    __builtin_sub_overflow(v->available_after_ms, v->active.queued_ms,
				   &v->available_after_ms))
		return err_set(err, -ERANGE, "the active jobs of account %s are too large",
			       v->owner);
	if (v->mode != WINDOW_NORMAL)
		v->normal_day = find_day(l, WINDOW_NORMAL);
	if (v->mode == WINDOW_STOPPED)
		v->submit_day = find_day(l, WINDOW_LOW_PRIORITY);
	return 0;
}

static int apply_grant(struct view_work *l, struct err *err)
{
	const struct grant_jobs none = { NULL, 0 };
	struct quota_view *v = l->v;
	int64_t granted;
	int r = charge_requested(v->amount, HOUR_NS, &granted);

	if (r >= 0)
		r = grant_sum(granted, v->used_ms > 0 ? v->used_ms : 0, &none, &v->grant);
	if (r < 0 ||
	    __builtin_add_overflow(v->active.rest_ms, v->active.queued_ms,
				   &v->grant.reserved) ||
	    __builtin_sub_overflow(v->grant.available, v->grant.reserved, &v->grant.available))
		return err_set(err, -ERANGE, "the grant %s of account %s is too large",
			       v->label, v->owner);
	return 0;
}

static int apply_target(struct view_work *l, struct err *err)
{
	struct quota_view *v = l->v;
	struct store *s = l->site->store;
	struct target t = { .rate = v->amount,
			    .start_ns = store_first_ns(s, v->from_day),
			    .end_ns = store_first_ns(s, v->to_day) };
	const int64_t now = v->is_past ? store_first_ns(s, v->day + 1) : l->ask->now_ns;
	_cleanup_free_ struct outage_span *spans = NULL;
	struct target_use u = { v->used_ms > 0 ? v->used_ms : 0,
				l->recent_ms > 0 ? l->recent_ms : 0,
				now - store_first_ns(s, v->day - RECENT_DAYS + 1) };
	int r;

	if (u.recent_ms > u.used_ms)
		u.recent_ms = u.used_ms;
	r = quota_read_outages(l->site, v->allocation_cluster, &t, err);
	spans = t.outages.of;
	if (r < 0)
		return r;
	r = target_compute(&t, &u, now, &v->target);
	if (r >= 0 && v->target.end_ns > 0)
		v->end_day = (int32_t)store_day(s, now + v->target.end_ns - 1);
	return r < 0 ? err_set(err, r, "the target %s of account %s cannot be computed",
			       v->label, v->owner)
		     : 0;
}

static int apply_rule(struct view_work *l, struct err *err)
{
	switch (l->v->rule) {
	case CONFIG_QUOTA_WINDOW:
	case CONFIG_QUOTA_WINDOW_3X:
		return apply_window(l, err);
	case CONFIG_QUOTA_GRANT:
		return apply_grant(l, err);
	case CONFIG_QUOTA_TARGET:
		return apply_target(l, err);
	case CONFIG_QUOTA_NONE:
		break;
	}
	return 0;
}

static bool wants_active(const struct view_work *l)
{
	return !l->v->is_past &&
	       ((l->ask->parts & QUOTA_ACTIVE) || l->v->rule == CONFIG_QUOTA_GRANT);
}

/* An own job that the ledger has is none of those that are expected. */
static int add_active(struct view_work *l, struct err *err)
{
	struct expected_ask ask = { .now_ns = l->site->expected_ns };
	int r = store_quota_active(l->site->store, add_job, l, err);

	ask.own = l->has_own ? NULL : l->ask->own;
	return r < 0 ? r : expected_each(l->site->expected, &ask, add_job, l, err);
}

static int read_allocation(struct view_work *l, struct err *err)
{
	const struct accounts_allocation *a = l->allocation;
	struct quota_view *v = l->v;
	int r;

	v->has_allocation = true;
	snprintf(v->owner, sizeof(v->owner), "%s",
		 l->site->accounts->accounts[a->account].name);
	snprintf(v->label, sizeof(v->label), "%s", a->label);
	snprintf(v->allocation_cluster, sizeof(v->allocation_cluster), "%s", a->cluster);
	v->amount = a->amount;
	find_period(l);
	v->from_day = l->from_day;
	v->to_day = l->to_day;
	r = make_months(l, err);
	if (r >= 0)
		r = add_usage(l, err);
	if (r >= 0 && wants_active(l))
		r = add_active(l, err);
	return r < 0 ? r : apply_rule(l, err);
}

static void read_storage(struct view_work *l)
{
	const struct accounts_query ask = { .account = l->account,
					    .kind = ACCOUNTS_STORAGE,
					    .pool = CHARGE_POOL_CPU,
					    .cluster = l->ask->cluster,
					    .day = l->v->day };
	const struct accounts_allocation *a = accounts_allocation(l->site->accounts, &ask);

	l->v->storage_bytes = a ? a->amount.num / a->amount.den : -1;
}

/* Fills in what does not depend on an allocation. A future day is today. */
static int begin_view(struct view_work *l, struct err *err)
{
	const struct quota_query *ask = l->ask;
	int64_t today = store_day(l->site->store, ask->now_ns);

	l->account = accounts_find(l->site->accounts, ask->account);
	if (l->account < 0)
		return err_set(err, -ENOENT, "no account '%.64s'", ask->account);
	*l->v = (struct quota_view){ .rule = (enum config_quota)l->site->config->policy.quota,
				     .pool = ask->pool,
				     .day = (int32_t)today,
				     .normal_day = -1,
				     .end_day = -1,
				     .submit_day = -1 };
	if (ask->at_day != QUOTA_NOW && ask->at_day < today) {
		l->v->day = ask->at_day;
		l->v->is_past = true;
	}
	snprintf(l->v->account, sizeof(l->v->account), "%s", ask->account);
	snprintf(l->v->cluster, sizeof(l->v->cluster), "%s", ask->cluster);
	return 0;
}

int quota_get_view(const struct quota_site *site, const struct quota_query *ask,
		   struct quota_view *ret, struct err *err)
{
	struct quota_view v;
	struct view_work l = { .site = site, .ask = ask, .v = &v };
	struct accounts_query what = { .pool = ask->pool, .cluster = ask->cluster };
	int r = begin_view(&l, err);

	if (r < 0)
		return r;
	read_storage(&l);
	what.account = l.account;
	what.day = v.day;
	if (quota_kind(v.rule, &what.kind))
		l.allocation = accounts_allocation(site->accounts, &what);
	if (l.allocation)
		r = read_allocation(&l, err);
	else if (is_window(&v))
		v.mode = WINDOW_LOW_PRIORITY;
	if (r >= 0 && (ask->parts & QUOTA_MONTHS)) {
		v.months = l.months;
		v.n_months = l.n_months;
	} else {
		free(l.months);
	}
	if (r < 0) {
		quota_view_done(&v);
		return r;
	}
	*ret = v;
	return 0;
}

void quota_view_done(struct quota_view *v)
{
	free(v->users);
	free(v->months);
	v->users = NULL;
	v->months = NULL;
	v->n_users = 0;
}

/* ---- every allocation of an account ---- */

#define SEEN_MAX 64 /* allocations of one account on one day: clusters x pools */

/* A walk over the allocations of an account: each is sent once, though several clusters share
 * it. */
struct every {
	const struct quota_site *site;
	const struct quota_each *each;
	const struct accounts_allocation *seen[SEEN_MAX];
	size_t n;
};

static int send_view(struct every *e, const struct quota_query *ask, struct err *err)
{
	struct quota_view v;
	int r = quota_get_view(e->site, ask, &v, err);

	if (r < 0)
		return r;
	r = e->each->fn(e->each->ctx, &v, err);
	quota_view_done(&v);
	return r;
}

/* Sends the allocation of ask's cluster and pool, unless it was sent for another cluster
 * already. */
static int send_new_view(struct every *e, const struct quota_query *ask, int32_t day,
			 struct err *err)
{
	struct accounts_query what = { .account =
					       accounts_find(e->site->accounts, ask->account),
				       .pool = ask->pool,
				       .cluster = ask->cluster,
				       .day = day };
	const struct accounts_allocation *a = NULL;

	if (quota_kind((enum config_quota)e->site->config->policy.quota, &what.kind))
		a = accounts_allocation(e->site->accounts, &what);
	for (size_t i = 0; i < e->n && a; i++)
		if (e->seen[i] == a)
			a = NULL;
	if (!a || e->n == SEEN_MAX)
		return 0;
	e->seen[e->n++] = a;
	return send_view(e, ask, err);
}

int quota_get_views(const struct quota_site *site, const struct quota_query *ask,
		    const struct quota_each *each, struct err *err)
{
	struct every e = { .site = site, .each = each };
	int64_t today = store_day(site->store, ask->now_ns);
	int32_t day =
		ask->at_day != QUOTA_NOW && ask->at_day < today ? ask->at_day : (int32_t)today;
	const struct config *c = site->config;
	struct quota_query one = *ask;
	int r = 0;

	if (accounts_find(site->accounts, ask->account) < 0)
		return err_set(err, -ENOENT, "no account '%.64s'", ask->account);
	for (size_t i = 0; i < c->n_clusters; i++) {
		one.cluster = c->clusters[i]->name;
		if (*ask->cluster && strcmp(ask->cluster, one.cluster) != 0)
			continue;
		for (int p = 0; p < _CHARGE_POOL_MAX && r >= 0; p++) {
			one.pool = (enum charge_pool)p;
			r = send_new_view(&e, &one, day, err);
		}
	}
	if (r < 0 || e.n > 0)
		return r;
	one.pool = CHARGE_POOL_CPU;
	one.cluster = *ask->cluster ? ask->cluster : config_cluster(c, "")->name;
	return send_view(&e, &one, err);
}
