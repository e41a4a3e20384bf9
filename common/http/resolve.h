/* SPDX-License-Identifier: GPL-2.0-or-later */
/* resolve.h - finds the addresses of a host without keeping the event loop waiting: a name service may take many seconds, or load
 * libraries of the site. It is asked by a thread of its own, which ends with the answer. Private to common/http. */
#pragma once
#include <netdb.h>

struct err;
struct resolve;
struct sd_event;

/* e: 0, and `found`, which the callee gives to freeaddrinfo(); else an error as getaddrinfo() returns it. Frees the resolve
 * before. */
typedef void (*resolve_done_fn)(void *ctx, int e, struct addrinfo *found);

struct resolve_host {
	const char *host, *port; /* copied */
	resolve_done_fn done;
	void *ctx; /* of done */
};

/* done() is called once from the loop, unless resolve_free() comes first; never from here. */
int resolve_start(struct sd_event *event, struct resolve_host host, struct resolve **ret,
		  struct err *err);
/* Also while the thread is under way: it then ends by itself. */
struct resolve *resolve_free(struct resolve *r);
