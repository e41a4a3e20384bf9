/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fairshare_decimal.c - parses decimal numbers exactly; see fairshare_decimal.h. */
#include <ctype.h>
#include <string.h>
#include "cli/offline/fairshare_decimal.h"

#define EXPONENT_MAX 10000

/* Parses "e-7"; an empty text is 0. */
static bool parse_exponent(const char *text, int *ret)
{
	int sign = 1, n = 0;

	*ret = 0;
	if (!*text)
		return true;
	if (*text != 'e' && *text != 'E')
		return false;
	text++;
	if (*text == '-' || *text == '+')
		sign = *text++ == '-' ? -1 : 1;
	if (!isdigit((unsigned char)*text))
		return false;
	for (; isdigit((unsigned char)*text); text++)
		n = n < EXPONENT_MAX ? n * 10 + (*text - '0') : EXPONENT_MAX;
	*ret = sign * n;
	return !*text;
}

/* Leading zeros are not stored; behind the point they move it. */
static void add_digit(struct fairshare_decimal *d, char digit, bool behind_point)
{
	if (!d->n && digit == '0') {
		d->point -= behind_point;
		return;
	}
	if (d->n < FAIRSHARE_DECIMAL_DIGITS_MAX)
		d->digits[d->n++] = digit;
	d->point += !behind_point;
}

bool fairshare_decimal_parse(const char *text, struct fairshare_decimal *ret)
{
	struct fairshare_decimal d = { .n = 0 };
	bool any = false, point = false;
	int exponent;

	for (; isdigit((unsigned char)*text) || (*text == '.' && !point); text++) {
		if (*text == '.') {
			point = true;
			continue;
		}
		any = true;
		add_digit(&d, *text, point);
	}
	if (!any || !parse_exponent(text, &exponent))
		return false;
	while (d.n && d.digits[d.n - 1] == '0')
		d.n--;
	d.digits[d.n] = '\0';
	d.point = d.n ? d.point + exponent : 0;
	*ret = d;
	return true;
}

fairshare_usage fairshare_decimal_scale(const struct fairshare_decimal *d, int decimals)
{
	int places = d->point + decimals; /* digits that stand before the new point */
	fairshare_usage u = 0;

	for (int i = 0; i < places; i++)
		u = u * 10 + (i < d->n ? (unsigned)(d->digits[i] - '0') : 0);
	return u + (places >= 0 && places < d->n && d->digits[places] >= '5');
}
