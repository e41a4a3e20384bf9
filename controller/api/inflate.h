/* inflate - gzip bodies from anybody, in bounds. Pure but for memory. */
#pragma once
#include <stddef.h>

struct err;

/* One gzip member of `size` bytes into *ret (malloc()ed, *ret_size bytes). Never more than
 * `max` bytes are made, whatever the input says: -EMSGSIZE. -EINVAL: not gzip, cut short,
 * damaged, or something behind its end. */
int inflate_body(const void *data, size_t size, size_t max, char **ret, size_t *ret_size,
		 struct err *err);
