/* inflate - gzip bodies from anybody, in bounds. Pure but for memory. */
#pragma once
#include <stddef.h>

struct err;

struct inflate_text {
	char *data; /* malloc()ed */
	size_t size;
};

/* One gzip member of `size` bytes. Never more than `max` bytes are made, nor beyond 1 MiB more
 * than a hundred times `size`, whatever the input says: -EMSGSIZE. -EINVAL: not gzip, cut
 * short, damaged, or something behind its end. */
int inflate_body(const void *data, size_t size, size_t max, struct inflate_text *ret,
		 struct err *err);
