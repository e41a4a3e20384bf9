/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exact - a text that ends where its bytes do, without a NUL: the address sanitizer reports who reads on. */
#pragma once
#include <stdlib.h>
#include <string.h>

static inline char *exact_copy(const char *text, size_t size)
{
	char *copy = calloc(1, size);

	if (size)
		memcpy(copy, text, size);
	return copy;
}
