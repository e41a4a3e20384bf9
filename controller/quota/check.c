/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - checks a submission against windows, grants and limits; see check.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/policy/placement/fit.h"
#include "controller/quota/check.h"
#include "controller/quota/expected.h"
#include "controller/quota/quota_impl.h"
#include "controller/quota/scopes.h"

/* Fills in the verdict; ret->text is set by the caller. Returns 0, for `return
 * refuse_with(...)`. */
static int refuse_with(struct quota_answer *a, const char *code, const char *remedy)
{
	a->verdict = QUOTA_REFUSED;
	a->code = code;
	a->remedy = remedy;
	return 0;
}

/* ---- by the policy ---- */

static int admit_window(const struct quota_site *site, const struct quota_view *v,
			struct quota_answer *ret)
{
	const struct window *w = &v->window;
	bool is_month = w->current.used > w->stop_month;
	char used[QUOTA_AMOUNT_MAX], stop[QUOTA_AMOUNT_MAX], base[QUOTA_AMOUNT_MAX];

	if (v->mode != WINDOW_STOPPED)
		return 0;
	snprintf(
		ret->text, sizeof(ret->text),
		"account '%s' used %s %s in this %s, more than %s = %d x %s", v->owner,
		quota_format_exact(is_month ? w->current.used : w->total_used, used),
		quota_unit(site->config, v), is_month ? "month" : "accounting period",
		quota_format_exact(is_month ? w->stop_month : w->stop_total, stop),
		is_month ? 6 : 2,
		quota_format_exact(is_month ? w->current.allowance : w->total_allowance, base));
	return refuse_with(
		ret, "quota",
		is_month ? "wait for the next month, use another account, or ask for a "
			   "larger quota"
			 : "use another account, or ask for a larger quota");
}

/* A job that the grant does not cover: QUOTA_BONUS with the free queue in ret->queue, or a
 * refusal. */
static int move_or_refuse(const struct quota_site *site, const struct request *q,
			  struct quota_answer *ret)
{
	bool moves = site->config->policy.grant_beyond == CONFIG_BEYOND_BONUS &&
		     config_bonus_queue(site->config, q->cluster, ret->queue);

	if (!moves)
		return refuse_with(ret, "quota",
				   "ask for less walltime or fewer cores, wait until jobs that "
				   "reserve have ended, or ask for a larger grant");
	ret->verdict = QUOTA_BONUS;
	return 0;
}

static int64_t tasks_of(const struct request *q)
{
	return q->array.n ? q->array.n : 1;
}

/* What the job, or all tasks of the array, would be charged if they ran to their walltime; and one of them. */
static int find_need(const struct quota_submission *want, int64_t *ret, int64_t *ret_one)
{
	int64_t walltime_s = want->request->res.walltime_s;
	int r;

	if (walltime_s > INT64_MAX / S_NS)
		return -ERANGE;
	r = charge_requested(want->rate, walltime_s * S_NS, ret_one);
	if (r < 0)
		return r;
	return __builtin_mul_overflow(*ret_one, tasks_of(want->request), ret) ? -ERANGE : 0;
}

/* Without an allocation the grant is 0: only a job that is free of charge is covered. */
static int admit_grant(const struct quota_site *site, const struct quota_submission *want,
		       const struct quota_view *v, struct quota_answer *ret)
{
	const struct config_policy *p = &site->config->policy;
	const struct request *q = want->request;
	struct grant_rule rule = { p->grant_cover == CONFIG_COVER_ANY ? GRANT_COVER_ANY
								      : GRANT_COVER_WHOLE,
				   0, p->grant_beyond == CONFIG_BEYOND_REFUSE };
	char need_text[QUOTA_AMOUNT_MAX], left[QUOTA_AMOUNT_MAX];
	struct grant none = { 0 };
	enum grant_verdict verdict;
	int64_t need, one;
	int r = find_need(want, &need, &one);

	if (r >= 0)
		ret->more_ms = need > v->own_ms ? need - v->own_ms : 0;
	/* A change that asks for no more than the job has needs nothing of the grant. */
	if (r >= 0 && want->own && want->own->is_change && ret->more_ms == 0)
		return 0;
	if (r >= 0)
		r = charge_requested((struct fraction){ p->grant_overdraft, 1 }, HOUR_NS,
				     &rule.overdraft);
	if (r >= 0)
		r = grant_admit(v->has_allocation ? &v->grant : &none, &rule, need, &verdict);
	if (r < 0 || verdict == GRANT_COVERED)
		return r;
	snprintf(ret->text, sizeof(ret->text),
		 "the job reserves %s %s, and account '%s' has %s of its grant available",
		 quota_format_exact(need, need_text), quota_unit(site->config, v),
		 v->has_allocation ? v->owner : v->account,
		 quota_format_exact(v->has_allocation ? v->grant.available : 0, left));
	return move_or_refuse(site, q, ret);
}

/* 0 with ret->verdict; the ledger is read only for the policies that can refuse. */
static int admit_by_policy(const struct quota_site *site, const struct quota_submission *want,
			   struct quota_answer *ret, struct err *err)
{
	const struct quota_query ask = { .account = want->request->account,
					 .cluster = want->request->cluster,
					 .pool = want->pool,
					 .now_ns = want->now_ns,
					 .at_day = QUOTA_NOW,
					 .own = want->own };
	int rule = site->config->policy.quota;
	struct quota_view v;
	int r;

	if (rule == CONFIG_QUOTA_NONE || rule == CONFIG_QUOTA_TARGET)
		return 0;
	if (rule == CONFIG_QUOTA_GRANT && want->rate.num == 0)
		return 0; /* free of charge: nothing to cover */
	r = quota_get_view(site, &ask, &v, err);
	if (r < 0)
		return r;
	r = rule == CONFIG_QUOTA_GRANT ? admit_grant(site, want, &v, ret)
				       : admit_window(site, &v, ret);
	quota_view_done(&v);
	return r < 0 ? err_set(err, r, "the job is larger than can be counted") : r;
}

/* ---- bounds of one job ---- */

static int64_t find_asked(const struct request *q, enum accounts_bound which)
{
	const int64_t asked[] = {
		[ACCOUNTS_BOUND_WALLTIME] = q->res.walltime_s,
		[ACCOUNTS_BOUND_JOBFS] = q->res.jobfs_bytes,
		[ACCOUNTS_BOUND_MEMORY] = fit_memory(&q->res),
		[ACCOUNTS_BOUND_CORES] = q->res.ncpus,
		[ACCOUNTS_BOUND_GPUS] = q->res.ngpus,
	};

	return asked[which];
}

static const char *format_bound(enum accounts_bound which, int64_t n,
				char buf[static AMOUNT_TEXT_MAX])
{
	if (which == ACCOUNTS_BOUND_WALLTIME)
		return amount_format_seconds(n, buf);
	if (which == ACCOUNTS_BOUND_JOBFS || which == ACCOUNTS_BOUND_MEMORY)
		return amount_format_bytes_exact(n, buf);
	snprintf(buf, AMOUNT_TEXT_MAX, "%lld", (long long)n);
	return buf;
}

/* true: the job asks for more than `most`, and `words` ("queue express takes") says whose bound that is. */
static bool refuse_beyond(const struct request *q, enum accounts_bound which, int64_t most,
			  const char *words, struct quota_answer *ret)
{
	static const char *const names[] = {
		[ACCOUNTS_BOUND_WALLTIME] = " of walltime",
		[ACCOUNTS_BOUND_JOBFS] = " of jobfs",
		[ACCOUNTS_BOUND_MEMORY] = " of memory",
		[ACCOUNTS_BOUND_CORES] = " cores",
		[ACCOUNTS_BOUND_GPUS] = " GPUs",
	};
	char asked[AMOUNT_TEXT_MAX], bound[AMOUNT_TEXT_MAX];
	int64_t n = find_asked(q, which);

	if (most == ACCOUNTS_NO_LIMIT || n <= most)
		return false;
	snprintf(ret->text, sizeof(ret->text),
		 "the job asks for %s%s, and %.180s at most %s a job",
		 format_bound(which, n, asked), names[which], words,
		 format_bound(which, most, bound));
	return true;
}

/* By [QueueLimits] and [Default Queue]. */
static void admit_by_queue(const struct quota_site *site, const struct request *q,
			   struct quota_answer *ret)
{
	const char *queue = ret->verdict == QUOTA_BONUS ? ret->queue : q->queue;
	const struct accounts_bounds b = accounts_bounds_of(site->accounts, queue);
	char words[REQUEST_NAME_MAX + 16];

	snprintf(words, sizeof(words), "queue %s takes", queue);
	for (int k = 0; k < _ACCOUNTS_BOUND_MAX; k++)
		if (refuse_beyond(q, (enum accounts_bound)k,
				  accounts_bound(&b, (enum accounts_bound)k), words, ret)) {
			refuse_with(ret, "too-large",
				    "ask for less, or choose another queue with -q");
			return;
		}
}

/* By the statements for user and account. */
static void admit_by_owner(const struct quota_site *site, const struct request *q,
			   struct quota_answer *ret)
{
	const struct accounts_whose who = { accounts_find(site->accounts, q->account),
					    q->user };
	char whose[ACCOUNTS_WHOSE_MAX], words[ACCOUNTS_WHOSE_MAX + 16];

	for (int k = 0; k < _ACCOUNTS_BOUND_MAX && who.account >= 0; k++) {
		enum accounts_bound which = (enum accounts_bound)k;
		int64_t most = accounts_bound_of(site->accounts, &who, which, whose);

		snprintf(words, sizeof(words), "%s may request", whose);
		if (refuse_beyond(q, which, most, words, ret)) {
			refuse_with(ret, "too-large", "ask for less, or ask the operators");
			return;
		}
	}
}

/* ---- by the limits ---- */

/* Counts queued jobs only where a limit on them applies: that reads all active jobs of the
 * ledger. */
static int admit_by_limits(const struct quota_site *site, const struct quota_submission *want,
			   struct quota_answer *ret, struct err *err)
{
	_cleanup_(scopes_freep) struct scopes *s = NULL;
	const struct request *q = want->request;
	const struct scopes_job job = {
		.account = q->account,
		.user = q->user,
		.n_queued = tasks_of(q),
		.queue = ret->verdict == QUOTA_BONUS ? ret->queue : q->queue,
		.qos = q->qos,
		.want = { q->res.ncpus, q->res.ngpus, fit_memory(&q->res), 1 }
	};
	char why[ELIGIBLE_WHY_MAX];
	int r = scopes_new(site, &s, err);

	if (r >= 0)
		r = scopes_find(s, &job, err);
	if (r <= 0)
		return r; /* nothing limits it */
	if (!scopes_is_possible(s, &job, why)) {
		snprintf(ret->text, sizeof(ret->text), "%.250s", why);
		return refuse_with(ret, "too-large", "ask for less, or ask the operators");
	}
	if (want->own || !scopes_limit_queue(s, &job))
		return 0; /* a job that is changed is queued already */
	r = scopes_load(s, site, err);
	if (r >= 0 && !scopes_may_queue(s, &job, why)) {
		snprintf(ret->text, sizeof(ret->text), "%.250s", why);
		return refuse_with(ret, "too-many-jobs",
				   "wait until some have started, or cancel some");
	}
	return r;
}

/* In this order, since a job moved to the free queue has that queue's bounds and limits. */
int quota_check(const struct quota_site *site, const struct quota_submission *want,
		struct quota_answer *ret, struct err *err)
{
	int64_t need;
	int r;

	*ret = (struct quota_answer){ .verdict = QUOTA_ACCEPTED };
	if (find_need(want, &need, &ret->task_ms) < 0) {
		snprintf(ret->text, sizeof(ret->text),
			 "its charge would be more than can be counted");
		return refuse_with(ret, "too-large", "ask for less walltime or fewer cores");
	}
	r = admit_by_policy(site, want, ret, err);
	if (r < 0 || ret->verdict == QUOTA_REFUSED)
		return r;
	admit_by_queue(site, want->request, ret);
	if (ret->verdict != QUOTA_REFUSED)
		admit_by_owner(site, want->request, ret);
	return ret->verdict == QUOTA_REFUSED ? 0 : admit_by_limits(site, want, ret, err);
}
