/* SPDX-License-Identifier: GPL-2.0-or-later */
/* decimal - a number with decimals as printf("%.*f") has it in the C locale, ten times faster: for columns of many rows. Pure. */
#pragma once

#define DECIMAL_DIGITS_MAX 9 /* decimals */
#define DECIMAL_TEXT_MAX 32  /* bytes, with the NUL */

/* Exact: rounded to nearest, ties to even, as glibc does. Returns the length of the text. -ERANGE, and nothing is written: more decimals, not finite, or 2^33 and more. */
int decimal_format(double v, int decimals, char *ret);
