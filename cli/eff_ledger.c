/* eff_ledger.c - see eff_ledger.h. */
#include <errno.h>
#include "cli/eff_ledger.h"
#include "cli/ledger_file.h"
#include "common/err.h"
#include "controller/config/profile.h"
#include "controller/ledger/calendar.h"
#include "controller/quote/quote.h"

/* Jobs of a history by a profile, now and as they could have been: their terms are its
 * tariff's. What has no price there keeps none. */
static int price(void *ctx, struct store_eff_attempt *e, struct err *err)
{
	const struct config *config = ctx;
	const struct quote q = { .pick = { .cluster = e->cluster }, .res = e->a.requested };
	struct tariff_price p;
	struct err unused;

	(void)err;
	if (!e->a.is_history)
		return 0;
	e->a.has_terms = config_cluster(config, e->cluster) &&
			 quote_price(config, &q, &p, &unused) == 0 &&
			 charge_requested(p.rate, e->a.running_ns, &e->a.charge_ms) == 0;
	if (e->a.has_terms)
		e->a.terms = p.terms;
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
	struct store_eff_filter *f = &l->ask.filter;
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
		l->ask.price = price;
		l->ask.price_ctx = config;
	}
	r = store_eff_sums(s, &l->ask, &found, err);
	if (r >= 0)
		r = store_eff_encode(&found, ret_answer, err);
	if (r >= 0)
		json_object_set_new(*ret_answer, "time_zone", json_string(store_zone(s)));
	return r;
}
