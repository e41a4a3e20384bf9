/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocations.c - reads the quotas of some accounts at a time, in turn; see maintenance/allocations.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "common/wire/doc.h"
#include "controller/accounts/accounts.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/allocation_note.h"
#include "controller/maintenance/allocations.h"
#include "controller/quota/quota.h"

/* Reading an account costs some queries: 20 ms of each 10 s are 0.2 % of the controller. */
#define EACH_US 10000000
#define READ_NS (20 * MS_NS)

struct allocations {
	struct api *api;
	struct sd_event_source *timer;
	size_t next; /* the account that is read next */
};

struct reading {
	struct allocations *w;
	int32_t account;
};

/* The largest part of those configured that is used; 0: none. */
static int64_t find_percent(const struct config_hooks *h, const struct quota_view *v)
{
	int64_t total_ms = quota_total_ms(v), ret = 0;

	for (int i = 0; i < h->n_percents && total_ms > 0; i++)
		if ((__int128)v->used_ms * 100 >= (__int128)total_ms * h->percents[i] &&
		    h->percents[i] > ret)
			ret = h->percents[i];
	return ret;
}

/* Of the account, else of the nearest one above that has any. NULL: none has. */
static const char *find_coordinators(const struct accounts *a, int32_t account)
{
	for (; account >= 0; account = a->accounts[account].parent) {
		const char *list = a->accounts[account].coordinators;

		if (list && *list)
			return list;
	}
	return NULL;
}

static void set_coordinators(struct doc *d, const char *list)
{
	json_t *names = json_array();

	while (names && list && *list) {
		size_t n = strcspn(list, ", \t");

		if (n)
			json_array_append_new(names, json_stringn(list, n));
		list += n + strspn(list + n, ", \t");
	}
	doc_set(d, "coordinators", names);
}

static char *make_document(const struct reading *r, const struct quota_view *v, int64_t percent)
{
	const struct api *a = r->w->api;
	_cleanup_doc_ struct doc d = doc_object();
	_cleanup_json_ json_t *doc = NULL;
	char text[QUOTA_AMOUNT_MAX], day[CALENDAR_DAY_MAX];

	doc_text(&d, "account", v->account);
	doc_text(&d, "label", v->label);
	doc_text(&d, "cluster", v->allocation_cluster);
	doc_text(&d, "pool", charge_pool_name(v->pool));
	doc_int(&d, "percent", percent);
	doc_int(&d, "used_ms", v->used_ms);
	doc_int(&d, "total_ms", quota_total_ms(v));
	doc_text(&d, "used", quota_format(v->used_ms, text));
	doc_text(&d, "total", quota_format(quota_total_ms(v), text));
	doc_text(&d, "unit", quota_unit(a->c.config, v));
	doc_text(&d, "from", calendar_format_day(v->from_day, day));
	doc_text(&d, "to", calendar_format_day(v->to_day, day));
	set_coordinators(&d, find_coordinators(a->accounts, r->account));
	doc = doc_take(&d);
	return doc ? wire_format(doc) : NULL;
}

/* One that an account above it owns is noted there. */
static int check_view(void *ctx, const struct quota_view *v, struct err *err)
{
	const struct reading *r = ctx;
	const struct api *a = r->w->api;
	int64_t percent = find_percent(&a->c.config->hooks, v);
	char allocation[2 * REQUEST_NAME_MAX + 32], period[REQUEST_NAME_MAX + 16];
	_cleanup_free_ char *document = NULL;
	int n;

	if (!v->has_allocation || !percent ||
	    strcmp(v->owner, a->accounts->accounts[r->account].name) != 0)
		return 0;
	snprintf(allocation, sizeof(allocation), "%s/%s/%s", v->owner, v->allocation_cluster,
		 charge_pool_name(v->pool));
	snprintf(period, sizeof(period), "%s/%d", v->label, v->from_day);
	document = make_document(r, v, percent);
	if (!document)
		return err_set(err, -ENOMEM, "out of memory");
	n = store_allocation_note(a->c.store,
				  &(struct store_allocation_note){ allocation, period, percent,
								   document, api_now_ns() },
				  err);
	if (n > 0)
		log_line(LOG_INFO, "account %s has used %lld %% of its allocation %s", v->owner,
			 (long long)percent, v->label);
	return n < 0 ? n : 0;
}

static int check_some(struct allocations *w, struct err *err)
{
	const struct api *a = w->api;
	const struct quota_site site = { .store = a->c.store,
					 .config = a->c.config,
					 .accounts = a->accounts,
					 .expected = a->expected,
					 .expected_ns = api_monotonic_ns() };
	const int64_t until_ns = api_monotonic_ns() + READ_NS;
	size_t n = a->accounts ? a->accounts->n_accounts : 0;
	int r = 0;

	if (w->next >= n)
		w->next = 0;
	for (; w->next < n && r >= 0 && api_monotonic_ns() < until_ns; w->next++) {
		struct reading reading = { w, (int32_t)w->next };
		const struct quota_each each = { check_view, &reading };
		const struct quota_query ask = { .account = a->accounts->accounts[w->next].name,
						 .cluster = "",
						 .now_ns = api_now_ns(),
						 .at_day = QUOTA_NOW };

		if (accounts_owns_allocation(a->accounts, (int32_t)w->next))
			r = quota_get_views(&site, &ask, &each, err);
	}
	return r;
}

static int on_timer(sd_event_source *source, uint64_t us, void *ctx)
{
	STOPS_IN("allocations");
	struct err err = { "" };

	(void)us;
	if (check_some(ctx, &err) < 0)
		log_line(LOG_ERR, "cannot look what is used of allocations: %s", err.text);
	sd_event_source_set_time_relative(source, EACH_US);
	return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int allocations_open(struct api *a, struct allocations **ret, struct err *err)
{
	const struct config_hooks *h = &a->c.config->hooks;
	struct allocations *w;
	int r;

	*ret = NULL;
	if (!h->program || !(h->event_set & 1U << CONFIG_HOOK_ALLOCATION_USED) ||
	    !a->c.config->policy.quota)
		return 0;
	w = calloc(1, sizeof(*w));
	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->api = a;
	r = sd_event_add_time_relative(a->c.event, &w->timer, CLOCK_MONOTONIC, 1000000, 0,
				       on_timer, w);
	if (r < 0) {
		free(w);
		return err_set(err, r, "event loop: %s", strerror(-r));
	}
	*ret = w;
	return 0;
}

struct allocations *allocations_close(struct allocations *w)
{
	if (!w)
		return NULL;
	sd_event_source_disable_unref(w->timer);
	free(w);
	return NULL;
}
