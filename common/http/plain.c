/* plain.c - see plain.h. */
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/http/plain.h"
#include "common/http/response.h"
#include "common/version.h"

#define CONNECT_NS (10 * S_NS)
#define CONNECT_OF_SEVERAL_NS (3 * S_NS) /* where another controller can be asked */
#define HEAD_MAX (16384 + AUTH_HEADER_MAX)
#define HOST_MAX 256
#define PIECE_MAX 32768 /* bytes read at a time */

/* One call under way. */
struct plain {
	struct http *http;
	int64_t until_ns;    /* of the call, CLOCK_MONOTONIC; INT64_MAX: none */
	int64_t patience_ns; /* when to say that it takes long; INT64_MAX: never */
	char host[HOST_MAX], port[8];
	struct iovec left[2]; /* of the request: head and body */
	struct response response;
	bool is_reused; /* the connection is one of an earlier call */
};

bool plain_speaks(const char *url)
{
	return strncmp(url, "http://", 7) == 0;
}

void plain_close(struct http *h)
{
	if (h->plain_fd >= 0)
		close(h->plain_fd);
	h->plain_fd = -1;
	free(h->ahead);
	h->ahead = NULL;
}

/* ---- waiting ---- */

static int ms_until(int64_t at_ns, int64_t now_ns)
{
	int64_t ms;

	if (at_ns == INT64_MAX)
		return -1;
	ms = (at_ns - now_ns + MS_NS - 1) / MS_NS;
	return ms < 0 ? 0 : ms > 3600 * 1000 ? 3600 * 1000 : (int)ms;
}

/* 0: *ret has what poll() says of the socket; -ETIMEDOUT. Tells the user when it takes long. */
static int wait_socket(struct plain *p, struct pollfd *fd, int64_t until_ns)
{
	int64_t now = clock_ns(CLOCK_MONOTONIC);

	for (;;) {
		int64_t at = p->patience_ns < until_ns ? p->patience_ns : until_ns;
		int n = poll(fd, 1, ms_until(at, now));

		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		now = clock_ns(CLOCK_MONOTONIC);
		if (now >= p->patience_ns) {
			p->patience_ns = INT64_MAX;
			p->http->patience.fn(p->http->patience.ctx);
		}
		if (now >= until_ns)
			return -ETIMEDOUT;
	}
}

/* ---- connecting ---- */

static void addresses_done(struct addrinfo **a)
{
	if (*a)
		freeaddrinfo(*a);
}

/* "http://HOST[:PORT]", as http_open() has checked it; HOST may be [IPv6]. */
static int split_url(struct plain *p, const char *url, struct err *err)
{
	const char *host = url + 7;
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
	strcpy(p->port, port[0] && port[1] ? port + 1 : "80");
	return 0;
}

/* Numbers need no name service, which loads libraries of the site. */
static int find_addresses(struct plain *p, struct addrinfo **ret, struct err *err)
{
	struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
				  .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	int e = getaddrinfo(p->host, p->port, &hints, ret);

	if (e == EAI_NONAME) {
		hints.ai_flags = AI_ADDRCONFIG;
		e = getaddrinfo(p->host, p->port, &hints, ret);
	}
	if (e == 0)
		return 0;
	*ret = NULL;
	return http_no_host(p->http, e == EAI_SYSTEM ? strerror(errno) : gai_strerror(e), err);
}

static int connect_address(struct plain *p, const struct addrinfo *a, int64_t until_ns)
{
	_cleanup_close_ int fd =
		socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd ready = { .fd = fd, .events = POLLOUT };
	socklen_t size = sizeof(int);
	int one = 1, error = 0, r = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0) {
		if (errno != EINPROGRESS)
			return -errno;
		r = wait_socket(p, &ready, until_ns);
	}
	if (r == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		r = -errno;
	if (r < 0 || error)
		return r < 0 ? r : -error;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
	p->http->plain_fd = TAKE_FD(fd);
	return 0;
}

/* Tries the addresses of the host in turn; each has its share of the time that is left. */
static int connect_host(struct plain *p, struct err *err)
{
	_cleanup_(addresses_done) struct addrinfo *found = NULL;
	int64_t most = p->http->n_urls > 1 ? CONNECT_OF_SEVERAL_NS : CONNECT_NS, until;
	int r = find_addresses(p, &found, err), n = 0;

	if (r < 0)
		return r;
	until = clock_ns(CLOCK_MONOTONIC) + most;
	if (until > p->until_ns)
		until = p->until_ns;
	for (const struct addrinfo *a = found; a; a = a->ai_next)
		n++;
	for (const struct addrinfo *a = found; a; a = a->ai_next, n--) {
		int64_t now = clock_ns(CLOCK_MONOTONIC);

		r = connect_address(p, a, now + (until - now) / n);
		if (r == 0)
			return 0;
	}
	if (r == -ETIMEDOUT)
		return http_no_time(p->http, "no connection was made in time", err);
	return http_no_connection(p->http, r, strerror(-r), err);
}

/* Nothing may have come over a connection that is kept; an end of it least of all. */
static bool is_usable(const struct http *h)
{
	char byte;

	return h->plain_fd >= 0 && h->plain_url == h->url &&
	       recv(h->plain_fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 &&
	       (errno == EAGAIN || errno == EWOULDBLOCK);
}

static int open_connection(struct plain *p, struct err *err)
{
	struct http *h = p->http;

	p->is_reused =
		is_usable(h) && !h->ahead; /* the answer to another call would come first */
	if (p->is_reused)
		return 0;
	plain_close(h);
	h->plain_url = h->url;
	return connect_host(p, err);
}

/* ---- the request ---- */

/* The path is ours, with user text escaped: a byte that would end it is a fault. */
static int check_path(const char *path, struct err *err)
{
	for (; *path; path++)
		if ((unsigned char)*path <= ' ' || *path == 0x7f)
			return err_set(err, -EINVAL, "the path of the request is not escaped");
	return 0;
}

static int format_head(struct plain *p, char head[static HEAD_MAX], struct err *err)
{
	const struct http *h = p->http;
	const char *path = h->call_url + strlen(h->url);
	bool is_post = strcmp(h->method, "POST") == 0;
	int r = check_path(path, err), n;

	if (r < 0)
		return r;
	n = snprintf(head, HEAD_MAX,
		     "%s %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: reeve/" REEVE_VERSION
		     "\r\nAccept: */*\r\n" AUTH_REQUEST_HEADER ": %s\r\n%s%s",
		     h->method, path, h->url + 7, h->credential,
		     h->has_body ? "Content-Type: application/json\r\n" : "",
		     h->is_zipped ? "Content-Encoding: gzip\r\n" : "");
	if (n < HEAD_MAX && is_post)
		n += snprintf(head + n, (size_t)(HEAD_MAX - n), "Content-Length: %zu\r\n",
			      h->sent.size);
	if (n < HEAD_MAX)
		n += snprintf(head + n, (size_t)(HEAD_MAX - n), "\r\n");
	if (n >= HEAD_MAX)
		return err_set(err, -EINVAL, "the request is longer than %d bytes", HEAD_MAX);
	p->left[0] = (struct iovec){ head, (size_t)n };
	p->left[1] = (struct iovec){ h->sent.data, is_post ? h->sent.size : 0 };
	return 0;
}

static bool has_to_send(const struct plain *p)
{
	return p->left[0].iov_len || p->left[1].iov_len;
}

static void drop_sent(struct plain *p, size_t n)
{
	for (int i = 0; i < 2; i++) {
		size_t of_this = n < p->left[i].iov_len ? n : p->left[i].iov_len;

		p->left[i].iov_base = (char *)p->left[i].iov_base + of_this;
		p->left[i].iov_len -= of_this;
		n -= of_this;
	}
}

/* A controller that refuses a request may answer and close before it has read all: what it said is still read. */
static int send_some(struct plain *p)
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

/* ---- the response ---- */

/* 1: it is whole; 0: more is needed. */
static int receive_some(struct plain *p)
{
	char piece[PIECE_MAX];
	ssize_t n = recv(p->http->plain_fd, piece, sizeof(piece), 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n < 0)
		return -errno;
	return n ? response_feed(&p->response, piece, (size_t)n) : response_end(&p->response);
}

/* 1: whole. Also when not all was sent: then the connection is of no further use. */
static int exchange_bytes(struct plain *p)
{
	int r = send_some(p);

	while (r == 0) {
		struct pollfd fd = { .fd = p->http->plain_fd,
				     .events =
					     (short)(POLLIN | (has_to_send(p) ? POLLOUT : 0)) };

		r = wait_socket(p, &fd, p->until_ns);
		if (r == 0 && (fd.revents & (POLLIN | POLLHUP | POLLERR)))
			r = receive_some(p);
		else if (r == 0)
			r = send_some(p);
	}
	return r;
}

/* Words of a call that broke off. */
static int word_break(const struct plain *p, int r, struct err *err)
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
static bool may_repeat(const struct plain *p, int r)
{
	return r < 0 && r != -ETIMEDOUT && p->is_reused && !p->response.has_begun &&
	       strcmp(p->http->method, "GET") == 0;
}

static int receive_response(struct plain *p, struct err *err)
{
	struct http *h = p->http;
	int r;

	h->answer.size = 0;
	p->response.body = &h->answer;
	p->response.body_max = HTTP_ANSWER_MAX;
	r = exchange_bytes(p);
	if (r < 0 || p->response.closes || has_to_send(p))
		plain_close(h);
	if (may_repeat(p, r))
		return -EAGAIN;
	if (r < 0)
		return word_break(p, r, err);
	h->status = p->response.status;
	h->next = p->response.next;
	strcpy(h->answer_credential, p->response.credential);
	return 0;
}

static int exchange_once(struct plain *p, struct err *err)
{
	char head[HEAD_MAX];
	int r = format_head(p, head, err);

	if (r == 0)
		r = open_connection(p, err);
	return r < 0 ? r : receive_response(p, err);
}

/* Its request was sent ahead, over the connection that is there. */
static int take_ahead(struct plain *p, struct err *err)
{
	struct http *h = p->http;

	free(h->ahead);
	h->ahead = NULL;
	h->is_sent = p->is_reused = true;
	return receive_response(p, err);
}

int plain_exchange(struct http *h, struct err *err)
{
	struct plain *p = calloc(1, sizeof(*p));
	int64_t now = clock_ns(CLOCK_MONOTONIC);
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->http = h;
	p->until_ns = h->timeout_s ? now + (h->timeout_s + h->wait_s) * S_NS : INT64_MAX;
	p->patience_ns = h->patience.fn ? now + h->patience.after_ms * MS_NS : INT64_MAX;
	r = split_url(p, h->url, err);
	if (r == 0)
		r = h->was_ahead ? take_ahead(p, err) : exchange_once(p, err);
	if (r == -EAGAIN && !h->was_ahead) {
		p->response = (struct response){ .body = NULL };
		r = exchange_once(p, err); /* over a new connection */
	}
	free(p);
	return r;
}

/* ---- ahead of its call ---- */

void plain_send_ahead(struct http *h, const char *path)
{
	struct http_call call = { .method = "GET", .path = path };
	struct http next = *h;
	struct plain p = { .http = &next };
	char head[HEAD_MAX];
	struct err unused;
	size_t size;

	if (!path || h->plain_fd < 0 || h->ahead)
		return;
	next.sent = next.answer = (struct http_buffer){ 0 };
	next.call_url = NULL;
	if (http_prepare(&next, call, &unused) == 0 && format_head(&p, head, &unused) == 0) {
		size = p.left[0].iov_len;
		h->ahead = strdup(path);
		if (!h->ahead ||
		    send(h->plain_fd, head, size, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)size)
			plain_close(h);
	}
	http_forget(&next);
}
