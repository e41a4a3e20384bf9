/* http - one signed JSON exchange with the controller (libcurl).
 *
 * Used by agent and CLI. Connections are kept open between calls. Bodies over 1 KiB are sent
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
	const char *ca_file; /* https: NULL = system's */
};

int http_open(const struct http_config *c, struct http **ret, struct err *err);
struct http *http_close(struct http *h);
DEFINE_CLEANUP(struct http *, http_close)

struct http_call {
	const char *method, *path; /* path with query, escaped */
	const json_t *body;	   /* NULL: none */
	long wait_s;		   /* long poll: added to the timeout */
};

/* 0: answered 2xx, *ret_answer is the parsed body (owned by the caller).
 * > 0: answered with this HTTP status (400, 403, 404, 409, 503 ...); err has the server's
 *      message, *ret_answer its body if it was JSON, else NULL.
 * < 0: no answer: -ECONNREFUSED, -ETIMEDOUT, -EHOSTUNREACH, -EPROTO, -EACCES (answer not
 *      signed by the controller), ...; err names the URL and what to check. */
int http_exchange(struct http *h, struct http_call call, json_t **ret_answer, struct err *err);
/* Of several addresses each is tried in turn, here and in http_start(), while there is no
 * answer or a 503 (of a standby controller); the one that answered is asked first
 * from then on. What may have arrived is not said again elsewhere, but for GET. */

/* For an event loop: start, then drive from fds. Only the agent needs it. */
typedef void (*http_done_fn)(void *ctx, int result, json_t *answer, const struct err *err);
struct sd_event;
int http_attach(struct http *h, struct sd_event *event, struct err *err);
int http_start(struct http *h, struct http_call call, http_done_fn done, void *ctx,
	       struct err *err);
/* After a call that failed: there is an address that has not failed since the last answer. */
bool http_has_next(const struct http *h);
int http_count(const struct http *h); /* addresses */
void http_cancel(struct http *h);     /* the call under way; its done_fn is not called */
