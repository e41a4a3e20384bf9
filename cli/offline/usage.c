/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - sums up the usage of a ledger file; see usage.h. */
#include <string.h>
#include "cli/offline/site_file.h"
#include "cli/offline/usage.h"
#include "common/err.h"
#include "controller/ledger/calendar.h"
#include "controller/quota/usage_names.h"

/* run_usage() has refused a text that is not a day. */
static int64_t parse_day(const char *text, int64_t def)
{
	if (text)
		calendar_parse_day(text, &def);
	return def;
}

/* The period of --start and --end; without both, the allocation year or quarter of the profile;
 * without a profile, all days. ask->now_ns is set. */
static void read_period(const struct verb_call *call, const struct site_file *f,
			const enum store_by by[static 2], struct projection_query *ask)
{
	const char *start = verb_value(call, "start"), *end = verb_value(call, "end");
	struct store_period *p = &ask->period;

	*p = (struct store_period){ .by = by[0],
				    .second = by[1],
				    .each = verb_count(call, "monthly") ? STORE_EACH_MONTH
									: STORE_EACH_PERIOD,
				    .account = verb_value(call, "account"),
				    .user = verb_value(call, "user"),
				    .cluster = verb_value(call, "cluster"),
				    .from_day = INT32_MIN,
				    .to_day = INT32_MAX };
	/* now_ns is the first moment after the last charge, which may be in the next year. */
	if (f->config && !start && !end)
		projection_find_year(f->config, store_day(f->store, ask->now_ns - 1),
				     &p->from_day, &p->to_day);
	p->from_day = parse_day(start, p->from_day);
	p->to_day = parse_day(end, p->to_day);
}

int usage_ledger_read(const struct verb_call *call, const enum store_by by[static 2],
		      const struct projection_each *each, json_t **ret_head, struct err *err)
{
	_cleanup_(site_file_done) struct site_file f = { 0 };
	struct quota_site site;
	struct projection_query ask = { .limit = 0 }; /* all rows */
	int r = site_file_open(call, SITE_FILE_LEDGER, &f, err);

	if (r >= 0)
		r = site_file_at(&f, verb_value(call, "at"), &ask.now_ns, err);
	if (r < 0)
		return r;
	read_period(call, &f, by, &ask);
	site = (struct quota_site){ .store = f.store,
				    .config = f.config,
				    .accounts = f.accounts };
	ask.is_past = verb_value(call, "at") != NULL;
	r = usage_names_check_period(&(struct usage_names){ &site, NULL }, &ask.period, err);
	return r < 0 ? r : projection_head(&site, &ask, each, ret_head, err);
}
