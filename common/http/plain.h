/* plain.h - one HTTP/1.1 exchange over a TCP connection of our own, without TLS, waiting in poll(): for commands, which make one
 * exchange, and to which loading libcurl with its 42 libraries would cost more than the rest of their work. Private to
 * common/http. */
#pragma once
#include <stdbool.h>

struct err;
struct http;

/* Is it http://? */
bool plain_speaks(const char *url);
/* After http_prepare(): makes the call. What http_finish() is given. The connection is kept for the next call to the
 * same controller, where both sides agree. */
int plain_exchange(struct http *h, struct err *err);
void plain_close(struct http *h);
