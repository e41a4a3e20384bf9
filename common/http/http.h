/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http - one signed JSON exchange with the controller.
 *
 * Two ways: http_ask() waits for the answer, http_start() is driven by an sd-event loop. Both use a socket of their own where the URL is
 * http://, and libcurl with https://, which is loaded when it is first needed: it brings 1.3 MB of memory of its own.
 *
 * Used by agent and CLI. Connections are kept open between calls. Bodies over 4 KiB are sent
 * gzipped with "Content-Encoding: gzip"; the munge digest is over the body as sent on the
 * wire before compression.
 */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/cleanup.h"

struct err;
struct http;

struct http_config {
	const char *url;	  /* "http://HOST:8640" or https, no path; several by commas */
	const char *munge_socket; /* NULL: default */
	long timeout_s;		  /* whole exchange, beyond a long poll's own wait */
	int64_t answer_uid;	  /* >= 0: the answer must be signed by this uid (agent) */
	/* The controller's uid, which alone can decode what we sign; NULL: any. Copied. */
	const uint32_t *reader;
	const char *ca_file;			     /* https: NULL = system's */
	const char *client_certificate, *client_key; /* https: PEM files; NULL: none */
};

int http_open(const struct http_config *c, struct http **ret, struct err *err);
struct http *http_close(struct http *h);
DEFINE_CLEANUP(struct http *, http_close)

struct http_call {
	const char *method, *path; /* path with query, escaped */
	const json_t *body;	   /* NULL: none */
	long wait_s;		   /* long poll: added to the timeout */
	bool is_dense; /* the body is sent as it is: compressing it would cost more time than it saves */
	/* Of a list in pages that is waited for; NULL: none. Gets the answer's WIRE_NEXT_HEADER, and returns the path of the GET
	 * that is most likely made next, which is sent before the answer is read; NULL: do not. */
	const char *(*next_path)(void *ctx, int64_t next);
	void *ctx; /* of next_path */
};

/* How a call ends; `answer` belongs to the callee.
 * result 0: answered 2xx, `answer` is the parsed body.
 * > 0: answered with this HTTP status (400, 403, 404, 409, 503 ...); err has the server's
 *      message, `answer` its body if it was JSON, else NULL.
 * < 0: no answer: -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -EPROTO, -EACCES (answer not
 *      signed by the controller), ...; err names the URL and what to check. */
typedef void (*http_done_fn)(void *ctx, int result, json_t *answer, const struct err *err);

/* Calls fn(ctx) once where there is no answer after that time; fn NULL: never. */
struct http_patience {
	int64_t after_ms;
	void (*fn)(void *ctx);
	void *ctx;
};
/* Makes the call and waits; addresses are tried as by http_start(). Not of an `h` that is attached to a loop. The result is that of
 * http_done_fn; *ret_answer belongs to the caller, and is NULL where there was no JSON. */
int http_ask(struct http *h, struct http_call call, struct http_patience patience,
	     json_t **ret_answer, struct err *err);

struct sd_event;
/* Drives the calls of `h` from this event loop; once, before the first http_start(). */
int http_attach(struct http *h, struct sd_event *event, struct err *err);
/* Starts a call; done() is called once from the loop, never from here. -EBUSY: one is under way.
 * Of several addresses each is tried in turn while there is no answer or a 503 (of a standby
 * controller); the one that answered is tried first from then on. Only a GET is repeated
 * elsewhere when the first controller may have received it. */
int http_start(struct http *h, struct http_call call, http_done_fn done, void *ctx,
	       struct err *err);
/* After a call that failed: there is an address that has not failed since the last answer. */
bool http_has_next(const struct http *h);
int http_count(const struct http *h); /* addresses */
void http_cancel(struct http *h);     /* the call under way; its done_fn is not called */
