/* SPDX-License-Identifier: GPL-2.0-or-later */
/* plain_call.c - see plain_call.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include "common/err.h"
#include "common/http/plain_call.h"
#include "common/version.h"

#define PIECE_MAX 32768 /* bytes read at a time */

bool plain_call_speaks(const char *url)
{
	return strncmp(url, "http://", 7) == 0;
}

void plain_call_close(struct http *h)
{
	if (h->plain_fd >= 0)
		close(h->plain_fd);
	h->plain_fd = -1;
	free(h->ahead);
	h->ahead = NULL;
}

int plain_call_begin(struct plain_call *p, struct http *h, struct err *err)
{
	const char *url = h->url, *host = url + 7;
	bool has_brackets = *host == '[';
	size_t n = strcspn(host + has_brackets, has_brackets ? "]" : ":");
	const char *port = host + has_brackets + n + (has_brackets && host[1 + n]);

	if (n >= sizeof(p->host) || (*port && *port != ':') || strlen(port) > sizeof(p->port))
		return err_set(err, -EINVAL,
			       "'%.80s' is not the address of a controller; write "
			       "http://HOST:8640",
			       url);
	memcpy(p->host, host + has_brackets, n);
	p->host[n] = '\0';
	p->http = h;
	p->response = (struct response){ .body = &h->answer, .body_max = HTTP_ANSWER_MAX };
	h->answer.size = 0;
	strcpy(p->port, port[0] && port[1] ? port + 1 : "80");
	return 0;
}

bool plain_call_can_reuse(const struct http *h)
{
	char byte;

	return h->plain_fd >= 0 && h->plain_url == h->url &&
	       recv(h->plain_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK);
}

/* The path is ours, with user text escaped: a byte that would end it is a fault. */
static int check_path(const char *path, struct err *err)
{
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || *path == 0x7f)
			return err_set(err, -EINVAL, "the path of the request is not escaped");
	return 0;
}

int plain_call_head(struct plain_call *p, char head[static PLAIN_HEAD_MAX], struct err *err)
{
	const struct http *h = p->http;
	const char *path = h->call_url + strlen(h->url);
	bool is_post = strcmp(h->method, "POST") == 0;
	int r = check_path(path, err), n;

	if (r < 0)
		return r;
	n = snprintf(head, PLAIN_HEAD_MAX,
		     "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: reeve/" REEVE_VERSION
		     "\r\nAccept: */*\r\n" AUTH_REQUEST_HEADER ": %s\r\n%s%s",
		     h->method, path, h->url + 7, h->credential,
		     h->has_body ? "Content-Type: application/json\r\n" : "",
		     h->is_zipped ? "Content-Encoding: gzip\r\n" : "");
	if (n < PLAIN_HEAD_MAX && is_post)
		n += snprintf(head + n, (size_t)(PLAIN_HEAD_MAX - n), "Content-Length: %zu\r\n",
			      h->sent.size);
	if (n < PLAIN_HEAD_MAX)
		n += snprintf(head + n, (size_t)(PLAIN_HEAD_MAX - n), "\r\n");
	if (n >= PLAIN_HEAD_MAX)
		return err_set(err, -EINVAL, "the request is longer than %d bytes",
			       PLAIN_HEAD_MAX);
	p->left[0] = (struct iovec){ head, (size_t)n };
	p->left[1] = (struct iovec){ h->sent.data, is_post ? h->sent.size : 0 };
	return 0;
}

bool plain_call_has_to_send(const struct plain_call *p)
{
	return p->left[0].iov_len || p->left[1].iov_len;
}

static void drop_sent(struct plain_call *p, size_t n)
{
	for (int i = 0; i < 2; i++) {
		size_t of_this = n < p->left[i].iov_len ? n : p->left[i].iov_len;

		p->left[i].iov_base = (char *)p->left[i].iov_base + of_this;
		p->left[i].iov_len -= of_this;
		n -= of_this;
	}
}

int plain_call_send(struct plain_call *p)
{
	struct msghdr msg = { .msg_iov = p->left, .msg_iovlen = 2 };
	ssize_t n = sendmsg(p->http->plain_fd, &msg, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0 && errno != EPIPE && errno != ECONNRESET)
		return -errno;
	if (n < 0)
		p->left[0].iov_len = p->left[1].iov_len = 0;
	else
		drop_sent(p, (size_t)n);
	p->http->is_sent = p->http->is_sent || n > 0;
	return 0;
}

int plain_call_receive(struct plain_call *p)
{
	char piece[PIECE_MAX];
	ssize_t n = recv(p->http->plain_fd, piece, sizeof(piece), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return -errno;
	return n ? response_feed(&p->response, piece, (size_t)n) : response_end(&p->response);
}

/* Words of a call that broke off. */
static int word_break(const struct plain_call *p, int r, struct err *err)
{
	char why[128];

	switch (r) {
	case -EMSGSIZE:
		return http_too_large(p->http, err);
	case -ENOMEM:
		return err_set(err, r, "out of memory");
	case -ETIMEDOUT:
		snprintf(why, sizeof(why), "nothing came within %ld s",
			 p->http->timeout_s + p->http->wait_s);
		return http_no_time(p->http, why, err);
	default:
		return http_no_use(p->http,
				   p->response.fault ? p->response.fault : strerror(-r), err);
	}
}

/* A kept connection that the controller closed at the very moment: what changes nothing is sent once more. */
static bool may_repeat(const struct plain_call *p, int r)
{
	return r < 0 && r != -ETIMEDOUT && p->is_reused && !p->response.has_begun &&
	       strcmp(p->http->method, "GET") == 0;
}

int plain_call_end(struct plain_call *p, int r, struct err *err)
{
	struct http *h = p->http;

	if (r < 0 || p->response.closes || plain_call_has_to_send(p))
		plain_call_close(h);
	if (may_repeat(p, r))
		return -EAGAIN;
	if (r < 0)
		return word_break(p, r, err);
	h->status = p->response.status;
	h->next = p->response.next;
	strcpy(h->answer_credential, p->response.credential);
	return 0;
}
