/* SPDX-License-Identifier: GPL-2.0-or-later */
/* server_impl - what server.c, connections.c and exchange.c share; private to this room. */
#pragma once
#include <microhttpd.h>
#include "common/clock.h"
#include "common/fair.h"
#include "common/log.h"
#include "controller/http/channel.h"
#include "controller/http/exchange.h"
#include "controller/http/peers.h"
#include "controller/http/server.h"

/* Bytes of the bodies that are being read: all of them; all users' but root's, and a single user's. */
#define SERVER_ALL_BODIES_MAX (128LL << 20)
static const struct fair_use server_bodies = {
	.max = 64LL << 20, .most = 24LL << 20, .least = 128LL << 10, .part = 1
};
/* An eighth of the remaining connections. */
#define SERVER_CONNECTIONS_PART 8

enum connection_phase {
	PHASE_IDLE,   /* nothing of a request seen */
	PHASE_READ,   /* the request line is there */
	PHASE_HANDLE, /* with the handler, or suspended: no time limit */
	PHASE_WRITE,  /* the answer is on its way */
};

enum server_pool_kind { POOL_ANY, POOL_NODES, _POOL_MAX };

/* Connections without a good credential so far. */
struct server_pool {
	struct connection **at;
	int64_t n, max;
};

struct connection {
	struct connection *next, *previous;
	struct connection *peer_next, *peer_previous; /* of the same address, in the pool */
	struct server *server;
	struct MHD_Connection *mhd; /* NULL: not yet, or not any more */
	struct server_lane *lane;   /* that has `mhd` */
	struct channel *channel;    /* NULL: without TLS, or the client is gone */
	struct peer *address,
		*user; /* user NULL: no good credential so far, it is in its pool */
	enum connection_phase phase;
	enum server_pool_kind pool;
	int64_t pool_at;
	int fd;		  /* the client's; -1: closed */
	bool is_person;	  /* its user is not root: not a node */
	bool is_released; /* cut: no longer counted */
	int64_t since_ns; /* server_clock_ns(): of the phase */
	int64_t body_bytes;
	int64_t handshake_ns,
		charged_ns; /* CPU time of its handshake; what peer_spend() has of it */
};

/* libmicrohttpd walks all suspended connections of a daemon to find those that were resumed. With ten thousand nodes that wait, that was the
 * most of its time, and a quarter of the controller's with 16 daemons: the connections are spread over many daemons in the same thread, and
 * only those with something to do are run. */
#define SERVER_LANES 128
struct server_lane {
	struct server *server;
	struct MHD_Daemon *daemon;
	struct sd_event_source *timer;
	bool has_resumed;	  /* libmicrohttpd is to be run again */
	struct server_lane *next; /* of those that have */
};

struct server_limits {
	int64_t per_address, per_user, user_least, people, known;
};

struct server {
	struct server_config config;
	struct server_lane lanes[SERVER_LANES];
	unsigned next_lane; /* of the next connection */
	int ready_fd;	    /* an epoll of the lanes' own */
	struct server_lane *resumed;
	struct sd_event_source *sweep, *accept, *io, *resume;
	struct connection *connections, *accepted; /* all; the one libmicrohttpd is given */
	struct peers *peers;
	struct server_pool pools[_POOL_MAX];
	struct server_limits limits;
	int64_t n_known, n_people;
	uint64_t random;
	int64_t swept_ns, stalled_ns; /* server_clock_ns() */
	struct exchange *suspended;   /* all exchanges between suspend and resume */
	bool is_closing;	      /* new requests are answered with 503 */
	bool has_freed;		      /* memory that may go back to the kernel */
	bool has_drops;
	bool is_busy;	/* the last batch was full: more may wait to be accepted */
	uint32_t drops; /* the kernel's count of dropped connections, as last read */
	int64_t body_bytes, people_bytes;
	int64_t wrong_ns, open_ns; /* peer_charge(): all addresses together */
	int64_t tls_ns;		   /* peer_spend(): the same */
	int64_t handshake_ns;	   /* CPU time of a handshake, averaged over the last ones */
	struct server_counts counts;
	char shed_from[64];
	struct log_limit shed_log, tls_log;
};

/* CLOCK_MONOTONIC without the time in which this program was stalled: no client is late because
 * the controller did not read. */
static inline int64_t server_clock_ns(const struct server *s)
{
	return clock_ns(CLOCK_MONOTONIC) - s->stalled_ns;
}

/* connections.c. A connection was refused or dropped: of this address or user; NULL: of an
 * unknown one. */
void server_note_shed(struct server *s, const struct peer *from, const char *why);
int server_accept(struct server *s);
void server_check_drops(struct server *s);
void server_on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what);
void connection_cut(struct server *s, struct connection *c);
/* Once libmicrohttpd has ended: sends what is left, and closes. */
void connection_close_channels(struct server *s);
void connection_set_phase(struct server *s, struct MHD_Connection *mhd,
			  enum connection_phase phase);
void connection_note_body(struct MHD_Connection *mhd, size_t size);
/* A good credential of this user arrived over the connection. Returns why there is no room for
 * the user's connection, or NULL. */
const char *connection_know(struct server *s, struct MHD_Connection *mhd, uint32_t uid);
struct peer *connection_user(struct MHD_Connection *mhd); /* NULL: no good credential so far */
struct peer *connection_address(struct MHD_Connection *mhd);
struct server_lane *connection_lane(struct MHD_Connection *mhd);

/* Callbacks of libmicrohttpd, in exchange.c; it prescribes their parameters. */
void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *mhd);
enum MHD_Result exchange_access(void *cls, struct MHD_Connection *mhd, const char *url,
				const char *method, const char *version, const char *data,
				size_t *size, void **ctx);
void exchange_end(void *cls, struct MHD_Connection *mhd, void **ctx,
		  enum MHD_RequestTerminationCode why);
/* Answers every suspended exchange with 503, for closing. */
void exchange_drop_suspended(struct server *s);
