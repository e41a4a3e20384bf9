/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fail_alloc.c - stands in front of the C library's allocations (or the sanitizer's); see fail_alloc.h. */
#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "tests/unit/rig/faults/fail_alloc.h"

static long left = -1; /* allocations until one fails; below 0: none does */
static bool has_failed, goes_on;

void fail_alloc_after(long n)
{
	has_failed = goes_on = false;
	left = n;
}

void fail_alloc_from(long n)
{
	has_failed = false;
	goes_on = true;
	left = n;
}

bool fail_alloc_end(void)
{
	left = -1;
	return has_failed;
}

static bool is_next(void)
{
	if (left < 0 || left-- > 0)
		return false;
	has_failed = true;
	if (goes_on)
		left = 0;
	return true;
}

void *malloc(size_t size)
{
	static void *(*real)(size_t);

	if (!real)
		real = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	return is_next() ? NULL : real(size);
}

void *calloc(size_t n, size_t size)
{
	static void *(*real)(size_t, size_t);

	if (!real)
		real = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	return is_next() ? NULL : real(n, size);
}

void *realloc(void *p, size_t size)
{
	static void *(*real)(void *, size_t);

	if (!real)
		real = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	return is_next() ? NULL : real(p, size);
}

char *strdup(const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = malloc(size);

	return copy ? memcpy(copy, text, size) : NULL;
}

int fail_alloc_each(int (*what)(void *ctx), void *ctx)
{
	for (int n = 0;; n++) {
		int r;

		fail_alloc_after(n);
		r = what(ctx);
		if (!fail_alloc_end()) {
			assert_int_equal(r, 0);
			return n;
		}
		assert_int_equal(r, -ENOMEM);
	}
}
