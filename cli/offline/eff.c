/* SPDX-License-Identifier: GPL-2.0-or-later */
/* eff.c - sums up requested and used of a ledger file; see eff.h. */
#include <errno.h>
#include "cli/offline/eff.h"
#include "cli/offline/ledger_file.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/config/profile.h"
#include "controller/ledger/calendar.h"
#include "controller/ledger/import/import.h"
#include "controller/quota/usage_names.h"
#include "controller/pricing/history_price.h"

#define NAMED_MAX 20 /* jobs without a price that are listed one by one */

struct pricing {
	const struct config *config;
	json_t *no_price; /* jobs and why */
	int64_t n;	  /* of them */
};

/* Counts the job; the first NAMED_MAX are listed. < 0: no memory. */
static int note_no_price(struct pricing *p, const struct store_eff_attempt *e, const char *why)
{
	if (p->n++ >= NAMED_MAX)
		return 0;
	return json_array_append_new(p->no_price,
				     json_pack("{s:I,s:s,s:s}", "job", (json_int_t)e->a.job,
					       "cluster", e->cluster, "why", why));
}

/* Prices an imported job by the profile: what it was charged and what the advised request would
 * be. A job without a price by it keeps the charge of the ledger, and is listed. */
static int price_attempt(void *ctx, struct store_eff_attempt *e, struct err *err)
{
	struct store_import_job priced = { .job = e->history };
	struct pricing *pricing = ctx;
	struct history_price p;
	struct err why = { "" };
	struct tally t;
	int r;

	if (!e->history)
		return 0;
	r = history_price(pricing->config, e->history, &p, &why);
	if (r >= 0) {
		priced.terms = p.terms;
		r = store_import_tally(&priced, &t);
		if (r < 0)
			err_set(&why, r, "its charge is beyond what can be counted");
	}
	e->a.has_terms = r >= 0;
	if (r < 0)
		return note_no_price(pricing, e, why.text) < 0
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	e->a.terms = p.terms.bundle;
	e->a.charge_ms = t.charge_requested_ms;
	return 0;
}

static int load_profile(const char *name, struct config **ret, struct err *err)
{
	_cleanup_free_ char *path = NULL;
	int r = profile_find(name, &path, err);

	return r < 0 ? r : config_load(path, ret, err);
}

int eff_ledger_read(struct eff_ledger *l, json_t **ret_answer, struct err *err)
{
	_cleanup_(store_eff_rows_done) struct store_eff_rows found = { 0 };
	_cleanup_(store_closep) struct store *s = NULL;
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_json_ json_t *no_price = NULL;
	_cleanup_doc_ struct doc d = { 0 };
	struct store_eff_filter *f = &l->ask.filter;
	struct pricing pricing = { 0 };
	struct quota_site site;
	int r = l->profile ? load_profile(l->profile, &config, err) : 0;

	if (r >= 0)
		r = ledger_file_open(l->path, LEDGER_FILE_THERE, &s, err);
	if (r < 0)
		return r;
	f->from_day = STORE_EFF_FIRST_DAY;
	f->to_day = STORE_EFF_LAST_DAY;
	if (l->start)
		calendar_parse_day(l->start, &f->from_day);
	if (l->end)
		calendar_parse_day(l->end, &f->to_day);
	if (config) {
		l->ask.price = price_attempt;
		l->ask.price_ctx = &pricing;
		pricing.config = config;
		pricing.no_price = no_price = json_array();
	}
	site = (struct quota_site){ .store = s, .config = config };
	r = usage_names_check_period(&(struct usage_names){ &site, NULL },
				     &(struct store_period){ .account = f->account,
							     .user = f->user,
							     .cluster = f->cluster },
				     err);
	if (r >= 0)
		r = store_eff_sums(s, &l->ask, &found, err);
	if (r >= 0)
		r = store_eff_encode(&found, ret_answer, err);
	if (r < 0)
		return r;
	d = doc_edit(*ret_answer);
	doc_text(&d, "time_zone", store_zone(s));
	if (config) {
		doc_set(&d, "no_price", json_incref(no_price));
		doc_int(&d, "no_price_jobs", pricing.n);
	}
	return doc_check(&d, err);
}
