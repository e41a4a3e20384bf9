/* quota_encode.c - the document of one view; see quota.h and docs/protocol.md. */
#include <stdio.h>
#include <string.h>
#include "controller/ledger/calendar.h"
#include "controller/quota/quota_impl.h"

static void set_int(json_t *j, const char *key, int64_t n)
{
	json_object_set_new(j, key, json_integer(n));
}

static void set_text(json_t *j, const char *key, const char *text)
{
	json_object_set_new(j, key, json_string(text));
}

static void set_day(json_t *j, const char *key, int32_t day)
{
	char text[CALENDAR_DAY_MAX];

	if (day >= 0)
		set_text(j, key, calendar_format_day(day, text));
}

static void set_month(json_t *j, const char *key, int month)
{
	char text[WINDOW_MONTH_TEXT_MAX];

	set_text(j, key, window_month_format(month, text));
}

static void set_active(json_t *j, const struct quota_active *a)
{
	set_int(j, "running_jobs", a->running);
	set_int(j, "queued_jobs", a->queued);
	set_int(j, "suspended_jobs", a->suspended);
	set_int(j, "running_ms", a->running_ms);
	set_int(j, "running_rest_ms", a->rest_ms);
	set_int(j, "queued_ms", a->queued_ms);
}

static void set_window(json_t *j, const struct quota_view *v)
{
	const struct window *w = &v->window;

	set_text(j, "mode", window_mode_name(w->mode));
	set_text(j, "why", w->why);
	set_month(j, "month", w->month);
	set_month(j, "sum_start", w->first);
	set_month(j, "sum_end", w->last);
	set_int(j, "monthly_ms", w->current.allowance);
	set_int(j, "monthly_previous_ms", w->previous.allowance);
	set_int(j, "monthly_next_ms", w->next.allowance);
	set_int(j, "used_month_ms", w->current.used);
	set_int(j, "used_previous_ms", w->previous.used);
	set_int(j, "remaining_previous_ms", w->previous.allowance - w->previous.used);
	set_int(j, "sum_allowance_ms", w->sum_allowance);
	set_int(j, "sum_used_ms", w->sum_used);
	set_int(j, "available_ms", w->available);
	set_int(j, "available_after_ms", v->available_after_ms);
	if (w->has_percentage)
		set_int(j, "percentage", w->percentage);
	set_int(j, "total_ms", w->total_allowance);
	set_int(j, "stop_month_above_ms", w->stop_month);
	set_int(j, "stop_total_above_ms", w->stop_total);
	set_day(j, "normal_again", v->normal_day);
	set_day(j, "submit_again", v->submit_day);
}

static void set_grant(json_t *j, const struct quota_view *v)
{
	set_int(j, "total_ms", v->grant.granted);
	set_int(j, "reserved_ms", v->grant.reserved);
	set_int(j, "available_ms", v->grant.available);
}

static void set_target(json_t *j, const struct quota_view *v)
{
	const struct target_view *t = &v->target;

	set_int(j, "total_ms", t->total_ms);
	set_int(j, "due_ms", t->due_ms);
	set_int(j, "used_ppm", t->used_ppm);
	set_int(j, "passed_ppm", t->passed_ppm);
	if (!t->has_projection)
		return;
	set_int(j, "projected_by_year_ms", t->by_year_ms);
	set_int(j, "projected_by_year_ppm", t->by_year_ppm);
	set_int(j, "projected_by_recent_ms", t->by_recent_ms);
	set_int(j, "projected_by_recent_ppm", t->by_recent_ppm);
}

static json_t *encode_users(const struct quota_view *v)
{
	json_t *a = json_array();

	for (size_t i = 0; a && i < v->n_users; i++) {
		json_t *u = json_object();

		set_text(u, "user", v->users[i].user);
		set_int(u, "used_ms", v->users[i].used_ms);
		set_active(u, &v->users[i].active);
		json_array_append_new(a, u);
	}
	return a;
}

/* The queues of the cluster, with what a unit costs there. */
static json_t *encode_queues(const struct config *c, const struct quota_view *v)
{
	const char *name = *v->allocation_cluster ? v->allocation_cluster : v->cluster;
	const struct config_cluster *cl = config_cluster(c, name);
	char queue[REQUEST_NAME_MAX], factor[FRACTION_TEXT_MAX];
	const char *rest = cl ? cl->queues : "";
	json_t *a = json_array();

	while (a && (rest = quota_next_queue(rest, queue))) {
		const struct config_queue *q = config_queue(c, queue);
		struct fraction f = q ? q->factor : (struct fraction){ 1, 1 };

		json_array_append_new(a, json_pack("{s:s,s:s}", "queue", queue, "factor",
						   fraction_format(f, factor)));
	}
	return a;
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

static void set_allocation(json_t *j, const struct quota_view *v)
{
	char text[FRACTION_TEXT_MAX];

	set_text(j, "owner", v->owner);
	set_text(j, "allocation", v->label);
	set_text(j, "amount", fraction_format_decimal(v->amount, text));
	set_day(j, "start", v->from_day);
	set_day(j, "end", v->to_day);
	set_int(j, "used_ms", v->used_ms);
	set_int(j, "core_ms", v->core_ms);
	set_int(j, "gpu_ms", v->gpu_ms);
	if (!v->is_past)
		set_active(j, &v->active);
	if (v->rule == CONFIG_QUOTA_GRANT)
		set_grant(j, v);
	else if (v->rule == CONFIG_QUOTA_TARGET)
		set_target(j, v);
	else
		set_window(j, v);
}

json_t *quota_encode(const struct config *c, const struct quota_view *v)
{
	char words[QUOTA_WORDS_MAX];
	json_t *j = json_object();

	if (!j)
		return NULL;
	quota_words(c, v, words);
	set_text(j, "account", v->account);
	set_text(j, "rule", rule_name(v));
	set_text(j, "cluster", v->has_allocation ? v->allocation_cluster : v->cluster);
	set_text(j, "pool", charge_pool_name(v->pool));
	set_text(j, "unit", quota_unit(c, v));
	set_day(j, "day", v->day);
	json_object_set_new(j, "is_past", json_boolean(v->is_past));
	if (v->has_allocation)
		set_allocation(j, v);
	else if (v->rule == CONFIG_QUOTA_WINDOW || v->rule == CONFIG_QUOTA_WINDOW_3X)
		set_text(j, "mode", window_mode_name(v->mode));
	if (v->storage_bytes >= 0)
		set_int(j, "storage_bytes", v->storage_bytes);
	set_text(j, "words", words);
	json_object_set_new(j, "queues", encode_queues(c, v));
	json_object_set_new(j, "users", encode_users(v));
	return j;
}
