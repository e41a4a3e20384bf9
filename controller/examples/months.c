/* SPDX-License-Identifier: GPL-2.0-or-later */
/* months.c - reads the months of a window, MONTH=ALLOWANCE/USED: "2012-01=1000/800,
 * 2012-02=1000/0"; see examples_impl.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/examples/examples_impl.h"

static int parse_month(char *item, struct window_month *ret, struct err *err)
{
	char *figure, *slash;
	int r = examples_split(item, &figure, err);

	if (r < 0)
		return r;
	slash = strchr(figure, '/');
	if (!slash)
		return err_set(err, -EINVAL, "'%.40s': write MONTH=ALLOWANCE/USED", figure);
	*slash++ = '\0';
	r = window_month_parse(item, &ret->month, err);
	if (r == 0)
		r = window_amount_parse(figure, &ret->allowance, err);
	return r < 0 ? r : window_amount_parse(slash, &ret->used, err);
}

int examples_parse_months(const char *text, struct window_month ret[static EXAMPLES_MONTHS_MAX],
			  size_t *ret_n, struct err *err)
{
	char item[96];
	size_t n = 0;
	int r = 0;

	while (r == 0 && examples_item(&text, ",", item, sizeof(item))) {
		if (n == EXAMPLES_MONTHS_MAX)
			return err_set(err, -EINVAL, "more than %d months",
				       EXAMPLES_MONTHS_MAX);
		r = parse_month(item, &ret[n++], err);
	}
	*ret_n = n;
	return r;
}
