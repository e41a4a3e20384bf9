/* SPDX-License-Identifier: GPL-2.0-or-later */
/* zlib.c - gzip, of large requests and of histories; see lazy.h. */
#include <zlib.h>
#include "cli/lazy/lazy.h"

static struct lazy library = { .file = "libz.so.1", .package = "zlib1g" };

/* clang-format off */
LAZY(int, deflate, (z_streamp a, int b), (a, b))
LAZY(uLong, deflateBound, (z_streamp a, uLong b), (a, b))
LAZY(int, deflateEnd, (z_streamp a), (a))
LAZY(int, deflateInit2_, (z_streamp a, int b, int c, int d, int e, int f, const char *g, int h), (a, b, c, d, e, f, g, h))
LAZY(int, gzbuffer, (gzFile a, unsigned b), (a, b))
LAZY(int, gzclose, (gzFile a), (a))
LAZY(const char *, gzerror, (gzFile a, int *b), (a, b))
LAZY(off_t, gzoffset, (gzFile a), (a))
LAZY(gzFile, gzopen, (const char *a, const char *b), (a, b))
LAZY(int, gzread, (gzFile a, voidp b, unsigned c), (a, b, c))
