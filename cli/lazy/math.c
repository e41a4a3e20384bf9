/* SPDX-License-Identifier: GPL-2.0-or-later */
/* math.c - powers and logarithms of policies; see lazy.h. */
#include <math.h>
#include "cli/lazy/lazy.h"

static struct lazy library = { .file = "libm.so.6", .package = "libc6" };

/* clang-format off */
LAZY(double, exp2, (double a), (a))
LAZY(double, log10, (double a), (a))
LAZY(double, log2, (double a), (a))
LAZY(double, nearbyint, (double a), (a))
LAZY(double, pow, (double a, double b), (a, b))
