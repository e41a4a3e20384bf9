/* SPDX-License-Identifier: GPL-2.0-or-later */
/* words.c - the sentence of a quota view: what it means for a job submitted now; see quota.h.
 * Amounts are in hours of the cluster's unit. */
#include <stdio.h>
#include <string.h>
#include "common/time_units.h"
#include "controller/config/ordering.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/quota_impl.h"

static const char *cluster_of(const struct quota_view *v)
{
	return *v->allocation_cluster ? v->allocation_cluster : v->cluster;
}

const char *quota_unit(const struct config *c, const struct quota_view *v)
{
	const struct config_cluster *cl = config_cluster(c, cluster_of(v));

	return tariff_amount_name(cl ? (enum tariff_unit)cl->unit : TARIFF_EQUIVALENTS,
				  v->pool);
}

/* ms in hours, `places` decimals, rounded half away from zero, without trailing zeros. */
static const char *format_places(int64_t ms, int places, char buf[static QUOTA_AMOUNT_MAX])
{
	uint64_t u = ms < 0 ? -(uint64_t)ms : (uint64_t)ms, scale = 1, part;
	int n;

	for (int i = 0; i < places; i++)
		scale *= 10;
	part = (u % HOUR_MS * scale + HOUR_MS / 2) / HOUR_MS;
	u = u / HOUR_MS + part / scale;
	part %= scale;
	n = snprintf(buf, QUOTA_AMOUNT_MAX, "%s%llu.%0*llu", ms < 0 && (u || part) ? "-" : "",
		     (unsigned long long)u, places, (unsigned long long)part);
	while (buf[n - 1] == '0')
		buf[--n] = '\0';
	if (buf[n - 1] == '.')
		buf[--n] = '\0';
	return buf;
}

const char *quota_format(int64_t ms, char buf[static QUOTA_AMOUNT_MAX])
{
	return format_places(ms, 3, buf);
}

const char *quota_format_exact(int64_t ms, char buf[static QUOTA_AMOUNT_MAX])
{
	return format_places(ms, 7, buf);
}

static void format_date(int32_t day, char *buf, size_t size)
{
	static const char *const months[] = { "January",   "February", "March",	   "April",
					      "May",	   "June",     "July",	   "August",
					      "September", "October",  "November", "December" };
	int64_t month = calendar_month(day);

	snprintf(buf, size, "%d %s %d", (int)(day - calendar_month_first(month)) + 1,
		 months[month % 12], (int)(month / 12));
}

static void format_normal_again(const struct quota_view *v, char *buf, size_t size)
{
	char day[48];

	if (v->normal_day < 0) {
		snprintf(buf, size,
			 "not normal again in this accounting period unless the "
			 "quota is raised or usage is refunded");
		return;
	}
	format_date(v->normal_day, day, sizeof(day));
	snprintf(buf, size,
		 "normal again on %s if nothing more is used, or sooner if the quota is raised "
		 "or usage is refunded",
		 day);
}

/* Submissions may be open again before the mode is normal: the stop by a month ends with the
 * month. */
static void format_submit_again(const struct quota_view *v, char *buf, size_t size)
{
	char day[48];

	buf[0] = '\0';
	if (v->submit_day < 0 || v->submit_day == v->normal_day)
		return;
	format_date(v->submit_day, day, sizeof(day));
	snprintf(buf, size, "; submissions are open again on %s, at low priority", day);
}

static void word_window(const struct config *c, const struct quota_view *v, char *buf)
{
	char left[QUOTA_AMOUNT_MAX], used[QUOTA_AMOUNT_MAX], stop[QUOTA_AMOUNT_MAX];
	const char *unit = quota_unit(c, v);
	const struct window *w = &v->window;
	bool is_month = w->current.used > w->stop_month;
	char again[200], submit[128];

	if (w->mode == WINDOW_NORMAL) {
		snprintf(buf, QUOTA_WORDS_MAX,
			 "Jobs run normally; %s %s may still be used this month%s.",
			 quota_format(w->available, left), unit,
			 v->available_after_ms < 0
				 ? ", which active jobs will pass if they run to their walltime"
				 : "");
		return;
	}
	format_normal_again(v, again, sizeof(again));
	if (w->mode == WINDOW_LOW_PRIORITY) {
		snprintf(buf, QUOTA_WORDS_MAX,
			 "Low priority: jobs run only when no job of an account with quota "
			 "left is pending, and still count; %s.",
			 again);
		return;
	}
	format_submit_again(v, submit, sizeof(submit));
	snprintf(buf, QUOTA_WORDS_MAX,
		 "Submissions blocked: %s %s were used in this %s, more than %s (%s)%s; %s.",
		 quota_format(is_month ? w->current.used : w->total_used, used), unit,
		 is_month ? "month" : "accounting period",
		 quota_format(is_month ? w->stop_month : w->stop_total, stop),
		 is_month ? "6 x the monthly quota" : "2 x the total quota", submit, again);
}

/* The queue of jobs that the grant does not cover; NULL: they are refused. */
static const char *bonus_of(const struct config *c, const struct quota_view *v,
			    char buf[static REQUEST_NAME_MAX])
{
	return c->policy.grant_beyond == CONFIG_BEYOND_BONUS &&
			       config_bonus_queue(c, cluster_of(v), buf)
		       ? buf
		       : NULL;
}

static void word_beyond(const struct config *c, const struct quota_view *v, char *buf,
			size_t size)
{
	char name[REQUEST_NAME_MAX];
	const char *bonus = bonus_of(c, v, name);

	if (bonus)
		snprintf(buf, size, "runs in queue %s, free of charge", bonus);
	else
		snprintf(buf, size, "is refused");
}

static void word_grant(const struct config *c, const struct quota_view *v, char *buf)
{
	char left[QUOTA_AMOUNT_MAX], used[QUOTA_AMOUNT_MAX], held[QUOTA_AMOUNT_MAX];
	const char *unit = quota_unit(c, v);
	char beyond[128], until[48], suspended[48] = "";
	bool is_over = v->grant.available < 0;

	if (v->active.suspended)
		snprintf(suspended, sizeof(suspended), "%lld suspended and ",
			 (long long)v->active.suspended);
	word_beyond(c, v, beyond, sizeof(beyond));
	format_date(v->to_day - 1, until, sizeof(until));
	snprintf(buf, QUOTA_WORDS_MAX,
		 "%s %s %s %s: %s used, %s reserved by %lld running%s%s%lld queued jobs. A job "
		 "that the grant does not cover %s.",
		 quota_format(is_over ? -v->grant.available : v->grant.available, left), unit,
		 is_over ? "overspent of the grant that ends on" : "available until", until,
		 quota_format(v->grant.used, used), quota_format(v->grant.reserved, held),
		 (long long)v->active.running, *suspended ? ", " : " and ", suspended,
		 (long long)v->active.queued, beyond);
}

/* Parts per million as percent with one decimal, rounded: "45.3". */
static const char *format_percent(int64_t ppm, char buf[static QUOTA_AMOUNT_MAX])
{
	int64_t tenths = ppm / 1000 + (ppm % 1000 >= 500);

	snprintf(buf, QUOTA_AMOUNT_MAX, "%lld.%lld", (long long)(tenths / 10),
		 (long long)(tenths % 10));
	return buf;
}

/* "45.3 % of the period gone"; with outages the due part, which leaves them out. */
static const char *format_gone(const struct target_view *t, char *buf, size_t size)
{
	char passed[QUOTA_AMOUNT_MAX], due[QUOTA_AMOUNT_MAX];
	int64_t tenths = t->outage_ns / (DAY_NS / 10);

	if (!t->outage_ns)
		snprintf(buf, size, "%s %% of the period gone",
			 format_percent(t->passed_ppm, passed));
	else
		snprintf(
			buf, size,
			"%s %% due by now (%s %% of the period gone, less outages of %lld.%lld "
			"days)",
			format_percent(t->due_ppm, due), format_percent(t->passed_ppm, passed),
			(long long)(tenths / 10), (long long)(tenths % 10));
	return buf;
}

static void word_target(const struct config *c, const struct quota_view *v, char *buf)
{
	const struct target_view *t = &v->target;
	bool is_over = v->used_ms > t->due_ms;
	char used[QUOTA_AMOUNT_MAX], gone[160], day[48], end[128] = "";

	if (v->end_day >= 0) {
		format_date(v->end_day, day, sizeof(day));
		snprintf(end, sizeof(end),
			 " At the rate of the last 30 days it is used up on %s.", day);
	}
	snprintf(buf, QUOTA_WORDS_MAX,
		 "%s %% of the allocation used, with %s: %s%s. Nothing is refused.%s",
		 format_percent(t->used_ppm, used), format_gone(t, gone, sizeof(gone)),
		 is_over ? "more than its share so far: " : "within its share so far",
		 is_over ? config_ordering_overuse(c, cluster_of(v)) : "", end);
}

static void word_without_allocation(const struct config *c, const struct quota_view *v,
				    char *buf)
{
	char beyond[128], day[48];

	format_date(v->day, day, sizeof(day));
	if (v->rule == CONFIG_QUOTA_NONE) {
		snprintf(buf, QUOTA_WORDS_MAX,
			 "This site has no quotas: nothing is refused or "
			 "held back for what was used.");
	} else if (v->rule == CONFIG_QUOTA_GRANT) {
		word_beyond(c, v, beyond, sizeof(beyond));
		snprintf(buf, QUOTA_WORDS_MAX,
			 "No grant on %s: every job that would be charged %s.", day, beyond);
	} else if (v->rule == CONFIG_QUOTA_TARGET) {
		snprintf(buf, QUOTA_WORDS_MAX, "No allocation on %s. Nothing is refused; %s.",
			 day,
			 config_orders_by_usage(c, cluster_of(v))
				 ? "the share decides the priority"
				 : "jobs start no later for it");
	} else {
		snprintf(
			buf, QUOTA_WORDS_MAX,
			"No monthly quota on %s. Low priority: jobs run only when no job of an "
			"account with quota left is pending.",
			day);
	}
}

void quota_words(const struct config *c, const struct quota_view *v,
		 char buf[static QUOTA_WORDS_MAX])
{
	if (!v->has_allocation)
		word_without_allocation(c, v, buf);
	else if (v->rule == CONFIG_QUOTA_GRANT)
		word_grant(c, v, buf);
	else if (v->rule == CONFIG_QUOTA_TARGET)
		word_target(c, v, buf);
	else
		word_window(c, v, buf);
}

int64_t quota_total_ms(const struct quota_view *v)
{
	switch (v->rule) {
	case CONFIG_QUOTA_WINDOW:
	case CONFIG_QUOTA_WINDOW_3X:
		return v->window.total_allowance;
	case CONFIG_QUOTA_GRANT:
		return v->grant.granted;
	case CONFIG_QUOTA_TARGET:
		return v->target.total_ms;
	default:
		return 0;
	}
}
