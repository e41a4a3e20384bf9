/* SPDX-License-Identifier: GPL-2.0-or-later */
/* encode.c - writes the figures of projection rows, and the document of GET /v1/usage
 * (docs/protocol.md); see projection.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/projection/projection.h"

#define YEAR_MS (8760 * INT64_C(3600000))
#define PPM 1000000

const char *projection_format_years(int64_t ms, char buf[static PROJECTION_YEARS_MAX])
{
	__int128 micro = (__int128)(ms < 0 ? -(__int128)ms : ms) * PPM;
	int64_t n = (int64_t)((micro + YEAR_MS / 2) / YEAR_MS);

	snprintf(buf, PROJECTION_YEARS_MAX, "%s%" PRId64 ".%06" PRId64, ms < 0 && n ? "-" : "",
		 n / PPM, n % PPM);
	return buf;
}

/* ---- the figures of a row, once for the document and for tables ---- */

static void add_years(const struct projection_writer *w, const char *key, int64_t ms)
{
	char buf[PROJECTION_YEARS_MAX];

	w->text(w->ctx, key, projection_format_years(ms, buf));
}

/* A figure that was not measured is null in JSON and "-" in tables; 0 is a measured zero. */
static void add_measured(const struct projection_writer *w, const char *key, int64_t n,
			 bool is_measured)
{
	if (is_measured)
		w->number(w->ctx, key, n);
	else
		w->unmeasured(w->ctx, key);
}

static void write_usage(const struct projection_writer *w, const struct store_usage *u)
{
	w->number(w->ctx, "jobs_started", u->jobs_started);
	w->number(w->ctx, "jobs_ended", u->jobs_ended);
	w->number(w->ctx, "running_ms", u->running_ms);
	w->number(w->ctx, "suspended_ms", u->suspended_ms);
	add_measured(w, "cpu_ms", u->cpu_ms, projection_has_cpu(u));
	w->number(w->ctx, "core_ms", u->core_ms);
	w->number(w->ctx, "gpu_ms", u->gpu_ms);
	w->number(w->ctx, "charge_requested_ms", u->charge_requested_ms);
	add_measured(w, "charge_used_ms", u->charge_used_ms, projection_has_used(u));
	w->number(w->ctx, "adjusted_ms", u->adjusted_ms);
	add_years(w, "core_years", u->core_ms);
	add_years(w, "gpu_years", u->gpu_ms);
}

void projection_write_figures(const struct projection_row *row,
			      const struct projection_writer *w)
{
	char day[CALENDAR_DAY_MAX];

	write_usage(w, row->usage);
	w->number(w->ctx, "counts_ms", row->counts_ms);
	add_years(w, "counts_years", row->counts_ms);
	if (row->depth >= 0) {
		w->number(w->ctx, "depth", row->depth);
		w->number(w->ctx, "with_below_ms", row->with_below_ms);
	}
	if (row->title)
		w->text(w->ctx, "title", row->title);
	if (row->owners && *row->owners)
		w->text(w->ctx, "owners", row->owners);
	if (row->has_allocation) {
		w->number(w->ctx, "allocation_ms", row->allocation_ms);
		add_years(w, "allocation_years", row->allocation_ms);
		w->number(w->ctx, "used_ppm", row->used_ppm);
	}
	if (row->has_projection) {
		w->number(w->ctx, "projected_by_year_ms", row->by_year_ms);
		w->number(w->ctx, "projected_by_recent_ms", row->by_recent_ms);
		add_years(w, "projected_by_year_years", row->by_year_ms);
		add_years(w, "projected_by_recent_years", row->by_recent_ms);
	}
	if (row->end_day >= 0)
		w->text(w->ctx, "used_up", calendar_format_day(row->end_day, day));
	if (row->words)
		w->text(w->ctx, "words", row->words);
}

/* ---- the document ---- */

static void set_number(void *ctx, const char *key, int64_t n)
{
	doc_int(ctx, key, n);
}

static void set_text(void *ctx, const char *key, const char *text)
{
	doc_text(ctx, key, text);
}

static void set_unmeasured(void *ctx, const char *key)
{
	doc_null(ctx, key);
}

struct document {
	const struct store_period *p;
	json_t *rows, *totals;
};

static void set_keys(struct doc *d, const struct store_period *p, const struct store_usage *u)
{
	char month[CALENDAR_DAY_MAX], day[CALENDAR_DAY_MAX];

	if (p->by)
		doc_text(d, store_by_name(p->by), u->key);
	if (p->second)
		doc_text(d, store_by_name(p->second), u->second);
	if (p->each != STORE_EACH_MONTH)
		return;
	doc_text(d, "month", calendar_format_month(u->month, month));
	doc_text(d, "start", calendar_format_day(calendar_month_first(u->month), day));
	doc_text(d, "end", calendar_format_day(calendar_month_first(u->month + 1), day));
}

static int encode_row(void *ctx, const struct projection_row *row, struct err *err)
{
	const struct document *to = ctx;
	_cleanup_doc_ struct doc doc = doc_object();
	struct doc *d = &doc;

	doc_text(d, "pool", row->usage->pool);
	if (row->is_total)
		doc_int(d, "rows", row->n_summed);
	else
		set_keys(d, to->p, row->usage);
	doc_flag(d, "own_only", row->is_own_only);
	projection_write_figures(
		row, &(struct projection_writer){ d, set_number, set_text, set_unmeasured });
	if (json_array_append_new(row->is_total ? to->totals : to->rows, doc_take(d)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void set_day(struct doc *d, const char *key, int64_t day)
{
	char text[CALENDAR_DAY_MAX];

	if (day != INT32_MIN && day != INT32_MAX)
		doc_text(d, key, calendar_format_day(day, text));
}

/* The rows go to `each` while the ledger is read; *ret has the rest of the document. */
int projection_head(const struct quota_site *site, const struct projection_query *ask,
		    const struct projection_each *each, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	struct projection_period period;
	int r = projection_usage(site, ask, each, &period, err);

	if (r < 0)
		return r;
	doc_text(&d, "time_zone", store_zone(site->store));
	set_day(&d, "start", period.from_day);
	set_day(&d, "end", period.to_day);
	if (period.is_open)
		doc_int(&d, "gone_ppm", period.gone_ppm);
	if (period.is_open)
		doc_int(&d, "due_ppm", period.due_ppm);
	if (period.outage_ns)
		doc_int(&d, "outage_ns", period.outage_ns);
	if (period.is_open)
		doc_int(&d, "recent_days", period.recent_days);
	if (ask->limit)
		doc_int(&d, "left_out", period.left_out);
	return doc_finish(&d, ret, err);
}

int projection_document(const struct quota_site *site, const struct projection_query *ask,
			json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *rows = json_array(), *totals = json_array();
	struct document d = { &ask->period, rows, totals };
	const struct projection_each each = { encode_row, &d };
	_cleanup_json_ json_t *doc = NULL;
	int r = rows && totals ? projection_head(site, ask, &each, &doc, err)
			       : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	if (json_object_set(doc, "rows", rows) < 0 ||
	    json_object_set(doc, "totals", totals) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	*ret = TAKE_PTR(doc);
	return 0;
}
