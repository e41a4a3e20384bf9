/* qos - which quality of service a job has, and whether it may have it.
 *
 * A QOS is a section of the configuration ([Qos NAME]); accounts.conf says which ones an
 * account may use, and which one its jobs have that name none; [Policy] DefaultQos is the one
 * of all other jobs that name none. Configuration and accounts must both allow: the QOS by
 * AllowUsers= and AllowAccounts= (an account allows all below it), and the account by Qos=, its
 * own or that of the nearest account above, where one is stated.
 */
#pragma once
#include "controller/quota/quota.h"

/* What a request that names no QOS gets: the account's default (its own, else that of the
 * nearest account above), else the site's ([Policy] DefaultQos), else none. An account that is
 * not known has no default of its own. */
void quota_fill_qos(const struct quota_site *site, struct request *q);

struct quota_qos_refusal {
	const char *code; /* "unknown-qos", "forbidden-qos", "too-large" */
	char text[320], remedy[320];
};
/* May the request have the QOS that it names? False: why not. True also where it names none. */
bool quota_allows_qos(const struct quota_site *site, const struct request *q,
		      struct quota_qos_refusal *ret);
