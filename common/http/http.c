/* http.c - opens and closes a client of the controller: addresses, libcurl's options, callbacks;
 * see http.h. */
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/version.h"
#include "common/wire/wire.h"

#define CONNECT_TIMEOUT_S 10L
#define CONNECT_TIMEOUT_OF_SEVERAL_S 3L

/* ---- what curl calls ---- */

/* Appends to the answer. Returning less than `size` makes curl end the transfer with
 * CURLE_WRITE_ERROR: the answer is larger than HTTP_ANSWER_MAX, or there is no memory. */
static size_t take_body(char *data, size_t one, size_t n, void *ctx)
{
	struct http *h = ctx;
	struct http_buffer *b = &h->answer;
	size_t size = one * n, room = b->room ? b->room : 4096;
	char *more;

	if (size > HTTP_ANSWER_MAX - b->size) {
		h->too_large = true;
		return 0;
	}
	while (room < b->size + size)
		room *= 2;
	if (room != b->room) {
		more = realloc(b->data, room);
		if (!more)
			return 0;
		b->data = more;
		b->room = room;
	}
	memcpy(b->data + b->size, data, size);
	b->size += size;
	return size;
}

/* Keeps the credential of the answer; a header that is not that, or too long for one, is passed
 * over (the missing signature is then reported). */
static size_t take_header(char *line, size_t one, size_t n, void *ctx)
{
	static const size_t name = sizeof(AUTH_ANSWER_HEADER) - 1;
	struct http *h = ctx;
	size_t size = one * n, at = name + 1, end = size;

	if (size <= at || line[name] != ':' || strncasecmp(line, AUTH_ANSWER_HEADER, name))
		return size;
	while (at < end && line[at] == ' ')
		at++;
	while (end > at && strchr("\r\n ", line[end - 1]))
		end--;
	if (end - at >= sizeof(h->answer_credential))
		return size;
	memcpy(h->answer_credential, line + at, end - at);
	h->answer_credential[end - at] = '\0';
	return size;
}

/* The programs that we start must not inherit the connection. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *a)
{
	(void)ctx;
	(void)purpose;
	return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

/* ---- open and close ---- */

/* Options that are the same for every call. */
static int set_always(struct http *h, struct err *err)
{
	CURL *c = h->easy;
	CURLcode r = 0;

	/* The certificate directory is read in full on each TLS connection; the bundle is not.
	 */
	r |= curl.easy_setopt(c, CURLOPT_CAPATH, NULL);
	if (h->ca_file)
		r |= curl.easy_setopt(c, CURLOPT_CAINFO, h->ca_file);
	r |= curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	r |= curl.easy_setopt(c, CURLOPT_PROXY, ""); /* ignore http_proxy */
	r |= curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	r |= curl.easy_setopt(c, CURLOPT_CONNECTTIMEOUT,
			      h->n_urls > 1 ? CONNECT_TIMEOUT_OF_SEVERAL_S : CONNECT_TIMEOUT_S);
	r |= curl.easy_setopt(c, CURLOPT_TCP_KEEPALIVE, 1L);
	r |= curl.easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "gzip");
	r |= curl.easy_setopt(c, CURLOPT_USERAGENT, "reeve/" REEVE_VERSION);
	r |= curl.easy_setopt(c, CURLOPT_ERRORBUFFER, h->why);
	r |= curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, take_body);
	r |= curl.easy_setopt(c, CURLOPT_WRITEDATA, h);
	r |= curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, take_header);
	r |= curl.easy_setopt(c, CURLOPT_HEADERDATA, h);
	r |= curl.easy_setopt(c, CURLOPT_OPENSOCKETFUNCTION, open_socket);
	return r ? err_set(err, -ENOSYS, "this libcurl lacks an option that Reeve needs") : 0;
}

/* http(s)://HOST[:PORT][/]: a user name, a path or a query is refused. */
static int check_url(const char *url, struct err *err)
{
	const char *host = strstr(url, "://");
	size_t n;

	if (!strncmp(url, "http://", 7) || !strncmp(url, "https://", 8)) {
		host += 3;
		n = strcspn(host, "/?# @");
		if (n && (!host[n] || !strcmp(host + n, "/")))
			return 0;
	}
	return err_set(err, -EINVAL,
		       "'%.80s' is not the address of a controller; write http://HOST:8640",
		       url);
}

static int add_url(struct http *h, const char *from, size_t size, struct err *err)
{
	_cleanup_free_ char *url = strndup(from, size);
	int r = url ? check_url(url, err) : err_set(err, -ENOMEM, "out of memory");

	if (r < 0)
		return r;
	if (h->n_urls == HTTP_ADDRESSES_MAX)
		return err_set(err, -EINVAL, "more than %d addresses of controllers",
			       HTTP_ADDRESSES_MAX);
	if (url[strlen(url) - 1] == '/')
		url[strlen(url) - 1] = '\0';
	h->urls[h->n_urls++] = TAKE_PTR(url);
	return 0;
}

static int copy_urls(struct http *h, const char *list, struct err *err)
{
	static const char between[] = ", \t";
	int r = 0;

	for (const char *p = list + strspn(list, between); *p && r >= 0;
	     p += strspn(p, between)) {
		size_t n = strcspn(p, between);

		r = add_url(h, p, n, err);
		p += n;
	}
	if (r >= 0 && h->n_urls == 0)
		r = check_url(list, err);
	h->url = h->urls[0];
	return r;
}

static int copy_config(struct http *h, const struct http_config *c, struct err *err)
{
	h->timeout_s = c->timeout_s;
	h->answer_uid = c->answer_uid;
	if (c->reader) {
		h->reader_uid = *c->reader;
		h->reader = &h->reader_uid;
	}
	h->munge_socket = c->munge_socket ? strdup(c->munge_socket) : NULL;
	h->ca_file = c->ca_file ? strdup(c->ca_file) : NULL;
	if ((c->munge_socket && !h->munge_socket) || (c->ca_file && !h->ca_file))
		return err_set(err, -ENOMEM, "out of memory");
	return copy_urls(h, c->url, err);
}

int http_open(const struct http_config *c, struct http **ret, struct err *err)
{
	_cleanup_(http_closep) struct http *h = calloc(1, sizeof(*h));
	int r = h ? copy_config(h, c, err) : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = curl_load(err);
	if (r < 0)
		return r;
	if (curl.global_init(CURL_GLOBAL_DEFAULT) || !(h->easy = curl.easy_init()))
		return err_set(err, -ENOMEM, "libcurl cannot be initialised");
	r = set_always(h, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(h);
	return 0;
}

struct http *http_close(struct http *h)
{
	if (!h)
		return NULL;
	if (h->loop)
		http_cancel(h);
	if (h->easy) { /* else curl may not be there */
		http_forget(h);
		curl.easy_cleanup(h->easy);
	}
	h->loop = http_loop_free(h->loop);
	for (size_t i = 0; i < h->n_urls; i++)
		free(h->urls[i]);
	free(h->munge_socket);
	free(h->ca_file);
	free(h->answer.data);
	free(h);
	return NULL;
}
