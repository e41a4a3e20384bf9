/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stored_limit.c - checks how much of the ledger a user fills; see stored_limit.h. */
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/api/stored_limit.h"
#include "controller/ledger/jobs/stored.h"

int stored_limit_refuse(struct call *c, const char *user, int64_t more, struct err *err)
{
	char have[AMOUNT_TEXT_MAX], added[AMOUNT_TEXT_MAX], most[AMOUNT_TEXT_MAX],
		time[AMOUNT_TEXT_MAX];
	const struct config *config = c->api->c.config;
	int64_t max = config->max_stored_per_user, bytes = 0;
	int r = store_stored(c->api->c.store, user, &bytes, err);

	if (r < 0)
		return r;
	amount_format_bytes_like(more, max, added);
	err_set(err, 0,
		"user %s fills %s of the ledger with scripts, environments, steps, dependencies "
		"and output%s%s, "
		"and MaxStoredPerUser is %s; what has ended is removed %s after its end "
		"(KeepOutput)",
		user, amount_format_bytes_like(bytes, max, have),
		more ? "; this needs up to " : "", more ? added : "",
		amount_format_bytes_like(max, max, most),
		amount_format_seconds(config->keep_output_s, time));
	return call_refuse(
		c, 400, "too-much-stored",
		"submit many jobs with one script, or as an array, write large output "
		"to files, and cancel queued jobs that are not needed");
}

int stored_limit_check(struct call *c, const char *user, int64_t more, struct err *err)
{
	int64_t most = c->api->c.config->max_stored_per_user, have = 0;
	int r = most ? store_stored(c->api->c.store, user, &have, err) : 0;

	if (r < 0 || !most || have + more <= most)
		return r;
	return stored_limit_refuse(c, user, more, err);
}
