/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http.c - opens and closes a client of the controller, and makes calls that are waited for; see http.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/http/plain.h"
#include "common/http/plain_call.h"
#include "common/http/transfer.h"
#include "common/wire/wire.h"

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

static bool copy_text(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return !from || *ret;
}

static int copy_config(struct http *h, const struct http_config *c, struct err *err)
{
	h->timeout_s = c->timeout_s;
	h->answer_uid = c->answer_uid;
	if (c->reader) {
		h->reader_uid = *c->reader;
		h->reader = &h->reader_uid;
	}
	if (!copy_text(c->munge_socket, &h->munge_socket) ||
	    !copy_text(c->ca_file, &h->ca_file) ||
	    !copy_text(c->client_certificate, &h->client_certificate) ||
	    !copy_text(c->client_key, &h->client_key))
		return err_set(err, -ENOMEM, "out of memory");
	return copy_urls(h, c->url, err);
}

int http_open(const struct http_config *c, struct http **ret, struct err *err)
{
	_cleanup_(http_closep) struct http *h = calloc(1, sizeof(*h));
	int r;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->plain_fd = -1;
	r = copy_config(h, c, err);
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
	http_forget(h);
	plain_call_close(h);
	transfer_close(h);
	h->loop = http_loop_free(h->loop);
	for (size_t i = 0; i < h->n_urls; i++)
		free(h->urls[i]);
	free(h->munge_socket);
	free(h->ca_file);
	free(h->client_certificate);
	free(h->client_key);
	free(h->answer.data);
	free(h);
	return NULL;
}

/* ---- a call that is waited for ---- */

int http_ask(struct http *h, struct http_call call, struct http_patience patience,
	     json_t **ret_answer, struct err *err)
{
	struct err scratch = { "" };
	struct err *words = err ? err : &scratch;
	int r;

	*ret_answer = NULL;
	if (h->loop)
		return err_set(words, -EINVAL, "this client is attached to an event loop");
	h->patience = patience;
	for (;;) {
		r = http_prepare(h, call, words);
		if (r < 0)
			return r;
		r = plain_call_speaks(h->url) ? plain_exchange(h, words)
					      : transfer_exchange(h, words);
		if (r == -EAGAIN && h->was_ahead) /* in vain */
			continue;
		if (r == 0 && plain_call_speaks(h->url) && h->next && call.next_path)
			plain_send_ahead(h, call.next_path(call.ctx, h->next));
		r = http_finish(h, r, ret_answer, words);
		if (!http_asks_another(h, &call, &r, *ret_answer, words))
			return r;
		*ret_answer = wire_unref(*ret_answer);
	}
}
