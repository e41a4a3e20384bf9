/* usage_ledger.c - see usage_ledger.h. */
#include <string.h>
#include "cli/site_file.h"
#include "cli/usage_ledger.h"
#include "common/err.h"
#include "controller/ledger/calendar.h"

static int64_t day_of(const char *text, int64_t def)
{
	if (text)
		calendar_parse_day(text, &def);
	return def;
}

static enum store_by by_of(const char *by)
{
	if (by && !strcmp(by, "user"))
		return STORE_BY_USER;
	return by && !strcmp(by, "cluster") ? STORE_BY_CLUSTER : STORE_BY_ACCOUNT;
}

static void read_period(const struct verb_call *call, const struct site_file *f,
			struct outlook_ask *ask)
{
	const char *start = verb_value(call, "start"), *end = verb_value(call, "end");
	struct store_period *p = &ask->period;

	*p = (struct store_period){ .by = by_of(verb_value(call, "by")),
				    .each = verb_count(call, "monthly") ? STORE_EACH_MONTH
									: STORE_EACH_PERIOD,
				    .account = verb_value(call, "account"),
				    .user = verb_value(call, "user"),
				    .from_day = INT32_MIN,
				    .to_day = INT32_MAX };
	/* The end of the last charge is the first moment after it: of that year or the next. */
	if (f->config && !start && !end && p->each == STORE_EACH_PERIOD)
		outlook_year(f->config, store_day(f->store, ask->now_ns - 1), &p->from_day,
			     &p->to_day);
	p->from_day = day_of(start, p->from_day);
	p->to_day = day_of(end, p->to_day);
}

int usage_ledger_read(const struct verb_call *call, const struct outlook_each *each,
		      json_t **ret_head, struct err *err)
{
	_cleanup_(site_file_done) struct site_file f = { 0 };
	struct outlook_ask ask;
	int r = site_file_open(call, SITE_FILE_LEDGER, &f, err);

	if (r >= 0)
		r = site_file_at(&f, verb_value(call, "at"), &ask.now_ns, err);
	if (r < 0)
		return r;
	read_period(call, &f, &ask);
	return outlook_head(&(struct quota_site){ f.store, f.config, f.accounts }, &ask, each,
			    ret_head, err);
}
