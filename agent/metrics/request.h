/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.h - what a client of the agent's metrics asked: the head of an HTTP/1 request. Pure; any bytes. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#define METRICS_REQUEST_MAX 8192 /* bytes of a head; a longer one is refused */

struct metrics_request {
	int status;		   /* of the answer: 200, or 400, 404, 405, 431 */
	bool is_head;		   /* HEAD: the answer has no body */
	const char *accept;	   /* value of the header, in `text`; NULL: none */
	const char *authorization; /* the same */
};

/* Reads text[0..n), n <= METRICS_REQUEST_MAX, and cuts it into strings. false: the head is not complete. */
bool metrics_request_parse(char *text, size_t n, struct metrics_request *ret);
const char *metrics_request_reason(int status); /* "Not Found" */
