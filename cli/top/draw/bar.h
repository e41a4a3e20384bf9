/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bar - draws how much of an amount is used, in ASCII: "||||||::......". Pure. */
#pragma once
#include <stdint.h>

#define TOP_BAR_MAX 256
#define TOP_PERCENT_MAX 999 /* more is shown as this */

/* '|' is what is used, ':' goes up to the peak, '.' is what is left of the request. */
struct top_bar {
	int64_t used, peak, of; /* below 0: not measured, not stated */
};

/* used / of in percent, rounded down, at most TOP_PERCENT_MAX; -1: one of them is not known, or `of` is 0. */
int top_percent(int64_t used, int64_t of);
/* Exactly `width` characters (at most TOP_BAR_MAX - 1). All are '|' if and only if used >= of; anything used is at
 * least one '|' where width is 2 or more; the bar of an amount that is not known is blank. Returns buf. */
const char *top_bar_draw(const struct top_bar *b, int width, char buf[static TOP_BAR_MAX]);
/* The bar and the percentage, "|||::....  45%", in exactly `width` columns; the bar is left out below 9 columns. The
 * percentage is that of `used`, of the peak where only that is known; "-" where neither is. */
const char *top_bar_cell(const struct top_bar *b, int width, char buf[static TOP_BAR_MAX]);
