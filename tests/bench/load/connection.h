/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connection - one node's connection to the controller for an epoll loop with thousands of them: binds an address of its own, sends a
 * signed request as the agent does (munge, gzip from 4 KiB on), reads the answer and checks its signature. Kept between requests.
 */
#pragma once
#include <jansson.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include "common/http/response.h"

struct err;

struct connection_target {
	struct sockaddr_in address;
	const char *munge_socket;
	uint32_t controller_uid; /* alone decodes requests, and signs the answers */
	int epoll;
};

struct connection {
	int fd;			 /* -1: closed */
	uint32_t source, number; /* an address in host order; what epoll says of it */
	bool is_connected;
	char *request; /* what is left of it begins at `at` */
	size_t size, at;
	char credential[AUTH_HEADER_MAX]; /* of the request */
	struct response response;
	struct http_buffer answer;
};

void connection_init(struct connection *c, uint32_t source, uint32_t number);
/* Signs and sends what can be sent at once; connects first where it is closed. -errno. */
int connection_start(struct connection *c, const struct connection_target *t, const char *path,
		     struct auth_text body, struct err *err);
/* After an event. 1: the answer is whole; 0: not yet; -errno: close it. */
int connection_advance(struct connection *c);
/* The answer as a document, once its signature was checked. HTTP statuses above 0 are refusals; -errno. */
int connection_read(struct connection *c, const struct connection_target *t, json_t **ret,
		    struct err *err);
void connection_close(struct connection *c);
