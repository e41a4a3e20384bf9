/* SPDX-License-Identifier: GPL-2.0-or-later */
/* channel.c - see channel.h. Neither direction keeps more than one TLS record: while one side does not take
 * it, nothing is read from the other. */
#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <systemd/sd-event.h>
#include "common/clock.h"
#include "common/stops/stops.h"
#include "controller/http/certificate.h"
#include "controller/http/channel.h"

#define RECORD_MAX 16384  /* plain bytes of one TLS record (RFC 8446, 5.1) */
#define TURN_RECORDS 8	  /* in one direction, before others have their turn */
#define HANDSHAKE_BYTE 22 /* the first byte of a TLS handshake (RFC 8446, 5.1) */

enum channel_phase {
	CHANNEL_NEW, /* nothing has come */
	CHANNEL_HANDSHAKE,
	CHANNEL_READY,
	CHANNEL_REFUSED, /* until the client closes */
};

struct channel {
	struct channel_config config;
	enum channel_phase phase;
	gnutls_session_t session; /* NULL: CHANNEL_NEW */
	struct certificate_set *set;
	const char *why;		/* its handshake failed; NULL: not */
	sd_event_source *outer, *inner; /* the client; the plain end */
	int inner_fd;
	char *kept; /* of the client, what the plain end did not take */
	size_t kept_size, kept_at;
	bool is_blocked; /* a record waits in GnuTLS until the client takes it */
	bool has_ended;	 /* the client sends no more */
	bool is_closed;	 /* the plain end is */
};

/* What a step says beside 0 (wait for more) and < 0 (close). */
#define STEP_DONE 1

static const char plain_answer[] =
	"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
	"{\"schema\":\"reeve/1\",\"error\":{\"code\":\"https-only\",\"message\":\"this address of the "
	"controller is for https alone\",\"remedy\":\"write https:// instead of http://\"}}\n";

/* ---- its end ---- */

static void free_channel(struct channel *ch)
{
	sd_event_source_disable_unref(ch->outer);
	sd_event_source_disable_unref(ch->inner);
	if (ch->session)
		gnutls_deinit(ch->session);
	certificate_release(ch->set);
	if (ch->inner_fd >= 0)
		close(ch->inner_fd);
	close(ch->config.fd);
	free(ch->kept);
	free(ch);
}

static void end_channel(struct channel *ch)
{
	const struct channel_config c = ch->config;
	const char *why = ch->why;

	if (ch->phase == CHANNEL_READY)
		gnutls_bye(ch->session, GNUTLS_SHUT_WR);
	free_channel(ch);
	c.on_end(c.ctx, why);
}

/* The client has been sent the reason. What it sends until it closes is read: else closing would reset the connection, and it might
 * not read that. */
static int refuse_client(struct channel *ch, const char *why)
{
	ch->why = why;
	ch->phase = CHANNEL_REFUSED;
	shutdown(ch->config.fd, SHUT_WR);
	return 0;
}

static int read_waste(struct channel *ch)
{
	char waste[RECORD_MAX];
	ssize_t n = recv(ch->config.fd, waste, sizeof(waste), MSG_DONTWAIT);

	return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)) ? 0 : -ECONNRESET;
}

/* ---- the handshake ---- */

static int lack_room(struct channel *ch, int r)
{
	ch->config.on_no_room(ch->config.ctx, strerror(-r));
	return r;
}

static int begin_session(struct channel *ch)
{
	unsigned char first;
	ssize_t n = recv(ch->config.fd, &first, 1, MSG_PEEK | MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -ECONNRESET;
	if (first != HANDSHAKE_BYTE) {
		send(ch->config.fd, plain_answer, sizeof(plain_answer) - 1,
		     MSG_NOSIGNAL | MSG_DONTWAIT);
		return refuse_client(ch, "it speaks plain HTTP");
	}
	ch->why = ch->config.on_begin(ch->config.ctx);
	if (ch->why)
		return -EBUSY;
	if (certificate_begin(ch->config.certificate, &ch->session, &ch->set) < 0)
		return lack_room(ch, -ENOMEM);
	gnutls_transport_set_int(ch->session, ch->config.fd);
	ch->phase = CHANNEL_HANDSHAKE;
	return STEP_DONE;
}

static const char *word_failure(const struct channel *ch, int r)
{
	const char *alert = r == GNUTLS_E_FATAL_ALERT_RECEIVED
				    ? gnutls_alert_get_name(gnutls_alert_get(ch->session))
				    : NULL;

	return alert ? alert : gnutls_strerror(r);
}

static int step_handshake(struct channel *ch)
{
	int64_t from_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = gnutls_handshake(ch->session);

	ch->config.on_spent(ch->config.ctx, clock_ns(CLOCK_THREAD_CPUTIME_ID) - from_ns);
	if (r == GNUTLS_E_SUCCESS)
		return STEP_DONE;
	/* Also after a warning: a client that sends nothing else must not keep the loop. */
	if (!gnutls_error_is_fatal(r))
		return 0;
	if (r == GNUTLS_E_PREMATURE_TERMINATION || r == GNUTLS_E_PULL_ERROR)
		return -ECONNRESET; /* it went away */
	if (r != GNUTLS_E_FATAL_ALERT_RECEIVED)
		gnutls_alert_send_appropriate(ch->session, r);
	return refuse_client(ch, word_failure(ch, r));
}

static int on_inner(sd_event_source *source, int fd, uint32_t events, void *ctx);

/* Makes the socket pair and hands its other end over. */
static int open_inner(struct channel *ch)
{
	int pair[2], r;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return lack_room(ch, -errno);
	ch->inner_fd = pair[0];
	r = sd_event_add_io(ch->config.event, &ch->inner, pair[0], EPOLLIN, on_inner, ch);
	if (r < 0) {
		close(pair[1]);
		return lack_room(ch, r);
	}
	ch->phase = CHANNEL_READY;
	return ch->config.on_ready(ch->config.ctx, pair[1]);
}

/* ---- its bytes ---- */

/* 0: the plain end takes no more for now; STEP_DONE: all that was kept has gone. What is not read any more is
 * dropped: an answer to what came before may still be on its way. */
static int send_kept(struct channel *ch)
{
	while (ch->kept_at < ch->kept_size) {
		ssize_t n = send(ch->inner_fd, ch->kept + ch->kept_at,
				 ch->kept_size - ch->kept_at, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		ch->kept_at = n < 0 ? ch->kept_size : ch->kept_at + (size_t)n;
	}
	free(ch->kept);
	ch->kept = NULL;
	ch->kept_size = ch->kept_at = 0;
	return STEP_DONE;
}

static int pass_in(struct channel *ch, const char *data, size_t size)
{
	ssize_t n = send(ch->inner_fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	size_t sent = n > 0 ? (size_t)n : 0;

	if (n == (ssize_t)size || (n < 0 && errno != EAGAIN && errno != EINTR))
		return STEP_DONE;
	ch->kept = malloc(size - sent);
	if (!ch->kept)
		return -ENOMEM;
	memcpy(ch->kept, data + sent, size - sent);
	ch->kept_size = size - sent;
	return 0;
}

/* From the client to the plain end. */
static int bring_in(struct channel *ch)
{
	char data[RECORD_MAX];
	int r = ch->kept ? send_kept(ch) : STEP_DONE;

	for (int turn = 0; r == STEP_DONE && !ch->has_ended; turn++) {
		ssize_t n;

		if (turn >= TURN_RECORDS && gnutls_record_check_pending(ch->session) == 0)
			return 0;
		n = gnutls_record_recv(ch->session, data, sizeof(data));
		if (n == GNUTLS_E_AGAIN)
			return 0;
		if (n < 0 && gnutls_error_is_fatal((int)n))
			return -ECONNRESET;
		if (n == GNUTLS_E_REHANDSHAKE)
			return -EPROTO;
		if (n > 0)
			r = pass_in(ch, data, (size_t)n);
		if (n == 0) {
			ch->has_ended = true;
			shutdown(ch->inner_fd, SHUT_WR);
		}
	}
	return r < 0 ? r : 0;
}

/* After GNUTLS_E_AGAIN GnuTLS has the record, and sends it when it is called without data. */
static int send_record(struct channel *ch, const char *data, size_t size)
{
	ssize_t n;

	do
		n = gnutls_record_send(ch->session, data, size);
	while (n == GNUTLS_E_INTERRUPTED);
	ch->is_blocked = n == GNUTLS_E_AGAIN;
	if (ch->is_blocked)
		return 0;
	return n < 0 ? -EPIPE : STEP_DONE;
}

/* From the plain end to the client. STEP_DONE: there may be more, or the plain end is closed. */
static int bring_out(struct channel *ch)
{
	char data[RECORD_MAX];
	int r = ch->is_blocked ? send_record(ch, NULL, 0) : STEP_DONE;

	for (int turn = 0; r == STEP_DONE && turn < TURN_RECORDS && !ch->is_closed; turn++) {
		ssize_t n = recv(ch->inner_fd, data, sizeof(data), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		ch->is_closed = n <= 0;
		if (n > 0)
			r = send_record(ch, data, (size_t)n);
	}
	return r;
}

/* ---- events ---- */

/* An end that nothing is wanted of is not watched: what epoll says of a closed one would not stop. */
static int watch_end(sd_event_source *source, uint32_t events)
{
	int r = source ? sd_event_source_set_enabled(source,
						     events ? SD_EVENT_ON : SD_EVENT_OFF)
		       : 0;

	return r < 0 || !events || !source ? r : sd_event_source_set_io_events(source, events);
}

static int watch_both(struct channel *ch)
{
	bool sends = ch->is_blocked || (ch->phase == CHANNEL_HANDSHAKE &&
					gnutls_record_get_direction(ch->session));
	bool reads = ch->phase == CHANNEL_READY ? !ch->kept && !ch->has_ended : !sends;
	uint32_t outer = (reads ? EPOLLIN : 0) | (sends ? EPOLLOUT : 0);
	uint32_t inner = (ch->kept ? EPOLLOUT : 0) | (!ch->is_blocked ? EPOLLIN : 0);
	int r;

	/* EPOLLHUP comes without being asked for: a client that is gone ends the channel. */
	r = watch_end(ch->outer, outer ? outer : EPOLLPRI);
	return r < 0 ? r : watch_end(ch->inner, inner);
}

static int run_steps(struct channel *ch)
{
	int r = STEP_DONE;

	if (ch->phase == CHANNEL_REFUSED)
		return read_waste(ch);
	if (ch->phase == CHANNEL_NEW)
		r = begin_session(ch);
	if (r == STEP_DONE && ch->phase == CHANNEL_HANDSHAKE) {
		r = step_handshake(ch);
		if (r == STEP_DONE)
			r = open_inner(ch);
	}
	if (r < 0 || ch->phase != CHANNEL_READY)
		return r;
	r = bring_in(ch);
	if (r >= 0)
		r = bring_out(ch);
	return r >= 0 && ch->is_closed && !ch->is_blocked ? -EPIPE : r;
}

static int drive_channel(struct channel *ch)
{
	int r = run_steps(ch);

	if (r >= 0)
		r = watch_both(ch);
	if (r < 0)
		end_channel(ch);
	return 0;
}

static int on_inner(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	STOPS_IN("tls");
	(void)source;
	(void)fd;
	(void)events;
	return drive_channel(ctx);
}

static int on_outer(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	STOPS_IN("tls");
	(void)source;
	(void)fd;
	if (!(events & (EPOLLHUP | EPOLLERR)))
		return drive_channel(ctx);
	end_channel(ctx);
	return 0;
}

int channel_open(const struct channel_config *c, struct channel **ret)
{
	_cleanup_free_ struct channel *ch = calloc(1, sizeof(*ch));
	int r;

	if (!ch)
		return -ENOMEM;
	ch->config = *c;
	ch->inner_fd = -1;
	r = sd_event_add_io(c->event, &ch->outer, c->fd, EPOLLIN, on_outer, ch);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(ch);
	return 0;
}

struct channel *channel_close(struct channel *ch)
{
	if (!ch)
		return NULL;
	if (ch->phase == CHANNEL_READY) {
		while (!ch->is_closed && bring_out(ch) == STEP_DONE)
			;
		gnutls_bye(ch->session, GNUTLS_SHUT_WR);
	}
	free_channel(ch);
	return NULL;
}

bool channel_is_sending(const struct channel *ch)
{
	int waiting = 0;

	if (ch->inner_fd >= 0)
		ioctl(ch->inner_fd, FIONREAD, &waiting);
	return ch->is_blocked || waiting > 0;
}
