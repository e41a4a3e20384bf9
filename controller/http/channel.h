/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel - TLS of one connection: the handshake with the client, then its bytes in plain to and from one
 * end of a socket pair, whose other end is libmicrohttpd's. Private to this room.
 *
 * Not by libmicrohttpd's own TLS: its epoll loop (0.9.75) runs without a pause while the handshake of any
 * connection is unfinished, so that one client that does not finish it would use up a core.
 *
 * A client that sends nothing costs this struct and a descriptor: the session is made when its first byte
 * arrives. One that speaks plain HTTP gets an answer with what to write, and is closed.
 */
#pragma once
#include <stdbool.h>
#include "common/cleanup.h"

struct certificate;
struct channel;
struct sd_event;

struct channel_config {
	struct sd_event *event;
	int fd; /* the client's; the channel closes it */
	struct certificate *certificate;
	/* The first byte of a handshake has arrived. Returns why there is none, or NULL: it begins. */
	const char *(*on_begin)(void *ctx);
	/* A step of the handshake took so much CPU time. */
	void (*on_spent)(void *ctx, int64_t cpu_ns);
	/* The handshake is done: `inner` is the plain end, which belongs to the callee. < 0: close. */
	int (*on_ready)(void *ctx, int inner);
	/* There is no memory or descriptor for its TLS; it ends. */
	void (*on_no_room)(void *ctx, const char *why);
	/* Called last, once: the client's descriptor is closed and the channel is freed. why: what was wrong with
	 * its handshake, or NULL. */
	void (*on_end)(void *ctx, const char *why);
	void *ctx;
};

/* 0, or -errno; then the descriptor is still the caller's. Callbacks come from the loop, never from here. */
int channel_open(const struct channel_config *c, struct channel **ret);
/* The inner end was closed, and the program ends: sends what is left at once, and closes. No callback. */
struct channel *channel_close(struct channel *ch);
/* Is there something of the inner end that the client has not taken yet? */
bool channel_is_sending(const struct channel *ch);
