/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_decimal - parses decimal numbers exactly, for usage in `reeve fairshare`. */
#pragma once
#include "controller/policy/fairshare/fairshare.h"

/* Digits of a number as written: value = 0.DIGITS * 10^point. */
#define FAIRSHARE_DECIMAL_DIGITS_MAX 80
struct fairshare_decimal {
	char digits[FAIRSHARE_DECIMAL_DIGITS_MAX +
		    1]; /* begins and ends with another digit than 0 */
	int n, point;
};

/* Parses "12", "0.5", "1.5e10", ".5", "3."; false for anything else, also for a sign. Digits behind
 * the 80th are dropped. */
bool fairshare_decimal_parse(const char *text, struct fairshare_decimal *ret);
/* value * 10^decimals, rounded half up. Precondition, so that it fits: point + decimals <= 38. */
fairshare_usage fairshare_decimal_scale(const struct fairshare_decimal *d, int decimals);
