/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bar.c - draws bars of used, peak and requested amounts; see bar.h. */
#include <stdio.h>
#include <string.h>
#include "cli/top/draw/bar.h"

#define PERCENT_WIDTH 4 /* "100%" */
#define BAR_LEAST 4	/* a shorter bar says nothing that the percentage does not */

int top_percent(int64_t used, int64_t of)
{
	__int128 percent;

	if (used < 0 || of <= 0)
		return -1;
	percent = (__int128)used * 100 / of;
	return percent > TOP_PERCENT_MAX ? TOP_PERCENT_MAX : (int)percent;
}

/* How many of `width` characters stand for the amount: all of them only where it is `of` or more, none only where
 * it is nothing. */
static int scale_amount(int64_t amount, int64_t of, int width)
{
	int n;

	if (amount <= 0)
		return 0;
	if (amount >= of)
		return width;
	n = (int)((__int128)amount * width / of);
	return n == 0 && width > 1 ? 1 : n;
}

const char *top_bar_draw(const struct top_bar *b, int width, char buf[static TOP_BAR_MAX])
{
	int used, peak;

	width = width < 0 ? 0 : width >= TOP_BAR_MAX ? TOP_BAR_MAX - 1 : width;
	memset(buf, ' ', (size_t)width);
	buf[width] = '\0';
	if (b->of <= 0 || (b->used < 0 && b->peak < 0))
		return buf;
	used = scale_amount(b->used, b->of, width);
	peak = scale_amount(b->peak, b->of, width);
	memset(buf, '.', (size_t)width);
	memset(buf, ':', (size_t)peak);
	memset(buf, '|', (size_t)used);
	return buf;
}

const char *top_bar_cell(const struct top_bar *b, int width, char buf[static TOP_BAR_MAX])
{
	int percent = top_percent(b->used >= 0 ? b->used : b->peak, b->of);
	int bar = width - PERCENT_WIDTH - 1;
	char number[16];

	if (percent < 0)
		snprintf(number, sizeof(number), "%*s", PERCENT_WIDTH, "-");
	else
		snprintf(number, sizeof(number), "%3d%%", percent);
	if (width < 0 || width >= TOP_BAR_MAX || bar < BAR_LEAST) {
		width = width < 0 ? 0 : width >= TOP_BAR_MAX ? TOP_BAR_MAX - 1 : width;
		snprintf(buf, TOP_BAR_MAX, "%*.*s", width, width, number);
		return buf;
	}
	top_bar_draw(b, bar, buf);
	snprintf(buf + bar, (size_t)(TOP_BAR_MAX - bar), " %s", number);
	return buf;
}
