/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain.h - one HTTP/1.1 exchange over a TCP connection of our own, without TLS, waiting in poll(): for commands, which make one
 * exchange, and to which loading libcurl with its 42 libraries would cost more than the rest of their work. Private to
 * common/http. */
#pragma once
#include <stdbool.h>

struct err;
struct http;

/* After http_prepare(): makes the call. What http_finish() is given. The connection is kept for the next call to the
 * same controller, where both sides agree. -EAGAIN: it was sent ahead, and the connection ended without an answer: prepare it and
 * make it again. */
int plain_exchange(struct http *h, struct err *err);
/* After that, over the same connection: sends the GET of this path (NULL: none), whose call follows. Where it cannot be sent at once,
 * that call does it. */
void plain_send_ahead(struct http *h, const char *path);
