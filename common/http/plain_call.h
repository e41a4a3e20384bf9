/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain_call.h - the bytes of one HTTP/1.1 exchange over a TCP connection of our own, without TLS: for plain.c, which waits for them in
 * poll(), and plain_loop.c, which is driven by an event loop. Private to common/http. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include "common/http/exchange.h"
#include "common/http/response.h"

#define PLAIN_HOST_MAX 256
#define PLAIN_HEAD_MAX (16384 + AUTH_HEADER_MAX)
#define PLAIN_CONNECT_NS (10 * S_NS)
#define PLAIN_CONNECT_OF_SEVERAL_NS (3 * S_NS) /* where another controller can be asked */

/* One call under way. */
struct plain_call {
	struct http *http;
	char host[PLAIN_HOST_MAX], port[8];
	struct iovec left[2]; /* of the request: head and body */
	struct response response;
	bool is_reused; /* the connection is one of an earlier call */
};

/* Is it http://? */
bool plain_call_speaks(const char *url);
/* The connection that is kept. */
void plain_call_close(struct http *h);

/* After http_prepare(): host and port of h->url, "http://HOST[:PORT]" as http_open() has checked it (HOST may be [IPv6]), and an
 * empty response. -EINVAL. */
int plain_call_begin(struct plain_call *p, struct http *h, struct err *err);
/* May the kept connection be used? Nothing may have come over it; an end of it least of all. */
bool plain_call_can_reuse(const struct http *h);
/* Writes the head of the request, and what is left to send: `head` must stay until that is sent. -EINVAL. */
int plain_call_head(struct plain_call *p, char head[static PLAIN_HEAD_MAX], struct err *err);

bool plain_call_has_to_send(const struct plain_call *p);
/* Sends over h->plain_fd as much as it takes at once. A controller that refuses a request may answer and close before it has read all:
 * what it said is still read. 0 or -errno. */
int plain_call_send(struct plain_call *p);
/* 1: the response is whole; 0: more is needed; -errno. */
int plain_call_receive(struct plain_call *p);
/* r: 1, or -errno of what broke it off. What http_finish() is given; -EAGAIN: the kept connection was closed at the very moment, and what
 * changes nothing can be sent once more. */
int plain_call_end(struct plain_call *p, int r, struct err *err);
