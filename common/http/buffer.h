/* SPDX-License-Identifier: GPL-2.0-or-later */
/* buffer.h - bytes that grow as they arrive, up to a bound. Private to common/http. */
#pragma once
#include <stddef.h>

struct http_buffer {
	char *data;
	size_t size, room;
};

/* -EMSGSIZE: it would be larger than `most`; -ENOMEM. Then nothing was added. */
int http_buffer_add(struct http_buffer *b, const void *data, size_t size, size_t most);
