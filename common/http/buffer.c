/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buffer.c - see buffer.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/http/buffer.h"

int http_buffer_add(struct http_buffer *b, const void *data, size_t size, size_t most)
{
	size_t room = b->room ? b->room : 4096;
	char *more;

	if (b->size > most || size > most - b->size)
		return -EMSGSIZE;
	while (room < b->size + size)
		room *= 2;
	if (room != b->room) {
		more = realloc(b->data, room);
		if (!more)
			return -ENOMEM;
		b->data = more;
		b->room = room;
	}
	if (size)
		memcpy(b->data + b->size, data, size);
	b->size += size;
	return 0;
}
