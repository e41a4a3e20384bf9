/* server - HTTP in an sd-event loop (libmicrohttpd without threads of its own).
 *
 * A request is handed on twice: when its line and headers are there, to be refused or admitted,
 * and when it is whole (body inflated). Of the body of a request that is not admitted nothing
 * is kept and nothing is inflated. Everything is bounded: number of connections, size of a body
 * before and after inflating, memory of all bodies together, and the time until a request is
 * whole and until its answer is taken.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct sd_event;
struct server;
struct exchange;

struct auth_said;

#define SERVER_BODY_MAX (8 << 20)

/* Must answer the exchange (a refusal), or admit it; at once. */
typedef void (*server_admit_fn)(void *ctx, struct exchange *x);
/* Must answer the exchange, now or later (a long poll). */
typedef void (*server_request_fn)(void *ctx, struct exchange *x);

struct server_config {
	struct sd_event *event;
	int listen_fd; /* stays the caller's */
	unsigned max_connections;
	int64_t request_timeout_s;
	server_admit_fn on_headers;
	server_request_fn on_request;
	void *ctx;
};

int server_open(const struct server_config *c, struct server **ret, struct err *err);
/* Exchanges that were not answered are dropped. */
struct server *server_close(struct server *s);
DEFINE_CLEANUP(struct server *, server_close)

/* "ADDRESS:PORT", "[V6]:PORT" or ":PORT"; bound and listening. */
int server_listen(const char *where, int *ret_fd, struct err *err);

/* Nodes speak from there; numeric. -EINVAL: it is not. */
int server_add_node(struct server *s, const char *address);

struct server_counts {
	int64_t connections, requests, refused; /* now; since start; refused before a handler */
	int64_t shed;	    /* connections and requests refused or dropped for want of room */
	int64_t shed_nodes; /* of these: a node may have been meant */
	int64_t late;	    /* connections closed because too little came in time */
	char shed_from[64]; /* the latest of shed_nodes: an address, or "all" */
};
void server_get_counts(const struct server *s, struct server_counts *ret);

const char *exchange_method(const struct exchange *x);
const char *exchange_path(const struct exchange *x);   /* decoded, without query */
const char *exchange_target(const struct exchange *x); /* as received, with query */
const char *exchange_header(const struct exchange *x, const char *name); /* or NULL */
const char *exchange_query(const struct exchange *x, const char *name);	 /* decoded, or NULL */
/* Until the request function returns; or, after exchange_keep_body(), until it is answered. */
const char *exchange_body(const struct exchange *x, size_t *ret_size);
void exchange_keep_body(struct exchange *x);

struct exchange_leave {
	size_t body_max; /* bytes, as sent and as inflated; at most SERVER_BODY_MAX */
	const struct auth_said *said; /* who sends it; copied. NULL: nobody knows */
};
/* Where there is no room for one more of that user it is refused all the same. */
void exchange_admit(struct exchange *x, const struct exchange_leave *leave);
/* For who is not known (yet). false: too many wrong credentials came from there; for those
 * that need none: too many requests, of there or at all. */
bool exchange_may_try(const struct exchange *x);
void exchange_note_wrong(struct exchange *x);
bool exchange_may_ask(struct exchange *x);
/* Its address is a node's: there is room that is for these alone. Kept while the server is. */
void exchange_mark_node(struct exchange *x);
/* A request could not be served; of this address or user, of anybody. */
void server_note_refusal(struct server *s, const char *why);
void exchange_note_shed(struct exchange *x, const char *why);
/* What exchange_admit() was given, or NULL. */
const struct auth_said *exchange_said(const struct exchange *x);

struct exchange_answer {
	unsigned status;
	const char *type; /* content type; NULL: application/json */
	char *text;	  /* malloc()ed; the exchange takes it */
	size_t size;
	const char *credential; /* X-Reeve-Credential, or NULL; copied */
};
/* Exactly once for each exchange; it must not be touched afterwards. */
void exchange_answer(struct exchange *x, struct exchange_answer a);
