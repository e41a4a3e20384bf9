/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decimal.c - see decimal.h. A double is m x 2^e with m < 2^53; times 10^9 it still fits into 128 bits, where shifting by -e leaves
 * the quotient and an exact remainder. */
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <string.h>
#include "cli/output/decimal.h"

/* Of an IEEE 754 double. */
#define FRACTION_BITS 52
#define EXPONENT_BIAS 1023
#define VALUE_MAX 0x1p33 /* times 10^9 it is below 2^63 */

static const uint64_t powers[DECIMAL_DIGITS_MAX + 1] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000
};

/* |v| x 10^decimals, rounded. */
static uint64_t scale_value(double v, int decimals)
{
	unsigned __int128 scaled, half, rest;
	uint64_t bits, m;
	int e;

	memcpy(&bits, &v, sizeof(bits));
	e = (int)(bits >> FRACTION_BITS & 0x7ff);
	m = bits & (((uint64_t)1 << FRACTION_BITS) - 1);
	m |= (uint64_t)(e != 0) << FRACTION_BITS; /* the leading 1 of a normal number */
	/* |v| is m / 2^e; e > 0, because |v| < 2^33 */
	e = EXPONENT_BIAS + FRACTION_BITS - (e ? e : 1);
	scaled = (unsigned __int128)m * powers[decimals];
	if (e > 120)
		return 0; /* scaled is below 2^83 */
	half = (unsigned __int128)1 << (e - 1);
	rest = scaled & ((half << 1) - 1);
	scaled >>= e;
	if (rest > half || (rest == half && (scaled & 1)))
		scaled++;
	return (uint64_t)scaled;
}

int decimal_format(double v, int decimals, char *ret)
{
	char text[DECIMAL_TEXT_MAX], *at = text + sizeof(text);
	uint64_t n;

	if (decimals < 0 || decimals > DECIMAL_DIGITS_MAX || !(fabs(v) < VALUE_MAX))
		return -ERANGE;
	n = scale_value(v, decimals);
	*--at = '\0';
	for (int i = 0; i < decimals; i++, n /= 10)
		*--at = (char)('0' + n % 10);
	if (decimals)
		*--at = '.';
	do
		*--at = (char)('0' + n % 10);
	while (n /= 10);
	if (signbit(v))
		*--at = '-';
	memcpy(ret, at, (size_t)(text + sizeof(text) - at));
	return (int)(text + sizeof(text) - at) - 1;
}
