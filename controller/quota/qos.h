/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qos - the quality of service (QOS) of a job: its default, and whether the job may have it.
 *
 * A QOS is a section of the configuration ([Qos NAME]); accounts.conf lists those that an
 * account may use, and the default of its jobs; [Policy] DefaultQos is the default
 * of all others. Configuration and accounts must both allow: the QOS by
 * AllowUsers= and AllowAccounts= (an account allows all below it), and the account by Qos=, its
 * own or that of the nearest account above, where one is stated.
 */
#pragma once
#include "controller/quota/quota.h"

/* Fills in the QOS of a request that names none: the account's default (its own, else that of
 * the nearest account above), else the site's ([Policy] DefaultQos), else none. An account that
 * is not known has no default. */
void quota_fill_qos(const struct quota_site *site, struct request *q);

struct quota_qos_refusal {
	const char *code; /* "unknown-qos", "forbidden-qos", "too-large" */
	char text[320], remedy[320];
};
/* May the request have the QOS that it names? False: *ret has the reason. True where it names
 * none. */
bool quota_allows_qos(const struct quota_site *site, const struct request *q,
		      struct quota_qos_refusal *ret);
