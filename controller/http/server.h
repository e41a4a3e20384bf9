/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server - HTTP server in an sd-event loop (libmicrohttpd without threads of its own).
 *
 * The handler gets a request twice: when its line and headers have arrived, to refuse or admit
 * it, and when it is complete (body inflated). The body of a request that is not admitted is
 * neither stored nor inflated. Everything is bounded: the number of connections, the size of a
 * body before and after inflating, the memory of all bodies together, the time until a request
 * is complete, and the time until the client has read its answer.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct certificate;
struct err;
struct sd_event;
struct server;
struct exchange;

#define SERVER_BODY_MAX (8 << 20)

/* Must refuse the exchange (exchange_answer()) or admit it, before it returns. */
typedef void (*server_admit_fn)(void *ctx, struct exchange *x);
/* Must answer the exchange, before it returns or later (a long poll). */
typedef void (*server_request_fn)(void *ctx, struct exchange *x);

struct server_config {
	struct sd_event *event;
	int listen_fd; /* the caller closes it */
	unsigned max_connections;
	int64_t request_timeout_s;
	/* listen_fd is a unix socket: processes of root and of this uid alone may connect, as the
	 * kernel says (SO_PEERCRED). NULL: any client. */
	const uint32_t *only_uid;
	struct certificate *certificate; /* TLS alone is served; NULL: plain HTTP */
	server_admit_fn on_headers;
	server_request_fn on_request;
	void *ctx;
};

int server_open(const struct server_config *c, struct server **ret, struct err *err);
/* Exchanges that were not answered are dropped. */
struct server *server_close(struct server *s);
DEFINE_CLEANUP(struct server *, server_close)

/* `where` is "ADDRESS:PORT", "[V6]:PORT" or ":PORT". *ret_fd is bound and listening. */
int server_listen(const char *where, int *ret_fd, struct err *err);
/* The address that it would be bound to. -EINVAL: not such a text. */
struct sockaddr_storage;
int server_find_address(const char *where, struct sockaddr_storage *ret, uint32_t *ret_size,
			struct err *err);
/* A unix socket that every process may connect to (server_config.only_uid decides). One that a controller
 * before this one left at `path` is replaced; anything else there is -EEXIST. */
int server_listen_local(const char *path, int *ret_fd, struct err *err);

/* A numeric address that nodes connect from. -EINVAL: it is not numeric. */
int server_add_node(struct server *s, const char *address);

struct server_counts {
	int64_t connections, requests, refused; /* now; since start; refused before a handler */
	int64_t shed;	    /* connections and requests refused or dropped for want of room */
	int64_t shed_nodes; /* of these: may have been a node's */
	int64_t late;	    /* connections closed because too little came in time */
	int64_t handshakes, handshakes_failed; /* of TLS, since start: done, and not */
	int64_t handshake_ns;		       /* CPU time of those done */
	char shed_from[64]; /* the latest of shed_nodes: an address, or "all" */
	bool has_certificate;
	int64_t certificate_left_s;  /* certificate_left_s() */
	const char *certificate_key; /* certificate_key() */
};
void server_get_counts(const struct server *s, struct server_counts *ret);
/* Counts a request that could not be served, without an address. */
void server_note_refusal(struct server *s, const char *why);
