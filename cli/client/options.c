/* SPDX-License-Identifier: GPL-2.0-or-later */
/* options.c - options that several verbs have; see options.h. */
#include <errno.h>
#include <inttypes.h>
#include "cli/client/options.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/verb/verb.h"
#include "controller/ledger/calendar.h"

/* *ret is unchanged where the option is absent. */
static int read_day(const struct verb_call *call, const char *option, int64_t *ret,
		    struct err *err)
{
	const char *text = verb_value(call, option);

	if (text && calendar_parse_day(text, ret) < 0)
		return err_set(err, -EINVAL, "--%s '%.32s' is not a day; write 2026-11-01",
			       option, text);
	return 0;
}

int options_check_period(const struct verb_call *call, struct err *err)
{
	int64_t start = INT64_MIN, end = INT64_MAX;
	int r = read_day(call, "start", &start, err);

	if (r == 0)
		r = read_day(call, "end", &end, err);
	if (r == 0 && end <= start)
		r = err_set(err, -EINVAL,
			    "--end %.32s is not after --start %.32s; it is the day after the "
			    "last one",
			    verb_value(call, "end"), verb_value(call, "start"));
	return r;
}

int options_need_ledger(const struct verb_call *call, const char *const *options,
			struct err *err)
{
	for (; !verb_value(call, "ledger") && *options; options++)
		if (verb_count(call, *options))
			return err_set(err, -EINVAL, "--%s needs --ledger FILE", *options);
	return 0;
}

int options_read_limit(const struct verb_call *call, int64_t most, int64_t *ret,
		       struct err *err)
{
	const char *text = verb_value(call, "limit");
	int64_t n;

	if (!text)
		return 0;
	if (amount_parse_count(text, &n, NULL) < 0 || n < 1 || n > most)
		return err_set(err, -EINVAL, "--limit %.32s: write 1 to %" PRId64, text, most);
	*ret = n;
	return 0;
}
