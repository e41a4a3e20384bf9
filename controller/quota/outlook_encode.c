/* outlook_encode.c - the document of a period's usage: docs/protocol.md, GET /v1/usage. See
 * outlook.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/outlook.h"

#define YEAR_MS (8760 * INT64_C(3600000))
#define PPM 1000000

const char *outlook_years(int64_t ms, char buf[static OUTLOOK_YEARS_MAX])
{
	__int128 micro = (__int128)(ms < 0 ? -(__int128)ms : ms) * PPM;
	int64_t n = (int64_t)((micro + YEAR_MS / 2) / YEAR_MS);

	snprintf(buf, OUTLOOK_YEARS_MAX, "%s%" PRId64 ".%06" PRId64, ms < 0 && n ? "-" : "",
		 n / PPM, n % PPM);
	return buf;
}

static void set_years(json_t *j, const char *key, int64_t ms)
{
	char buf[OUTLOOK_YEARS_MAX];

	json_object_set_new(j, key, json_string(outlook_years(ms, buf)));
}

static void set_int(json_t *j, const char *key, int64_t n)
{
	json_object_set_new(j, key, json_integer(n));
}

static void set_measured(json_t *j, const char *key, int64_t n, bool is_measured)
{
	json_object_set_new(j, key, is_measured ? json_integer(n) : json_null());
}

static void set_figures(json_t *j, const struct store_usage *u)
{
	set_int(j, "jobs_started", u->jobs_started);
	set_int(j, "jobs_ended", u->jobs_ended);
	set_int(j, "running_ms", u->running_ms);
	set_int(j, "suspended_ms", u->suspended_ms);
	set_measured(j, "cpu_ms", u->cpu_ms, outlook_has_cpu(u));
	set_int(j, "core_ms", u->core_ms);
	set_int(j, "gpu_ms", u->gpu_ms);
	set_int(j, "charge_requested_ms", u->charge_requested_ms);
	set_measured(j, "charge_used_ms", u->charge_used_ms, outlook_has_used(u));
	set_int(j, "adjusted_ms", u->adjusted_ms);
	set_years(j, "core_years", u->core_ms);
	set_years(j, "gpu_years", u->gpu_ms);
}

static void set_outlook(json_t *j, const struct outlook_row *row)
{
	set_int(j, "counts_ms", row->counts_ms);
	set_years(j, "counts_years", row->counts_ms);
	if (row->depth >= 0) {
		set_int(j, "depth", row->depth);
		set_int(j, "with_below_ms", row->with_below_ms);
	}
	if (row->title)
		json_object_set_new(j, "title", json_string(row->title));
	if (row->has_allocation) {
		set_int(j, "allocation_ms", row->allocation_ms);
		set_years(j, "allocation_years", row->allocation_ms);
		set_int(j, "used_ppm", row->used_ppm);
	}
	if (row->has_projection) {
		set_int(j, "projected_by_year_ms", row->by_year_ms);
		set_int(j, "projected_by_recent_ms", row->by_recent_ms);
		set_years(j, "projected_by_year_years", row->by_year_ms);
		set_years(j, "projected_by_recent_years", row->by_recent_ms);
	}
}

struct document {
	const struct store_period *p;
	json_t *rows, *totals;
};

static void set_keys(json_t *j, const struct store_period *p, const struct store_usage *u)
{
	char month[CALENDAR_DAY_MAX];

	json_object_set_new(j, store_by_name(p->by), json_string(u->key));
	if (p->second)
		json_object_set_new(j, store_by_name(p->second), json_string(u->second));
	if (p->each == STORE_EACH_MONTH)
		json_object_set_new(j, "month",
				    json_string(calendar_format_month(u->month, month)));
}

static int encode_row(void *ctx, const struct outlook_row *row, struct err *err)
{
	const struct document *d = ctx;
	json_t *j = json_pack("{s:s}", "pool", row->usage->pool);

	if (!j || json_array_append_new(row->is_total ? d->totals : d->rows, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (row->is_total)
		set_int(j, "rows", row->n_summed);
	else
		set_keys(j, d->p, row->usage);
	set_figures(j, row->usage);
	set_outlook(j, row);
	return 0;
}

static void set_day(json_t *j, const char *key, int64_t day)
{
	char text[CALENDAR_DAY_MAX];

	if (day != INT32_MIN && day != INT32_MAX)
		json_object_set_new(j, key, json_string(calendar_format_day(day, text)));
}

int outlook_head(const struct quota_site *site, const struct outlook_ask *ask,
		 const struct outlook_each *each, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *doc = wire_new();
	struct outlook_period period;
	int r = doc ? outlook_usage(site, ask, each, &period, err)
		    : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	json_object_set_new(doc, "time_zone", json_string(store_zone(site->store)));
	set_day(doc, "start", period.from_day);
	set_day(doc, "end", period.to_day);
	if (period.is_open)
		set_int(doc, "gone_ppm", period.gone_ppm);
	*ret = TAKE_PTR(doc);
	return 0;
}

int outlook_document(const struct quota_site *site, const struct outlook_ask *ask, json_t **ret,
		     struct err *err)
{
	_cleanup_json_ json_t *rows = json_array(), *totals = json_array();
	struct document d = { &ask->period, rows, totals };
	const struct outlook_each each = { encode_row, &d };
	json_t *doc = NULL;
	int r = rows && totals ? outlook_head(site, ask, &each, &doc, err)
			       : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	json_object_set(doc, "rows", rows);
	json_object_set(doc, "totals", totals);
	*ret = doc;
	return 0;
}
