/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics_usage - usage in GET /metrics, and which callers get it by account.
 *
 * The usage of an account is visible to its members and to operators (as in GET /v1/usage),
 * while a monitoring system cannot sign its requests with munge. So everyone gets the sums by
 * pool; the same series by account are for operators (a signed request), for clients that send
 * the token of MetricsToken= ("Authorization: Bearer TOKEN"), or with MetricsAccounts=public
 * for everyone.
 */
#pragma once
#include <stdbool.h>
#include "common/metrics.h"
#include "controller/api/call.h"

/* < 0: refused, with 401: a token that is not the site's; err has the words. */
int metrics_may_see_accounts(struct call *c, bool *ret, struct err *err);
int metrics_put_usage(struct metrics_text *t, struct api *a, bool by_account, struct err *err);
/* Frees the sums that are kept between two requests. */
struct metrics_usage *metrics_usage_free(struct metrics_usage *m);
