/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.c - the parts of one exchange: sign and set up the request, read the answer, decide whether another
 * controller is to be asked. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>
#include "common/err.h"
#include "common/http/exchange.h"
#include "common/wire/wire.h"

#define GZIP_FROM 4096	   /* bytes: of smaller bodies compressing takes longer than sending */
#define GZIP_SMALL_BITS 14 /* 16 KiB */
#define GZIP_FROM_ONCE 16384 /* of a command, which would load zlib for its one request */

void http_forget(struct http *h)
{
	free(h->sent.data);
	h->sent = (struct http_buffer){ 0 };
	free(h->call_url);
	h->call_url = NULL;
	h->answer.size = 0;
	if (h->answer.room > 1 << 20) { /* one large answer is not kept for ever */
		free(h->answer.data);
		h->answer = (struct http_buffer){ 0 };
	}
}

/* ---- the request ---- */

/* The window of 32 KiB and its tables are 256 KiB, which zlib clears: of a small body that takes longer than the rest. */
static int gzip_body(struct http_buffer *b, struct err *err)
{
	bool is_small = b->size <= 1 << GZIP_SMALL_BITS;
	int window_bits = (is_small ? GZIP_SMALL_BITS : 15) + 16,
	    level_of_memory = is_small ? 5 : 8;
	z_stream z = { 0 };
	struct http_buffer out = { 0 };
	int r;

	if (deflateInit2(&z, 6, Z_DEFLATED, window_bits, level_of_memory, Z_DEFAULT_STRATEGY) !=
	    Z_OK)
		return err_set(err, -ENOMEM, "out of memory");
	out.room = deflateBound(&z, b->size);
	out.data = malloc(out.room);
	z.next_in = (unsigned char *)b->data;
	z.avail_in = (unsigned)b->size;
	z.next_out = (unsigned char *)out.data;
	z.avail_out = (unsigned)out.room;
	r = out.data ? deflate(&z, Z_FINISH) : Z_MEM_ERROR;
	out.size = z.total_out;
	deflateEnd(&z);
	if (r != Z_STREAM_END) {
		free(out.data);
		return err_set(err, -ENOMEM, "out of memory");
	}
	free(b->data);
	*b = out;
	return 0;
}

/* Fills call_url, sent and credential. The signature is over the body before compression. */
static int make_message(struct http *h, struct http_call call, struct err *err)
{
	_cleanup_free_ char *first = NULL;
	struct auth_text text;
	int r;

	h->was_ahead = h->ahead && !call.body && !strcmp(call.method, "GET") &&
		       !strcmp(h->ahead, call.path);
	if (h->was_ahead)
		return asprintf(&h->call_url, "%s%s", h->url, call.path) < 0
			       ? err_set(err, -ENOMEM, "out of memory")
			       : 0;
	h->has_body = call.body;
	if (call.body) {
		h->sent.data = wire_format_whole(call.body, &h->sent.size);
		if (!h->sent.data)
			return err_set(err, -ENOMEM, "out of memory");
	}
	if (asprintf(&first, "%s %s", call.method, call.path) < 0 ||
	    asprintf(&h->call_url, "%s%s", h->url, call.path) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	text = (struct auth_text){ .first = first,
				   .second = h->sent.data ? h->sent.data : "",
				   .second_size = h->sent.size,
				   .reader = h->reader };
	r = auth_sign(h->munge_socket, text, h->credential, err);
	if (r < 0)
		return r;
	h->is_zipped = h->sent.size > (h->loop ? GZIP_FROM : GZIP_FROM_ONCE) && !call.is_dense;
	return h->is_zipped ? gzip_body(&h->sent, err) : 0;
}

int http_prepare(struct http *h, struct http_call call, struct err *err)
{
	int r;

	http_forget(h);
	h->status = 0;
	h->next = 0;
	h->is_sent = false;
	h->answer_credential[0] = '\0';
	h->wait_s = call.wait_s;
	if (strcmp(call.method, "GET") && strcmp(call.method, "POST"))
		return err_set(err, -EINVAL, "method %.16s is not supported", call.method);
	strcpy(h->method, call.method);
	r = make_message(h, call, err);
	if (r < 0)
		http_forget(h);
	return r;
}

/* ---- the answer ---- */

int http_no_host(const struct http *h, const char *why, struct err *err)
{
	return err_set(err, -EHOSTUNREACH,
		       "cannot reach the controller at %s: %s; check the host name in "
		       "Controller=",
		       h->url, why);
}

int http_no_connection(const struct http *h, int r, const char *why, struct err *err)
{
	return err_set(err, r,
		       "cannot reach the controller at %s: %s; check that "
		       "reeve-controller runs there and that Controller= names it",
		       h->url, why);
}

int http_no_time(const struct http *h, const char *why, struct err *err)
{
	return err_set(err, -ETIMEDOUT, "the controller at %s does not answer: %s", h->url,
		       why);
}

int http_no_use(const struct http *h, const char *why, struct err *err)
{
	return err_set(err, -EPROTO, "no usable answer from %s: %s", h->call_url, why);
}

int http_no_trust(const struct http *h, const char *why, const char *remedy, struct err *err)
{
	return err_set(err, -EPROTO, "no https with %s: %s; %s", h->url, why, remedy);
}

int http_too_large(const struct http *h, struct err *err)
{
	return err_set(err, -EPROTO, "the answer of %s is larger than %d MiB", h->url,
		       HTTP_ANSWER_MAX >> 20);
}

/* A refusal in the protocol's own form becomes "message; remedy". */
static void put_refusal(const struct http *h, const json_t *answer, struct err *err)
{
	const json_t *e = json_object_get(answer, "error");
	const char *message = json_string_value(json_object_get(e, "message"));
	const char *remedy = json_string_value(json_object_get(e, "remedy"));

	if (!message)
		err_set(err, 0, "%s answers %ld to %s; is that a Reeve controller?", h->url,
			h->status, h->method);
	else
		err_set(err, 0, "%s%s%s", message, remedy && *remedy ? "; " : "",
			remedy ? remedy : "");
}

/* Is the answer signed by answer_uid, for this very request? Nothing is checked where no uid is
 * set: what people read is not acted on as root. */
static int check_signature(const struct http *h, struct err *err)
{
	struct auth_text text = { .first = h->credential,
				  .second = h->answer.data ? h->answer.data : "",
				  .second_size = h->answer.size };
	struct auth_who who;
	int r;

	if (h->answer_uid < 0)
		return 0;
	if (!h->answer_credential[0])
		return err_set(err, -EACCES, "the answer of %s is not signed", h->url);
	r = auth_verify(h->munge_socket, h->answer_credential, text, &who, err);
	if (r < 0)
		return err_prefix(err, r, "the answer of %s", h->url);
	if (who.uid != h->answer_uid)
		return err_set(err, -EACCES,
			       "the answer of %s is signed by uid %u, not by the controller's "
			       "uid %lld; check ControllerUser=",
			       h->url, who.uid, (long long)h->answer_uid);
	return 0;
}

static int read_answer(struct http *h, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	int r = wire_parse_whole(h->answer.data ? h->answer.data : "", h->answer.size, &answer,
				 err);

	if (h->status < 200 || h->status > 299) {
		put_refusal(h, answer, err);
		*ret = TAKE_PTR(answer);
		return h->status > 0 ? (int)h->status : -EPROTO;
	}
	if (r < 0)
		return err_prefix(err, r == -EINVAL ? -EPROTO : r, "the answer of %s",
				  h->call_url);
	r = check_signature(h, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(answer);
	return 0;
}

int http_finish(struct http *h, int r, json_t **ret_answer, struct err *err)
{
	*ret_answer = NULL;
	if (r == 0)
		r = read_answer(h, ret_answer, err);
	http_forget(h);
	return r;
}

/* ---- several controllers ---- */

#define UNAVAILABLE 503

/* The next address is tried first from now on. n_failed begins again when all have failed. */
static void turn_to_next(struct http *h)
{
	size_t at = 0;

	while (h->urls[at] != h->url)
		at++;
	h->url = h->urls[(at + 1) % h->n_urls];
	h->n_failed = h->n_failed < h->n_urls ? h->n_failed + 1 : 1;
}

bool http_has_next(const struct http *h)
{
	return h->n_failed > 0 && h->n_failed < h->n_urls;
}

int http_count(const struct http *h)
{
	return (int)h->n_urls;
}

/* True when the first controller cannot have acted on the call: it refused it as a whole, nothing was
 * sent to it, or the call changes nothing. Else a second controller could do it twice. */
static bool may_ask_another(const struct http *h, int result, const struct http_call *call)
{
	if (result == UNAVAILABLE)
		return true;
	return result < 0 && (!h->is_sent || !strcmp(call->method, "GET"));
}

/* Keeps the first refusal that is not a standby's: it is what the user wants to read when no
 * controller answers. */
static void keep_words(struct http *h, const json_t *answer, const struct err *err)
{
	const json_t *e = json_object_get(answer, "error");
	const char *code = json_string_value(json_object_get(e, "code"));

	if (h->has_said || (code && strcmp(code, "standby") == 0))
		return;
	h->has_said = true;
	h->said = *err;
}

bool http_asks_another(struct http *h, const struct http_call *call, int *result,
		       const json_t *answer, struct err *err)
{
	if (*result >= 0 && *result != UNAVAILABLE) {
		h->n_failed = 0;
		h->has_said = false;
		return false;
	}
	if (*result == UNAVAILABLE)
		keep_words(h, answer, err);
	turn_to_next(h);
	if (may_ask_another(h, *result, call) && http_has_next(h))
		return true;
	if (h->has_said) {
		*err = h->said;
		*result = UNAVAILABLE;
	}
	h->has_said = false;
	return false;
}
