/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_loop.c - makes calls from an sd-event loop: by plain_loop.c where the URL is http://; else libcurl's multi interface says which
 * sockets and which timeout to watch, and is driven from both; see http.h. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/http/plain_call.h"
#include "common/http/plain_loop.h"
#include "common/http/transfer.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

struct http_loop {
	struct http *http;
	sd_event *event;
	struct plain_loop *plain; /* the call under way, where it is made by that */
	sd_event_source *timer;	  /* libcurl's */
	CURLM *multi;		  /* NULL until it is needed */
	bool busy;
	struct http_call call; /* under way; its body is held */
	http_done_fn done;
	void *ctx;
};

static void drop_call(struct http_loop *l)
{
	json_decref((json_t *)l->call.body);
	free((char *)l->call.path);
	l->call = (struct http_call){ 0 };
}

static int begin_call(struct http_loop *l, struct err *err);

/* The call is over: report its result, or make the call again to another controller. Nothing may
 * touch `l` after done(), which may start the next call or close everything. */
static void finish_call(struct http_loop *l, int r, struct err *err)
{
	json_t *answer = NULL;

	l->busy = false;
	r = http_finish(l->http, r, &answer, err);
	if (http_asks_another(l->http, &l->call, &r, answer, err)) {
		answer = wire_unref(answer);
		r = begin_call(l, err);
		if (r == 0)
			return;
	}
	drop_call(l);
	l->done(l->ctx, r, answer, err);
}

static void finish_plain(void *ctx, int r, struct err *err)
{
	struct http_loop *l = ctx;

	l->plain = NULL;
	finish_call(l, r, err);
}

/* ---- by libcurl ---- */

static void finish_transfer(struct http_loop *l, CURLcode code)
{
	struct err err = { "" };

	curl.multi_remove_handle(l->multi, l->http->transfer->easy);
	finish_call(l, transfer_result(l->http, code, &err), &err);
}

/* Lets curl act on a socket or on its timeout; reports the call when it is over. */
static void drive_transfer(struct http_loop *l, curl_socket_t fd, int what)
{
	CURLMsg *msg;
	int left, running;

	curl.multi_socket_action(l->multi, fd, what, &running);
	msg = curl.multi_info_read(l->multi, &left);
	if (msg && msg->msg == CURLMSG_DONE && l->busy)
		finish_transfer(l, msg->data.result);
}

static int on_io(sd_event_source *s, int fd, uint32_t revents, void *ctx)
{
	int what = 0;

	(void)s;
	if (revents & EPOLLIN)
		what |= CURL_CSELECT_IN;
	if (revents & EPOLLOUT)
		what |= CURL_CSELECT_OUT;
	if (revents & (EPOLLERR | EPOLLHUP))
		what |= CURL_CSELECT_ERR;
	drive_transfer(ctx, fd, what);
	return 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s;
	(void)usec;
	drive_transfer(ctx, CURL_SOCKET_TIMEOUT, 0);
	return 0;
}

/* Called by curl: watch this socket for these events, or no longer. `source` is what was assigned to
 * the socket, NULL at first. */
static int want_socket(CURL *easy, curl_socket_t fd, int what, void *ctx, void *source)
{
	struct http_loop *l = ctx;
	sd_event_source *s = source;
	uint32_t events = 0;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		sd_event_source_disable_unref(s);
		curl.multi_assign(l->multi, fd, NULL);
		return 0;
	}
	if (what & CURL_POLL_IN)
		events |= EPOLLIN;
	if (what & CURL_POLL_OUT)
		events |= EPOLLOUT;
	if (s)
		return sd_event_source_set_io_events(s, events) < 0 ? -1 : 0;
	if (sd_event_add_io(l->event, &s, fd, events, on_io, l) < 0)
		return -1;
	sd_event_source_set_description(s, "http");
	curl.multi_assign(l->multi, fd, s);
	return 0;
}

/* Called by curl: call curl again in `ms` milliseconds; -1: never. */
static int want_timer(CURLM *multi, long ms, void *ctx)
{
	struct http_loop *l = ctx;

	(void)multi;
	if (ms < 0)
		return sd_event_source_set_enabled(l->timer, SD_EVENT_OFF) < 0 ? -1 : 0;
	if (sd_event_source_set_time_relative(l->timer, (uint64_t)ms * 1000) < 0)
		return -1;
	return sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT) < 0 ? -1 : 0;
}

/* Loads libcurl, where that is not done yet. */
static int open_multi(struct http_loop *l, struct err *err)
{
	int r = l->multi ? 0 : transfer_open(l->http, err);

	if (l->multi || r < 0)
		return r;
	l->multi = curl.multi_init();
	r = l->multi ? sd_event_add_time_relative(l->event, &l->timer, CLOCK_MONOTONIC, 0,
						  TIMER_AT_ONCE_US, on_timer, l)
		     : -ENOMEM;
	if (r >= 0)
		r = sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	if (r < 0)
		return err_set(err, r, "attach to the event loop: %s", strerror(-r));
	curl.multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, want_socket);
	curl.multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl.multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, want_timer);
	curl.multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
	return 0;
}

static int begin_transfer(struct http_loop *l, struct err *err)
{
	int r = open_multi(l, err);
	CURLMcode m;

	if (r == 0)
		r = transfer_set(l->http, err);
	if (r < 0)
		return r;
	m = curl.multi_add_handle(l->multi, l->http->transfer->easy);
	return m == CURLM_OK ? 0 : err_set(err, -ENOMEM, "libcurl: %s", curl.multi_strerror(m));
}

/* ---- a call ---- */

/* Signs the call and starts it. */
static int begin_call(struct http_loop *l, struct err *err)
{
	int r = http_prepare(l->http, l->call, err);

	if (r < 0)
		return r;
	if (plain_call_speaks(l->http->url))
		r = plain_loop_start(l->http, l->event,
				     (struct plain_loop_done){ finish_plain, l }, &l->plain,
				     err);
	else
		r = begin_transfer(l, err);
	l->busy = r == 0;
	if (r < 0)
		http_forget(l->http);
	return r;
}

struct http_loop *http_loop_free(struct http_loop *l)
{
	if (!l)
		return NULL;
	plain_loop_free(l->plain);
	if (l->multi)
		curl.multi_cleanup(l->multi);
	sd_event_source_disable_unref(l->timer);
	sd_event_unref(l->event);
	free(l);
	return NULL;
}

/* Libraries are loaded now: a program that has none for https is to fail when it starts. */
static int load_libraries(struct http_loop *l, struct err *err)
{
	for (size_t i = 0; i < l->http->n_urls; i++)
		if (!plain_call_speaks(l->http->urls[i]))
			return open_multi(l, err);
	return 0;
}

int http_attach(struct http *h, struct sd_event *event, struct err *err)
{
	struct http_loop *l;
	int r;

	if (h->loop)
		return err_set(err, -EBUSY, "already attached to an event loop");
	l = calloc(1, sizeof(*l));
	if (!l)
		return err_set(err, -ENOMEM, "out of memory");
	l->http = h;
	l->event = sd_event_ref(event);
	r = load_libraries(l, err);
	if (r < 0)
		http_loop_free(l);
	else
		h->loop = l;
	return r;
}

int http_start(struct http *h, struct http_call call, http_done_fn done, void *ctx,
	       struct err *err)
{
	struct http_loop *l = h->loop;
	int r;

	if (!l)
		return err_set(err, -EINVAL, "not attached to an event loop");
	if (l->busy)
		return err_set(err, -EBUSY, "a call is under way");
	l->call = call;
	l->call.body = json_incref((json_t *)call.body);
	l->call.path = strdup(call.path);
	l->done = done;
	l->ctx = ctx;
	r = l->call.path ? begin_call(l, err) : err_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		drop_call(l);
	return r;
}

void http_cancel(struct http *h)
{
	if (!h->loop || !h->loop->busy)
		return;
	h->loop->busy = false;
	if (h->loop->plain)
		h->loop->plain = plain_loop_free(h->loop->plain);
	else
		curl.multi_remove_handle(h->loop->multi, h->transfer->easy);
	drop_call(h->loop);
	http_forget(h);
}
