/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - sockets to the waiters of interactive steps, and their exchange with the controller; see console.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>
#include "agent/launch/step/session.h"
#include "agent/step/console.h"
#include "agent/step/steps_impl.h"
#include "common/auth/auth.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/model/console/console.h"
#include "common/packets/packets.h"
#include "common/signature/signature.h"
#include "common/time_units.h"
#include "common/wire/console/console_relay.h"
#include "common/wire/wire.h"

#define POLL_WAIT_S 30
#define RETRY_MS 1000
#define REFUSED_MS 30000	/* a controller of another version: until it is asked again */
#define BUSY_MS 100		/* a waiter that is not reading: until it is tried again */
#define SOCKET_BUFFER (2 << 20) /* bytes: a message fits whole */
#define SEND_MAX ((size_t)2 << 20) /* bytes of messages in one document */
#define DRAIN_MS 50		   /* an empty answer that comes sooner delays the next poll */

/* The socket to one waiter. */
struct console {
	struct console *next;
	struct step_consoles *all;
	struct sync_step_id id;
	int fd;
	sd_event_source *io;
	uint32_t uid;	  /* of the job */
	uint64_t seen;	  /* serial of the last input that the waiter was sent */
	char *credential; /* the last one whose key it was sent */
	uint64_t refused; /* the last terminal that it refused; already in the journal */
	uint8_t *message; /* the last output, NULL: the controller has it */
	size_t size;
	struct packets coming; /* the next one */
	bool is_sending;       /* the message is in the document under way */
};

/* A connection to the controller with its timer. */
struct channel {
	struct http *http;
	sd_event_source *timer;
	bool is_busy;
	int64_t began_ns;
};

struct step_consoles {
	struct steps *steps;
	struct console *first;
	struct channel poll, send;
	bool is_open;	 /* the channels are */
	bool is_refused; /* the last answer was that, and the journal has it */
};

static void start_poll(struct step_consoles *c);
static void start_send(struct step_consoles *c);

/* ---- the sockets ---- */

static struct console *find_console(const struct step_consoles *c, struct sync_step_id id)
{
	struct console *k = c->first;

	while (k && !step_id_is_equal(k->id, id))
		k = k->next;
	return k;
}

static void free_console(struct console *k)
{
	sd_event_source_disable_unref(k->io);
	if (k->fd >= 0)
		close(k->fd);
	packets_drop(&k->coming);
	free(k->credential);
	free(k->message);
	free(k);
}

static void remove_console(struct step_consoles *c, struct console *k)
{
	struct console **at = &c->first;

	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	free_console(k);
}

static void log_refusal(struct console *k)
{
	struct console_output m;

	if (console_decode_output(k->message, k->size, &m, NULL) < 0 || !m.refused ||
	    m.refused == k->refused)
		return;
	k->refused = m.refused;
	log_job(LOG_WARNING, k->id.job, "step",
		"console: step %" PRId64 " refuses a terminal: %s", k->id.step,
		console_refusal_words(m.refusal));
}

/* One more comes only after the answer to the last one (pass_on()). */
static int on_packet(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	struct console *k = ctx;
	struct step_consoles *c = k->all;
	int r = packets_receive(&k->coming, fd, CONSOLE_MESSAGE_MAX);

	(void)source, (void)events;
	if (r == -EAGAIN)
		return 0;
	if (r == -EBADMSG)
		log_job(LOG_WARNING, k->id.job, "step",
			"console: step %" PRId64
			" was started by another version of Reeve: its terminal cannot be "
			"reached",
			k->id.step);
	if (r < 0) { /* the waiter has ended; or no memory: connected again at the next tick */
		remove_console(c, k);
		return 0;
	}
	free(k->message);
	k->message = TAKE_PTR(k->coming.data);
	k->size = k->coming.size;
	k->is_sending = false;
	log_refusal(k);
	start_send(c);
	return 0;
}

static int connect_socket(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int size = SOCKET_BUFFER;
	_cleanup_close_ int fd =
		socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || strlen(path) >= sizeof(at.sun_path))
		return -EINVAL;
	strcpy(at.sun_path, path);
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
		return -errno;
	return connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ? -errno : TAKE_FD(fd);
}

/* ---- the connections to the controller ---- */

static void retry_later(struct channel *ch, int64_t ms)
{
	sd_event_source_set_time_relative(ch->timer, (uint64_t)ms * 1000);
	sd_event_source_set_enabled(ch->timer, SD_EVENT_ONESHOT);
}

static int send_relay(struct step_consoles *c, struct channel *ch, struct console_relay *r,
		      long wait_s, http_done_fn done)
{
	_cleanup_json_ json_t *doc = NULL;
	char path[64];
	struct http_call call = {
		.method = "POST", .path = path, .wait_s = wait_s, .is_dense = true
	};
	struct err err = { "" };

	snprintf(r->node, sizeof(r->node), "%s", c->steps->node->conf->node);
	r->format = CONSOLE_FORMAT;
	snprintf(path, sizeof(path), "/v1/node/console?wait=%ld", wait_s);
	ch->began_ns = clock_ns(CLOCK_MONOTONIC);
	if (console_relay_encode(r, &doc, &err) < 0)
		return -ENOMEM;
	call.body = doc;
	ch->is_busy = http_start(ch->http, call, done, c, &err) == 0;
	return ch->is_busy ? 0 : -EIO;
}

/* Made by the job's user, for this step? */
static int check_key(const struct console *k, const struct auth_sealed *sealed,
		     struct signature_console *ret, struct err *err)
{
	int r = signature_decode_console(sealed->text, sealed->size, ret, err);

	if (r < 0)
		return r;
	if (sealed->who.uid != k->uid || ret->job != k->id.job || ret->step != k->id.step)
		return err_set(err, -EACCES,
			       "uid %u made it for step %" PRId64 " of job %" PRId64,
			       sealed->who.uid, ret->step, ret->job);
	return 0;
}

/* The key that a terminal has sealed for root of this node. *ret says which terminal it is, and whether its key is good: made by the
 * job's user, for this step. < 0: munged does not answer. */
static int open_key(struct console *k, const char *credential, struct step_session_key *ret)
{
	const char *munge = k->all->steps->node->conf->munge_socket;
	_cleanup_(auth_sealed_done) struct auth_sealed sealed = { .text = NULL };
	struct signature_console s;
	struct err err = { "" };
	int r = auth_unseal(munge, credential, &sealed, &err);

	if (r < 0 && r != -EACCES)
		return r;
	if (r < 0 || check_key(k, &sealed, &s, &err) < 0) {
		ret->is_refused = true;
		log_job(LOG_WARNING, k->id.job, "step",
			"console: the key of a terminal of step %" PRId64 " is not good: %s",
			k->id.step, err.text);
		return 0;
	}
	ret->session = (uint64_t)s.began_ns;
	memcpy(ret->key, s.key, sizeof(ret->key));
	return 0;
}

/* Sends the waiter the key of a terminal that comes with the message, once. < 0: -EAGAIN: not now. */
static int pass_key(struct console *k, const struct console_input *m)
{
	_cleanup_free_ char *text =
		strndup((const char *)m->credential.bytes, m->credential.size);
	struct step_session_key key = { .magic = STEP_SESSION_KEY_MAGIC };
	const struct iovec whole = { &key, sizeof(key) };
	struct console_state state;
	int r;

	if (!text)
		return -EAGAIN;
	if (k->credential && !strcmp(k->credential, text))
		return 0;
	if (console_decode_state(m->state, &state, NULL) == 0)
		key.session = state.session;
	if (open_key(k, text, &key) < 0)
		return -EAGAIN;
	r = packets_send(k->fd, &whole, 1, 0);
	if (r < 0)
		return r;
	free(k->credential);
	k->credential = TAKE_PTR(text);
	return 0;
}

/* 1: the waiter did not take it now. */
static int pass_input(struct step_consoles *c, const struct console_relay_step *s)
{
	struct console *k = find_console(c, s->id);
	struct console_input m;
	size_t size = (size_t)s->size;
	const struct iovec whole = { (void *)s->message, size };
	int r = 0;

	if (!k || !size || console_decode_input(s->message, size, &m, NULL) < 0)
		return 0;
	if (m.credential.size)
		r = pass_key(k, &m);
	if (r >= 0)
		r = packets_send(k->fd, &whole, 1, 0);
	if (r == 0)
		k->seen = m.serial;
	else if (r != -EAGAIN) /* connected again at the next tick */
		remove_console(c, k);
	return r == -EAGAIN;
}

/* 409: the controller is of another version. How long until the next attempt. */
static int64_t after_failure(struct step_consoles *c, const struct channel *ch, int result,
			     const struct err *why)
{
	if (result != 409)
		return http_has_next(ch->http) ? 0 : RETRY_MS;
	if (!c->is_refused)
		log_line(LOG_WARNING, "interactive commands: %s", why->text);
	c->is_refused = true;
	return REFUSED_MS;
}

static void on_polled(void *ctx, int result, json_t *answer_owned, const struct err *why)
{
	_cleanup_json_ json_t *answer = answer_owned;
	_cleanup_(console_relay_done) struct console_relay r = { .n_steps = 0 };
	struct step_consoles *c = ctx;
	int64_t took_ms = (clock_ns(CLOCK_MONOTONIC) - c->poll.began_ns) / MS_NS;
	struct err err = { "" };
	int busy = 0;

	c->poll.is_busy = false;
	if (result || console_relay_decode(answer, &r, &err) < 0) {
		retry_later(&c->poll, after_failure(c, &c->poll, result, why));
		return;
	}
	c->is_refused = false;
	for (size_t i = 0; i < r.n_steps; i++)
		busy |= pass_input(c, &r.steps[i]);
	if (busy)
		retry_later(&c->poll, BUSY_MS);
	else if (!r.n_steps && took_ms < DRAIN_MS)
		retry_later(&c->poll, RETRY_MS);
	else
		start_poll(c);
}

/* Lists all consoles with the input that each has; answered when there is a later one. */
static void start_poll(struct step_consoles *c)
{
	_cleanup_free_ struct console_relay_step *list = NULL;
	struct console_relay r = { .n_steps = 0 };
	size_t n = 0;

	if (c->poll.is_busy || !c->first)
		return;
	for (const struct console *k = c->first; k && n < CONSOLE_RELAY_MAX; k = k->next)
		n++;
	list = calloc(n, sizeof(*list));
	for (const struct console *k = c->first; list && r.n_steps < n; k = k->next)
		list[r.n_steps++] = (struct console_relay_step){
			.id = k->id,
			.seen = (int64_t)k->seen,
		};
	r.steps = list;
	if (!list || send_relay(c, &c->poll, &r, POLL_WAIT_S, on_polled) < 0)
		retry_later(&c->poll, RETRY_MS);
}

static void on_sent(void *ctx, int result, json_t *answer, const struct err *why)
{
	struct step_consoles *c = ctx;

	json_decref(answer);
	c->send.is_busy = false;
	for (struct console *k = c->first, *next; k; k = next) {
		next = k->next;
		if (!k->is_sending)
			continue;
		k->is_sending = false;
		if (result)
			continue;
		free(k->message);
		k->message = NULL;
		if (packets_send(k->fd, NULL, 0, 0) < 0) /* connected again at the next tick */
			remove_console(c, k);
	}
	if (result)
		retry_later(&c->send, after_failure(c, &c->send, result, why));
	else
		start_send(c);
}

static void start_send(struct step_consoles *c)
{
	struct console_relay_step list[64];
	struct console_relay r = { .steps = list };
	size_t bytes = 0;

	if (c->send.is_busy)
		return;
	for (struct console *k = c->first; k && r.n_steps < ARRAY_LEN(list) && bytes < SEND_MAX;
	     k = k->next) {
		if (!k->message)
			continue;
		list[r.n_steps++] = (struct console_relay_step){ .id = k->id,
								 .seen = (int64_t)k->seen,
								 .message = k->message,
								 .size = (int64_t)k->size };
		k->is_sending = true;
		bytes += k->size;
	}
	if (r.n_steps && send_relay(c, &c->send, &r, 0, on_sent) < 0)
		retry_later(&c->send, RETRY_MS);
}

static int on_poll_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s, (void)usec;
	start_poll(ctx);
	return 0;
}

static int on_send_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s, (void)usec;
	start_send(ctx);
	return 0;
}

static int open_channel(struct step_consoles *c, struct channel *ch, sd_event_time_handler_t fn,
			struct err *err)
{
	struct node *n = c->steps->node;
	struct http_config config;
	uint32_t uid;
	int r = node_http_config(n->conf, &config, &uid, err);

	if (r >= 0)
		r = http_open(&config, &ch->http, err);
	if (r >= 0)
		r = http_attach(ch->http, n->event, err);
	if (r >= 0)
		r = sd_event_add_time_relative(n->event, &ch->timer, CLOCK_BOOTTIME, 0,
					       TIMER_AT_ONCE_US, fn, c);
	if (r >= 0)
		r = sd_event_source_set_enabled(ch->timer, SD_EVENT_OFF);
	return r < 0 ? r : 0;
}

static int open_channels(struct step_consoles *c, struct err *err)
{
	int r = 0;

	if (!c->is_open)
		r = open_channel(c, &c->poll, on_poll_timer, err);
	if (!c->is_open && r >= 0)
		r = open_channel(c, &c->send, on_send_timer, err);
	c->is_open |= r >= 0;
	return r;
}

static void close_channel(struct channel *ch)
{
	if (ch->http && ch->is_busy)
		http_cancel(ch->http);
	ch->http = http_close(ch->http);
	ch->timer = sd_event_source_disable_unref(ch->timer);
	ch->is_busy = false;
}

/* ---- consoles of the table ---- */

static struct console *add_console(struct step_consoles *c, const struct step *s, int fd)
{
	struct console *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	*k = (struct console){
		.next = c->first, .all = c, .id = s->id, .uid = s->uid, .fd = fd
	};
	if (sd_event_add_io(c->steps->node->event, &k->io, fd, EPOLLIN, on_packet, k) < 0) {
		free(k);
		return NULL;
	}
	c->first = k;
	return k;
}

void step_console_connect(struct step_consoles *c, struct step *s)
{
	char path[STEPS_PATH_MAX];
	struct err err = { "" };
	int fd;

	if (!c->steps->node->uplink || find_console(c, s->id))
		return;
	if (open_channels(c, &err) < 0) {
		log_job(LOG_WARNING, s->id.job, "step", "console: %s", err.text);
		close_channel(&c->poll);
		close_channel(&c->send);
		return;
	}
	fd = connect_socket(steps_path(c->steps, s->id, ".sock", path));
	if (fd < 0)
		return; /* the waiter is not ready, or has ended */
	if (!add_console(c, s, fd)) {
		close(fd);
		return;
	}
	/* The poll under way does not list the new console. */
	if (c->poll.is_busy)
		http_cancel(c->poll.http);
	c->poll.is_busy = false;
	start_poll(c);
}

void step_console_drop(struct step_consoles *c, const struct step *s)
{
	struct console *k = find_console(c, s->id);

	if (k)
		remove_console(c, k);
}

int step_consoles_open(struct steps *all, struct step_consoles **ret, struct err *err)
{
	struct step_consoles *c = calloc(1, sizeof(*c));

	*ret = c;
	if (!c)
		return err_set(err, -ENOMEM, "out of memory");
	c->steps = all;
	return 0;
}

void step_consoles_close(struct step_consoles *c)
{
	if (!c)
		return;
	close_channel(&c->poll);
	close_channel(&c->send);
	while (c->first)
		remove_console(c, c->first);
	free(c);
}
