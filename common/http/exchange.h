/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.h - the parts of one exchange, for those who carry it over the network: plain.c over a socket of its own, transfer.c by
 * libcurl. Private to common/http. */
#pragma once
#include <stdbool.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/http/buffer.h"
#include "common/http/http.h"

#define HTTP_ANSWER_MAX (64 << 20) /* an answer beyond this is not one of ours */

struct http_loop;

#define HTTP_ADDRESSES_MAX 8

struct http {
	char *urls[HTTP_ADDRESSES_MAX];
	const char *url;	 /* of these, the one to try next */
	size_t n_urls, n_failed; /* n_failed: addresses that failed since the last answer */
	struct err said;	 /* what a leader that was not available answered */
	bool has_said;
	char *munge_socket, *ca_file, *client_certificate,
		*client_key; /* of the configuration */
	long timeout_s;
	int64_t answer_uid;
	uint32_t reader_uid;
	const uint32_t *reader;		/* that, or NULL */
	struct http_transfer *transfer; /* libcurl's; NULL until it is needed */
	struct http_loop *loop;		/* NULL until http_attach() */
	int plain_fd;			/* plain.c's connection, to plain_url; or -1 */
	const char *plain_url;
	char *ahead; /* path of the GET that was sent over it ahead of its call; NULL: none */

	/* The call under way. */
	char *call_url;
	char method[8];
	long wait_s;
	struct http_buffer sent, answer;
	bool has_body, is_zipped; /* of `sent` */
	bool was_ahead;		  /* it was sent before: what is left is its answer */
	char credential[AUTH_HEADER_MAX], answer_credential[AUTH_HEADER_MAX];
	struct http_patience patience; /* of a call that is waited for */
	/* How it went. */
	long status;
	int64_t next; /* the answer's WIRE_NEXT_HEADER; 0: none */
	bool is_sent; /* some of it may have arrived */
};

/* Signs the call and makes its URL and body: url, method, sent, credential, wait_s. Of one that was sent ahead, the URL alone. */
int http_prepare(struct http *h, struct http_call call, struct err *err);
/* After the transfer: r is 0 where an answer has come, whose status, answer and answer_credential are set; else < 0,
 * and *err has the words. Returns the result as http_done_fn has it. Releases what the call held. */
int http_finish(struct http *h, int r, json_t **ret_answer, struct err *err);
/* After http_finish(): true: make the same call again, now to another controller. Else *result
 * and *err are final: where all controllers failed, the answer of a leader is preferred to that
 * of a standby. */
bool http_asks_another(struct http *h, const struct http_call *call, int *result,
		       const json_t *answer, struct err *err);
/* Release what the call held, without a result. */
void http_forget(struct http *h);

/* Words of a call without an answer, and what to check: each returns its second argument, or the errno it is about. */
int http_no_host(const struct http *h, const char *why, struct err *err);
int http_no_connection(const struct http *h, int r, const char *why, struct err *err);
int http_no_time(const struct http *h, const char *why, struct err *err);
int http_no_use(const struct http *h, const char *why, struct err *err);
int http_too_large(const struct http *h, struct err *err);
int http_no_trust(const struct http *h, const char *why, const char *remedy, struct err *err);

/* http_loop.c */
struct http_loop *http_loop_free(struct http_loop *l);
