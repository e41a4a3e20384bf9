/* SPDX-License-Identifier: GPL-2.0-or-later */
/* inflate - decompresses hostile gzip bodies within bounds. Pure but for memory. */
#pragma once
#include <stddef.h>

struct err;

struct inflate_text {
	char *data; /* malloc()ed */
	size_t size;
};

/* Decompresses one gzip member of `size` bytes. Never makes more than `max` bytes, nor beyond 1
 * MiB more than a hundred times `size`: -EMSGSIZE. -EINVAL: not gzip, truncated, damaged, or
 * with data behind its end. */
int inflate_body(const void *data, size_t size, size_t max, struct inflate_text *ret,
		 struct err *err);
