/* SPDX-License-Identifier: GPL-2.0-or-later */
/* shares.c - raw shares as accounts.conf, CSV files and sacctmgr write them. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/policy/fairshare/fairshare.h"

int fairshare_parse_shares(const char *text, int64_t *ret, struct err *err)
{
	int64_t n = 0;
	int r;

	if (!strcmp(text, "parent")) {
		*ret = FAIRSHARE_PARENT;
		return 0;
	}
	r = amount_parse_count(text, &n, err);
	if (r == 0 && n > FAIRSHARE_SHARES_MAX)
		r = err_set(err, -EINVAL, "shares are from 0 to %d, or parent",
			    FAIRSHARE_SHARES_MAX);
	if (r == 0)
		*ret = n;
	return r;
}
