/* SPDX-License-Identifier: GPL-2.0-or-later */
/* response.h - reads one HTTP/1.1 response from the bytes of a connection, in pieces of any size (RFC 9112). Pure.
 * Private to common/http.
 *
 * Of the header it keeps the status, the length and end of the body, the credential of the answer, and the next page. What it cannot be sure to
 * read as the sender meant it is refused: two lengths, a length beside chunks, folded lines, an encoded body.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/auth/auth.h"
#include "common/http/buffer.h"

#define RESPONSE_LINE_MAX 8192 /* bytes of one line of the header */
#define RESPONSE_HEAD_MAX                                                                      \
	65536 /* bytes of all of it, also of all trailers and sizes of chunks without data */

enum response_phase {
	RESPONSE_STATUS,
	RESPONSE_HEADER,
	RESPONSE_BODY,	     /* `left` bytes */
	RESPONSE_TO_END,     /* all that comes until the connection is closed */
	RESPONSE_CHUNK_SIZE, /* the line before a chunk */
	RESPONSE_CHUNK,	     /* `left` bytes */
	RESPONSE_CHUNK_END,  /* the empty line behind it */
	RESPONSE_TRAILER,
	RESPONSE_DONE,
};

struct response {
	struct http_buffer *body; /* set by the caller, empty */
	size_t body_max;	  /* set by the caller */
	enum response_phase phase;
	int status;
	bool closes;			  /* no other response comes over this connection */
	bool has_begun;			  /* a byte of it has arrived */
	char credential[AUTH_HEADER_MAX]; /* AUTH_ANSWER_HEADER, or "" */
	int64_t next;			  /* WIRE_NEXT_HEADER; 0: none, or no number */
	const char *fault;		  /* why it was refused */
	bool has_length, is_chunked, is_skipped; /* is_skipped: 100 to 199, another follows */
	int64_t left;
	size_t head_size, line_size;
	char line[RESPONSE_LINE_MAX];
};

/* The caller zeroes *r but for what it sets. 0: more is needed; 1: it is whole (closes is set where bytes follow it);
 * -EPROTO: it is no such response, `fault` says why; -EMSGSIZE: larger than body_max; -ENOMEM. */
int response_feed(struct response *r, const char *data, size_t size);
/* The connection was closed. 1: the response is whole; -EPROTO. */
int response_end(struct response *r);
