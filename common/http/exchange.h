/* exchange.h - the parts of one exchange, for http_loop.c. Private to common/http. */
#pragma once
#include <stdbool.h>
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/http/curl.h"
#include "common/http/http.h"

#define HTTP_ANSWER_MAX (64 << 20) /* an answer beyond this is not one of ours */

struct http_loop;

struct http_buffer {
	char *data;
	size_t size, room;
};

#define HTTP_ADDRESSES_MAX 8

struct http {
	char *urls[HTTP_ADDRESSES_MAX];
	const char *url;	 /* of these, the one to try next */
	size_t n_urls, n_failed; /* n_failed: addresses that failed since the last answer */
	struct err said;	 /* what a leader that was not available answered */
	bool has_said;
	char *munge_socket, *ca_file; /* of the configuration */
	long timeout_s;
	int64_t answer_uid;
	uint32_t reader_uid;
	const uint32_t *reader; /* that, or NULL */
	CURL *easy;
	struct http_loop *loop; /* NULL until http_attach() */

	/* The call under way. */
	char *call_url;
	char method[8];
	long wait_s;
	struct http_buffer sent, answer;
	struct curl_slist *headers;
	char credential[AUTH_HEADER_MAX], answer_credential[AUTH_HEADER_MAX];
	char why[CURL_ERROR_SIZE];
	bool too_large;
};

/* Sign the call and set h->easy up for it. */
int http_prepare(struct http *h, struct http_call call, struct err *err);
/* After the transfer: its result as http_done_fn has it. Releases what the call held. */
int http_finish(struct http *h, CURLcode code, json_t **ret_answer, struct err *err);
/* After http_finish(): true: make the same call again, now to another controller. Else *result
 * and *err are final: where all controllers failed, the answer of a leader is preferred to that
 * of a standby. */
bool http_asks_another(struct http *h, const struct http_call *call, int *result,
		       const json_t *answer, struct err *err);
/* Release what the call held, without a result. */
void http_forget(struct http *h);

/* http_loop.c */
struct http_loop *http_loop_free(struct http_loop *l);
