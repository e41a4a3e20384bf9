/* SPDX-License-Identifier: GPL-2.0-or-later */
/* connection.c - see connection.h. */
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <zlib.h>
#include "common/err.h"
#include "common/version.h"
#include "common/wire/wire.h"
#include "tests/bench/load/connection.h"

#define GZIP_FROM 4096 /* as common/http/exchange.c has it */
#define GZIP_WINDOW_BITS (14 + 16)
#define GZIP_MEMORY 5
#define HEAD_MAX 4096
#define ANSWER_MAX (8 << 20)
#define PIECE_MAX 16384

void connection_init(struct connection *c, uint32_t source, uint32_t number)
{
	*c = (struct connection){ .fd = -1, .source = source, .number = number };
}

void connection_close(struct connection *c)
{
	if (c->fd >= 0)
		close(c->fd);
	c->fd = -1;
	c->is_connected = false;
	free(c->request);
	c->request = NULL;
	c->size = c->at = 0;
}

/* ---- the request ---- */

/* Below `to` there is room for deflateBound(). */
static int deflate_body(const struct auth_text *body, char *to, size_t room, size_t *ret_size)
{
	z_stream z = { .next_in = (unsigned char *)(uintptr_t)body->second,
		       .avail_in = (unsigned)body->second_size,
		       .next_out = (unsigned char *)to,
		       .avail_out = (unsigned)room };
	int r;

	if (deflateInit2(&z, 6, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	r = deflate(&z, Z_FINISH);
	*ret_size = z.total_out;
	deflateEnd(&z);
	return r == Z_STREAM_END ? 0 : -ENOMEM;
}

static int make_request(struct connection *c, const char *path, const struct auth_text *body,
			struct err *err)
{
	size_t room = body->second_size + (body->second_size >> 3) + 1024, size;
	_cleanup_free_ char *sent = malloc(room);
	bool is_zipped = body->second_size > GZIP_FROM;
	int n;

	if (!sent)
		return err_set(err, -ENOMEM, "out of memory");
	if (is_zipped && deflate_body(body, sent, room, &size) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (!is_zipped)
		memcpy(sent, body->second, size = body->second_size);
	free(c->request);
	c->at = c->size = 0;
	c->request = malloc(HEAD_MAX + size);
	if (!c->request)
		return err_set(err, -ENOMEM, "out of memory");
	n = snprintf(c->request, HEAD_MAX,
		     "POST %s HTTP/1.1\r\nHost: controller\r\nUser-Agent: reeve/" REEVE_VERSION
		     "\r\nAccept: */*\r\n" AUTH_REQUEST_HEADER
		     ": %s\r\nContent-Type: application/json\r\n%sContent-Length: %zu\r\n\r\n",
		     path, c->credential, is_zipped ? "Content-Encoding: gzip\r\n" : "", size);
	memcpy(c->request + n, sent, size);
	c->size = (size_t)n + size;
	return 0;
}

/* The port of `source` is chosen at connect(), so that each address has all of them. */
static int open_socket(struct connection *c, const struct connection_target *t, struct err *err)
{
	struct sockaddr_in from = { .sin_family = AF_INET,
				    .sin_addr.s_addr = htonl(c->source) };
	struct epoll_event e = { .events = EPOLLIN | EPOLLOUT | EPOLLET,
				 .data.u32 = c->number };
	int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (c->fd < 0)
		return err_set(err, -errno, "socket: %m");
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) < 0 ||
	    epoll_ctl(t->epoll, EPOLL_CTL_ADD, c->fd, &e) < 0)
		return err_set(err, -errno, "bind: %m");
	if (connect(c->fd, (const struct sockaddr *)&t->address, sizeof(t->address)) < 0 &&
	    errno != EINPROGRESS)
		return err_set(err, -errno, "connect: %m");
	return 0;
}

static int send_rest(struct connection *c)
{
	while (c->at < c->size) {
		ssize_t n = send(c->fd, c->request + c->at, c->size - c->at, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		c->at += (size_t)n;
	}
	free(c->request);
	c->request = NULL;
	c->size = c->at = 0;
	return 0;
}

int connection_start(struct connection *c, const struct connection_target *t, const char *path,
		     struct auth_text body, struct err *err)
{
	char first[128];
	int r;

	snprintf(first, sizeof(first), "POST %s", path);
	body.first = first;
	body.reader = &t->controller_uid;
	r = auth_sign(t->munge_socket, body, c->credential, err);
	if (r >= 0)
		r = make_request(c, path, &body, err);
	if (r < 0)
		return r;
	c->answer.size = 0;
	c->response = (struct response){ .body = &c->answer, .body_max = ANSWER_MAX };
	if (c->fd < 0)
		return open_socket(c, t, err);
	r = send_rest(c);
	return r < 0 ? err_set(err, r, "send: %s", strerror(-r)) : 0;
}

/* ---- the answer ---- */

static int receive_some(struct connection *c)
{
	char piece[PIECE_MAX];

	for (;;) {
		ssize_t n = recv(c->fd, piece, sizeof(piece), 0);
		int r;

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		r = n ? response_feed(&c->response, piece, (size_t)n)
		      : response_end(&c->response);
		if (r != 0)
			return r;
	}
}

int connection_advance(struct connection *c)
{
	socklen_t size = sizeof(int);
	int error = 0, r;

	if (!c->is_connected) {
		if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 || error)
			return -(error ? error : errno);
		c->is_connected = true;
	}
	r = send_rest(c);
	return r < 0 ? r : receive_some(c);
}

static int check_signature(const struct connection *c, const struct connection_target *t,
			   struct err *err)
{
	const struct auth_text what = { .first = c->credential,
					.second = c->answer.data ? c->answer.data : "",
					.second_size = c->answer.size };
	struct auth_who who;
	int r = auth_verify(t->munge_socket, c->response.credential, what, &who, err);

	if (r >= 0 && who.uid != t->controller_uid)
		r = err_set(err, -EACCES, "the answer is signed by uid %u", who.uid);
	return r;
}

int connection_read(struct connection *c, const struct connection_target *t, json_t **ret,
		    struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	int r = wire_parse_whole(c->answer.data ? c->answer.data : "", c->answer.size, &doc,
				 err);

	if (c->response.status != 200) {
		const json_t *e = json_object_get(doc, "error");
		const char *message = json_string_value(json_object_get(e, "message"));

		err_set(err, 0, "status %d: %s", c->response.status, message ? message : "");
		return c->response.status;
	}
	if (r >= 0)
		r = check_signature(c, t, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(doc);
	return 0;
}
