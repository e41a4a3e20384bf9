/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connections.c - which connections are accepted, which are closed for them, and which user
 * each belongs to.
 *
 * A new connection is anonymous until a good credential arrives over it. A quarter of all
 * connections may be anonymous; a part of that is reserved for addresses of nodes, and one
 * address may have only a few. An anonymous connection that arrives when there is no room
 * replaces another one, drawn at random: a client that sends its headers at once gets through,
 * however many others keep theirs open without sending anything. After a good credential the
 * connection counts as its user's, and no other can replace it.
 */
#include <errno.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/time_units.h"
#include "controller/http/server_impl.h"

#define ACCEPT_BATCH 32 /* connections passed to libmicrohttpd before any of them is read */
#define ACCEPT_CHEAP 16 /* a connection that is closed at once costs a 16th of the batch */
#define HANDSHAKE_MEAN_OF 8
#define SAMPLE 8 /* connections compared to find an address with many */

/* xorshift64, below n; seeded from getrandom(). Peers must not be able to predict which
 * connection is closed. */
static uint64_t draw_number(struct server *s, uint64_t n)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random % n;
}

static struct connection *connection_of(struct MHD_Connection *mhd)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* ---- what is refused ---- */

void server_note_shed(struct server *s, const struct peer *from, const char *why)
{
	char text[PEER_TEXT_MAX] = "all";

	s->counts.shed++;
	if (from)
		peer_key_format(&from->key, text);
	if (!from || from->is_node) {
		s->counts.shed_nodes++;
		strcpy(s->shed_from, text);
	}
	log_limited(&s->shed_log, LOG_WARNING, "a connection of %s was refused: %s",
		    from ? text : "an unknown address", why);
}

void server_note_refusal(struct server *s, const char *why)
{
	server_note_shed(s, NULL, why);
}

/* ---- counting ---- */

/* The pool is an array without order, so that a random one can be drawn: the last one fills the
 * gap. */
static void leave_pool(struct server *s, struct connection *c)
{
	struct server_pool *p = &s->pools[c->pool];
	struct connection *last = p->at[--p->n];

	p->at[c->pool_at] = last;
	last->pool_at = c->pool_at;
	if (c->peer_previous)
		c->peer_previous->peer_next = c->peer_next;
	else
		c->address->first = c->peer_next;
	if (c->peer_next)
		c->peer_next->peer_previous = c->peer_previous;
	c->address->n_open--;
}

static void enter_pool(struct server *s, struct connection *c)
{
	struct server_pool *p = &s->pools[c->pool];

	c->pool_at = p->n;
	p->at[p->n++] = c;
	c->peer_previous = NULL;
	c->peer_next = c->address->first;
	if (c->peer_next)
		c->peer_next->peer_previous = c;
	c->address->first = c;
	c->address->n_open++;
}

/* Stops counting the connection, in its pool or for its user. Idempotent: a connection that was
 * cut is closed by libmicrohttpd later. */
static void release_count(struct server *s, struct connection *c)
{
	if (c->is_released)
		return;
	c->is_released = true;
	if (!c->user) {
		leave_pool(s, c);
		return;
	}
	c->user->n_open--;
	s->n_known--;
	s->n_people -= c->is_person;
}

/* libmicrohttpd, or the channel, sees the shutdown as the end of input and closes the descriptor itself. */
void connection_cut(struct server *s, struct connection *c)
{
	release_count(s, c);
	if (c->fd >= 0)
		shutdown(c->fd, SHUT_RDWR);
}

/* ---- which is closed ---- */

static struct connection *draw_from_peer(struct server *s, const struct peer *a)
{
	struct connection *c = a->first;

	for (uint64_t k = draw_number(s, (uint64_t)a->n_open); k > 0 && c->peer_next; k--)
		c = c->peer_next;
	return c;
}

/* Of SAMPLE random ones, the one whose address has most open: a flood from one address mostly
 * hits itself. */
static struct connection *draw_from_pool(struct server *s, const struct server_pool *p)
{
	struct connection *most = p->at[draw_number(s, p->n)];

	for (int i = 1; i < SAMPLE; i++) {
		struct connection *c = p->at[draw_number(s, p->n)];

		if (c->address->n_open > most->address->n_open)
			most = c;
	}
	return most;
}

/* Cuts connections until one more of this address may be open. */
static void make_place(struct server *s, struct peer *address, const struct server_pool *p)
{
	if (address->n_open >= s->limits.per_address) {
		connection_cut(s, draw_from_peer(s, address));
		server_note_shed(s, address, "too many of it show no credential");
	}
	if (p->n >= p->max) {
		struct connection *c = draw_from_pool(s, p);

		connection_cut(s, c);
		server_note_shed(s, NULL, "too many of all addresses show no credential");
	}
}

/* While the server is busy, connections wait in the listen queue, and an honest client has sent
 * its request by the time they are accepted. Where there is no room, a connection without any
 * data does not replace another. */
static bool is_idler(const struct server *s, int fd, const struct peer *address,
		     const struct server_pool *p)
{
	char one;

	if (!s->is_busy || (address->n_open < s->limits.per_address && p->n < p->max))
		return false;
	return recv(fd, &one, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
}

/* ---- its life ---- */

static void link_connection(struct server *s, struct connection *c)
{
	c->next = s->connections;
	if (c->next)
		c->next->previous = c;
	s->connections = c;
	s->counts.connections++;
}

static void unlink_connection(struct server *s, struct connection *c)
{
	if (c->previous)
		c->previous->next = c->next;
	else
		s->connections = c->next;
	if (c->next)
		c->next->previous = c->previous;
	s->counts.connections--;
}

static void remove_connection(struct server *s, struct connection *c)
{
	release_count(s, c);
	c->address->n_refs--;
	if (c->user)
		c->user->n_refs--;
	unlink_connection(s, c);
	free(c);
}

/* libmicrohttpd is done with it. A channel sends what is left of the answer before it ends. */
static void forget_mhd(struct server *s, struct connection *c)
{
	c->mhd = NULL;
	if (!c->channel) {
		remove_connection(s, c);
		return;
	}
	c->phase = PHASE_WRITE;
	c->since_ns = server_clock_ns(s);
}

/* MHD_add_connection() calls this back before it returns: s->accepted is the connection being
 * added. */
void server_on_connection(void *ctx, struct MHD_Connection *mhd, void **socket_ctx,
			  enum MHD_ConnectionNotificationCode what)
{
	struct server *s = ctx;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		*socket_ctx = s->accepted;
		s->accepted->mhd = mhd;
		s->accepted = NULL;
	} else if (*socket_ctx) {
		forget_mhd(s, *socket_ctx);
		*socket_ctx = NULL;
	}
}

/* Passes a descriptor to libmicrohttpd, which owns and closes it from then on, also when it refuses
 * it. -EIO: it does; then `c` may be gone. */
static int hand_over(struct server *s, struct connection *c, int fd,
		     const struct sockaddr *from, socklen_t size)
{
	c->lane = &s->lanes[s->next_lane++ % SERVER_LANES];
	s->accepted = c;
	if (MHD_add_connection(c->lane->daemon, fd, from, size) == MHD_YES)
		return 0;
	server_note_shed(s, NULL, "libmicrohttpd refused it");
	if (s->accepted)
		forget_mhd(s, TAKE_PTR(s->accepted));
	return -EIO;
}

/* ---- TLS ---- */

/* What handshakes may cost that no good credential followed: CPU time of the loop for one address and for all. With an
 * ECDSA key, 0.6 ms each, these are 50 and 400 a second, and 400 and 1600 at once. */
static const struct peer_budget handshake_budget = { 32, S_NS / 4 },
				all_handshake_budget = { 4, S_NS };

static void spend_handshake(struct connection *c, int64_t spent_ns)
{
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	peer_spend(&c->address->tls_ns, handshake_budget, spent_ns, now_ns);
	peer_spend(&c->server->tls_ns, all_handshake_budget, spent_ns, now_ns);
	c->charged_ns += spent_ns;
}

/* The usual cost is charged before anything is computed, so that handshakes that begin together cannot all find the same time unspent. */
static const char *begin_handshake(void *ctx)
{
	static const char why[] = "too many TLS handshakes without a credential";
	struct connection *c = ctx;
	struct server *s = c->server;
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!peer_has_time(c->address->tls_ns, handshake_budget, now_ns) ||
	    (!c->address->is_node && !peer_has_time(s->tls_ns, all_handshake_budget, now_ns))) {
		server_note_shed(s, c->address, why);
		return why;
	}
	spend_handshake(c, s->handshake_ns);
	return NULL;
}

static void note_spent(void *ctx, int64_t cpu_ns)
{
	struct connection *c = ctx;

	c->handshake_ns += cpu_ns;
	if (c->handshake_ns > c->charged_ns)
		spend_handshake(c, c->handshake_ns - c->charged_ns);
}

static void end_handshake(struct connection *c)
{
	struct server *s = c->server;

	spend_handshake(c, c->handshake_ns - c->charged_ns);
	s->handshake_ns += (c->handshake_ns - s->handshake_ns) / HANDSHAKE_MEAN_OF;
	s->counts.handshakes++;
	s->counts.handshake_ns += c->handshake_ns;
}

/* A good credential has come over the connection. */
static void return_handshake(struct connection *c)
{
	spend_handshake(c, -c->charged_ns);
}

static int take_inner(void *ctx, int inner)
{
	static const struct sockaddr local = { .sa_family = AF_UNIX };
	struct connection *c = ctx;

	end_handshake(c);
	return hand_over(c->server, c, inner, &local, sizeof(local.sa_family));
}

static void note_no_room(void *ctx, const char *why)
{
	const struct connection *c = ctx;

	server_note_shed(c->server, c->address, why);
}

static void end_connection(void *ctx, const char *why)
{
	struct connection *c = ctx;
	struct server *s = c->server;
	char text[PEER_TEXT_MAX];

	c->channel = NULL;
	c->fd = -1;
	if (why) {
		s->counts.handshakes_failed++;
		log_limited(&s->tls_log, LOG_NOTICE, "no TLS with %s: %s",
			    peer_key_format(&c->address->key, text), why);
	}
	if (!c->mhd)
		remove_connection(s, c);
}

static int open_channel(struct server *s, struct connection *c)
{
	const struct channel_config config = { .event = s->config.event,
					       .fd = c->fd,
					       .certificate = s->config.certificate,
					       .on_begin = begin_handshake,
					       .on_spent = note_spent,
					       .on_ready = take_inner,
					       .on_no_room = note_no_room,
					       .on_end = end_connection,
					       .ctx = c };
	int r = channel_open(&config, &c->channel);

	if (r >= 0)
		return 0;
	server_note_shed(s, NULL, strerror(-r));
	close(c->fd);
	remove_connection(s, c);
	return r;
}

void connection_close_channels(struct server *s)
{
	struct connection *c;

	while ((c = s->connections)) {
		c->channel = channel_close(c->channel);
		remove_connection(s, c);
	}
}

/* ---- accepting ---- */

/* Passes an accepted descriptor on. 1: the connection was refused and closed here. */
static int add_connection(struct server *s, int fd, const struct sockaddr_storage *from,
			  socklen_t size)
{
	struct connection *c = calloc(1, sizeof(*c));
	struct peer_key key;

	peer_key_address((const struct sockaddr *)from, &key);
	if (c)
		c->address = peers_get(s->peers, &key);
	if (!c || !c->address) {
		server_note_shed(s, NULL, "out of memory");
		free(c);
		close(fd);
		return 1;
	}
	c->server = s;
	c->fd = fd;
	c->pool = c->address->is_node ? POOL_NODES : POOL_ANY;
	if (is_idler(s, fd, c->address, &s->pools[c->pool])) {
		server_note_shed(s, c->address, "it sends nothing, and there is no room");
		free(c);
		close(fd);
		return 1;
	}
	make_place(s, c->address, &s->pools[c->pool]);
	c->since_ns = server_clock_ns(s);
	c->address->n_refs++;
	enter_pool(s, c);
	link_connection(s, c);
	if (s->config.certificate)
		open_channel(s, c);
	else
		hand_over(s, c, fd, (const struct sockaddr *)from, size);
	return 0;
}

/* Out of descriptors or memory: the listening socket stays readable, so accepting stops until
 * the next sweep, and one connection of each pool is cut to free some. */
static void pause_accept(struct server *s)
{
	server_note_shed(s, NULL, strerror(errno));
	sd_event_source_set_enabled(s->accept, SD_EVENT_OFF);
	for (int i = 0; i < _POOL_MAX; i++)
		if (s->pools[i].n)
			connection_cut(s, draw_from_pool(s, &s->pools[i]));
}

/* May the process at the other end use this server? */
static bool is_permitted_process(const struct server *s, int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (!s->config.only_uid)
		return true;
	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 &&
	       (peer.uid == 0 || peer.uid == *s->config.only_uid);
}

/* Called by the event loop while connections wait. Stops after a batch, so that those accepted
 * are served before more are. */
int server_accept(struct server *s)
{
	int done = 0;

	while (done < ACCEPT_BATCH * ACCEPT_CHEAP) {
		struct sockaddr_storage from = { .ss_family = AF_UNSPEC };
		socklen_t size = sizeof(from);
		int fd = accept4(s->config.listen_fd, (struct sockaddr *)&from, &size,
				 SOCK_NONBLOCK | SOCK_CLOEXEC);

		if (fd >= 0 && !is_permitted_process(s, fd)) {
			server_note_shed(s, NULL, "not a process of WebSocketUser=");
			close(fd);
			done++;
			continue;
		}
		if (fd >= 0) {
			done += add_connection(s, fd, &from, size) ? 1 : ACCEPT_CHEAP;
			continue;
		}
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			pause_accept(s);
		if (errno != ECONNABORTED && errno != EINTR)
			break;
	}
	s->is_busy = done >= ACCEPT_BATCH * ACCEPT_CHEAP;
	return 0;
}

/* Counts connections that the kernel dropped since the listen queue was full (SO_MEMINFO,
 * sk_drops), and accepts again after pause_accept(). */
void server_check_drops(struct server *s)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t size = sizeof(info);

	sd_event_source_set_enabled(s->accept, SD_EVENT_ON);
	if (getsockopt(s->config.listen_fd, SOL_SOCKET, SO_MEMINFO, info, &size) < 0 ||
	    size < sizeof(info))
		return;
	if (s->has_drops && info[SK_MEMINFO_DROPS] != s->drops)
		server_note_shed(s, NULL, "more arrived at once than the listen queue holds");
	s->drops = info[SK_MEMINFO_DROPS];
	s->has_drops = true;
}

/* ---- the user ---- */

/* Why this user cannot have one more connection; NULL: there is room. */
static const char *find_no_room(const struct server *s, const struct peer *user, bool is_person)
{
	const struct fair_use use = { .used = user->n_open,
				      .all_used = s->n_people,
				      .max = s->limits.people,
				      .most = s->limits.per_user,
				      .least = s->limits.user_least,
				      .part = SERVER_CONNECTIONS_PART };

	if (s->n_known >= s->limits.known)
		return "all connections are taken";
	if (!is_person || fair_has_room(&use, 1))
		return NULL;
	return s->n_people >= s->limits.people ? "too many connections at once"
					       : "too many connections of one user at once";
}

/* Moves the connection from its pool to its user; nothing changes where the user is the same.
 */
const char *connection_know(struct server *s, struct MHD_Connection *mhd, uint32_t uid)
{
	struct connection *c = connection_of(mhd);
	struct peer_key key;
	struct peer *user;
	const char *why;

	peer_key_uid(uid, &key);
	user = c ? peers_get(s->peers, &key) : NULL;
	if (!user)
		return "out of memory";
	if (c->user == user || c->is_released)
		return NULL;
	why = find_no_room(s, user, uid != 0);
	if (why) {
		server_note_shed(s, uid == 0 ? NULL : user, why);
		return why;
	}
	release_count(s, c);
	if (c->user)
		c->user->n_refs--;
	else
		return_handshake(c);
	c->is_released = false;
	c->user = user;
	c->is_person = uid != 0;
	user->n_refs++;
	user->n_open++;
	s->n_known++;
	s->n_people += c->is_person;
	return NULL;
}

struct peer *connection_user(struct MHD_Connection *mhd)
{
	const struct connection *c = connection_of(mhd);

	return c ? c->user : NULL;
}

struct peer *connection_address(struct MHD_Connection *mhd)
{
	const struct connection *c = connection_of(mhd);

	return c ? c->address : NULL;
}

struct server_lane *connection_lane(struct MHD_Connection *mhd)
{
	const struct connection *c = connection_of(mhd);

	return c ? c->lane : NULL;
}

void connection_set_phase(struct server *s, struct MHD_Connection *mhd,
			  enum connection_phase phase)
{
	struct connection *c = connection_of(mhd);

	if (!c)
		return;
	c->phase = phase;
	c->since_ns = server_clock_ns(s);
	c->body_bytes = 0;
}

void connection_note_body(struct MHD_Connection *mhd, size_t size)
{
	struct connection *c = connection_of(mhd);

	if (c)
		c->body_bytes += (int64_t)size;
}

int server_add_node(struct server *s, const char *address)
{
	struct peer_key key;
	struct peer *one;
	int r = peer_key_parse(address, &key);

	if (r < 0)
		return r;
	one = peers_get(s->peers, &key);
	if (!one)
		return -ENOMEM;
	peer_mark_node(one);
	return 0;
}
