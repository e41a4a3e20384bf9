/* SPDX-License-Identifier: GPL-2.0-or-later */
/* encode.c - encodes one quota view as JSON; see quota.h and docs/protocol.md. */
#include <stdio.h>
#include <string.h>
#include "common/wire/doc.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/quota_impl.h"

static void set_day(struct doc *d, const char *key, int32_t day)
{
	char text[CALENDAR_DAY_MAX];

	if (day >= 0)
		doc_text(d, key, calendar_format_day(day, text));
}

static void set_month(struct doc *d, const char *key, int month)
{
	char text[WINDOW_MONTH_TEXT_MAX];

	doc_text(d, key, window_month_format(month, text));
}

static void set_active(struct doc *d, const struct quota_active *a)
{
	doc_int(d, "running_jobs", a->running);
	doc_int(d, "queued_jobs", a->queued);
	doc_int(d, "suspended_jobs", a->suspended);
	doc_int(d, "running_ms", a->running_ms);
	doc_int(d, "running_rest_ms", a->rest_ms);
	doc_int(d, "queued_ms", a->queued_ms);
}

static void set_window(struct doc *d, const struct quota_view *v)
{
	const struct window *w = &v->window;

	doc_text(d, "mode", window_mode_name(w->mode));
	doc_text(d, "why", w->why);
	set_month(d, "month", w->month);
	set_month(d, "sum_start", w->first);
	set_month(d, "sum_end", w->last);
	doc_int(d, "monthly_ms", w->current.allowance);
	doc_int(d, "monthly_previous_ms", w->previous.allowance);
	doc_int(d, "monthly_next_ms", w->next.allowance);
	doc_int(d, "used_month_ms", w->current.used);
	doc_int(d, "used_previous_ms", w->previous.used);
	doc_int(d, "remaining_previous_ms", w->previous.allowance - w->previous.used);
	doc_int(d, "sum_allowance_ms", w->sum_allowance);
	doc_int(d, "sum_used_ms", w->sum_used);
	doc_int(d, "available_ms", w->available);
	doc_int(d, "available_after_ms", v->available_after_ms);
	doc_int(d, "borrowed_ms", w->borrowed);
	if (w->has_percentage)
		doc_int(d, "percentage", w->percentage);
	doc_int(d, "total_ms", w->total_allowance);
	doc_int(d, "stop_month_above_ms", w->stop_month);
	doc_int(d, "stop_total_above_ms", w->stop_total);
	set_day(d, "normal_again", v->normal_day);
	set_day(d, "submit_again", v->submit_day);
}

static void set_grant(struct doc *d, const struct quota_view *v)
{
	doc_int(d, "total_ms", v->grant.granted);
	doc_int(d, "reserved_ms", v->grant.reserved);
	doc_int(d, "available_ms", v->grant.available);
}

static void set_target(struct doc *d, const struct quota_view *v)
{
	const struct target_view *t = &v->target;

	doc_int(d, "total_ms", t->total_ms);
	doc_int(d, "due_ms", t->due_ms);
	doc_int(d, "used_ppm", t->used_ppm);
	doc_int(d, "due_ppm", t->due_ppm);
	doc_int(d, "passed_ppm", t->passed_ppm);
	if (t->outage_ns)
		doc_int(d, "outage_ns", t->outage_ns);
	if (!t->has_projection)
		return;
	doc_int(d, "projected_by_year_ms", t->by_year_ms);
	doc_int(d, "projected_by_year_ppm", t->by_year_ppm);
	doc_int(d, "projected_by_recent_ms", t->by_recent_ms);
	doc_int(d, "projected_by_recent_ppm", t->by_recent_ppm);
	set_day(d, "used_up", v->end_day);
}

static json_t *encode_users(const struct quota_view *v)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (size_t i = 0; i < v->n_users; i++) {
		_cleanup_doc_ struct doc u = doc_object();

		doc_text(&u, "user", v->users[i].user);
		doc_int(&u, "used_ms", v->users[i].used_ms);
		set_active(&u, &v->users[i].active);
		doc_add(&a, doc_take(&u));
	}
	return doc_take(&a);
}

#define MONTHS_MAX 60 /* of one period, the last ones */

/* The months of the period, those to come too: windows have an allowance for each. */
static json_t *encode_months(const struct quota_view *v)
{
	bool is_window = v->rule == CONFIG_QUOTA_WINDOW || v->rule == CONFIG_QUOTA_WINDOW_3X;
	size_t first = v->n_months > MONTHS_MAX ? v->n_months - MONTHS_MAX : 0;
	_cleanup_doc_ struct doc a = doc_array();

	for (size_t i = first; i < v->n_months; i++) {
		_cleanup_doc_ struct doc m = doc_object();

		set_month(&m, "month", v->months[i].month);
		if (is_window)
			doc_int(&m, "allowance_ms", v->months[i].allowance);
		doc_int(&m, "used_ms", v->months[i].used);
		doc_flag(&m, "is_now", v->months[i].month == (int)calendar_month(v->day));
		doc_flag(&m, "is_to_come", v->months[i].month > (int)calendar_month(v->day));
		doc_add(&a, doc_take(&m));
	}
	return doc_take(&a);
}

/* The queues of the cluster, with what a unit costs there. */
static json_t *encode_queues(const struct config *c, const struct quota_view *v)
{
	const char *name = *v->allocation_cluster ? v->allocation_cluster : v->cluster;
	const struct config_cluster *cl = config_cluster(c, name);
	char queue[REQUEST_NAME_MAX], factor[FRACTION_TEXT_MAX];
	const char *rest = cl ? cl->queues : "";
	_cleanup_doc_ struct doc a = doc_array();

	while ((rest = config_next_name(rest, queue))) {
		const struct config_queue *q = config_queue(c, queue);
		struct fraction f = q ? q->factor : (struct fraction){ 1, 1 };

		doc_add(&a, json_pack("{s:s,s:s}", "queue", queue, "factor",
				      fraction_format(f, factor)));
	}
	return doc_take(&a);
}

static const char *rule_name(const struct quota_view *v)
{
	static const char *const names[] = {
		[CONFIG_QUOTA_NONE] = "none",		[CONFIG_QUOTA_WINDOW] = "window",
		[CONFIG_QUOTA_WINDOW_3X] = "window-3x", [CONFIG_QUOTA_GRANT] = "grant",
		[CONFIG_QUOTA_TARGET] = "target",
	};

	return names[v->rule];
}

static void set_allocation(struct doc *d, const struct quota_view *v)
{
	char text[FRACTION_TEXT_MAX];

	doc_text(d, "owner", v->owner);
	doc_text(d, "allocation", v->label);
	doc_text(d, "amount", fraction_format_decimal(v->amount, text));
	set_day(d, "start", v->from_day);
	set_day(d, "end", v->to_day);
	doc_int(d, "used_ms", v->used_ms);
	doc_int(d, "core_ms", v->core_ms);
	doc_int(d, "gpu_ms", v->gpu_ms);
	if (!v->is_past)
		set_active(d, &v->active);
	if (v->rule == CONFIG_QUOTA_GRANT)
		set_grant(d, v);
	else if (v->rule == CONFIG_QUOTA_TARGET)
		set_target(d, v);
	else
		set_window(d, v);
}

json_t *quota_encode(const struct config *c, const struct quota_view *v)
{
	char words[QUOTA_WORDS_MAX];
	_cleanup_doc_ struct doc doc = doc_object();
	struct doc *d = &doc;

	quota_words(c, v, words);
	doc_text(d, "account", v->account);
	doc_text(d, "rule", rule_name(v));
	doc_text(d, "cluster", v->has_allocation ? v->allocation_cluster : v->cluster);
	doc_text(d, "pool", charge_pool_name(v->pool));
	doc_text(d, "unit", quota_unit(c, v));
	set_day(d, "day", v->day);
	doc_bool(d, "is_past", v->is_past);
	if (v->has_allocation)
		set_allocation(d, v);
	else if (v->rule == CONFIG_QUOTA_WINDOW || v->rule == CONFIG_QUOTA_WINDOW_3X)
		doc_text(d, "mode", window_mode_name(v->mode));
	if (v->storage_bytes >= 0)
		doc_int(d, "storage_bytes", v->storage_bytes);
	doc_text(d, "words", words);
	doc_set(d, "queues", encode_queues(c, v));
	doc_set(d, "users", encode_users(v));
	if (v->months)
		doc_set(d, "months", encode_months(v));
	return doc_take(d);
}
