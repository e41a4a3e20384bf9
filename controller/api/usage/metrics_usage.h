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
#include <stdio.h>
#include "controller/api/call.h"

/* OpenMetrics and the text format 0.0.4 differ in the names of counters in HELP and TYPE (without _total), and in the last line. */
struct metrics_text {
	FILE *f;
	bool is_openmetrics;
};
void metrics_head(struct metrics_text *t, const char *name, const char *type, const char *help);
void metrics_label(struct metrics_text *t, const char *name, const char *value); /* escaped */
void metrics_seconds(const struct metrics_text *t,
		     int64_t ms); /* "1.500", and the end of the line */

/* < 0: refused, with 401: a token that is not the site's; err has the words. */
int metrics_may_see_accounts(struct call *c, bool *ret, struct err *err);
int metrics_put_usage(struct metrics_text *t, struct api *a, bool by_account, struct err *err);
/* Frees the sums that are kept between two requests. */
struct metrics_usage *metrics_usage_free(struct metrics_usage *m);
