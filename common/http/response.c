/* SPDX-License-Identifier: GPL-2.0-or-later */
/* response.c - see response.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/types.h>
#include "common/http/response.h"
#include "common/wire/wire.h"

static int refuse_response(struct response *r, const char *why)
{
	r->fault = why;
	return -EPROTO;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* "HTTP/1.1 200 OK"; the reason is not needed. */
static int take_status(struct response *r)
{
	const char *l = r->line;

	if (strncmp(l, "HTTP/1.", 7) != 0 || !is_digit(l[7]) || l[8] != ' ')
		return refuse_response(r, "it is not HTTP/1.1");
	if (l[9] < '1' || l[9] > '5' || !is_digit(l[10]) || !is_digit(l[11]) ||
	    (l[12] && l[12] != ' '))
		return refuse_response(r, "its status line has no status");
	r->status = (l[9] - '0') * 100 + (l[10] - '0') * 10 + (l[11] - '0');
	if (r->status == 101)
		return refuse_response(r, "it changes to another protocol");
	r->closes = l[7] == '0';
	r->is_skipped = r->status < 200;
	r->phase = RESPONSE_HEADER;
	return 0;
}

/* ---- header ---- */

static int take_length(struct response *r, const char *value)
{
	int64_t n = 0;

	if (!*value || strspn(value, "0123456789") != strlen(value) || strlen(value) > 18)
		return refuse_response(r, "its Content-Length is no number");
	for (; *value; value++)
		n = n * 10 + (*value - '0');
	if (r->has_length && n != r->left)
		return refuse_response(r, "it has two lengths");
	r->has_length = true;
	r->left = n;
	return 0;
}

static int take_coding(struct response *r, const char *value)
{
	if (strcasecmp(value, "chunked") != 0 || r->is_chunked)
		return refuse_response(r, "its Transfer-Encoding is not chunked");
	r->is_chunked = true;
	return 0;
}

static int take_encoding(struct response *r, const char *value)
{
	if (*value && strcasecmp(value, "identity") != 0)
		return refuse_response(r, "its body is encoded, which was not asked for");
	return 0;
}

/* A list of words; "close" is what matters. */
static int take_connection(struct response *r, const char *value)
{
	while (*value) {
		size_t n = strcspn(value, ", \t");

		if (n == 5 && strncasecmp(value, "close", 5) == 0)
			r->closes = true;
		value += n;
		value += strspn(value, ", \t");
	}
	return 0;
}

/* One that is too long is passed over: the missing signature is then reported. */
static int take_credential(struct response *r, const char *value)
{
	if (strlen(value) < sizeof(r->credential))
		strcpy(r->credential, value);
	return 0;
}

static int take_next(struct response *r, const char *value)
{
	if (*value && strspn(value, "0123456789") == strlen(value) && strlen(value) <= 18)
		r->next = atoll(value);
	return 0;
}

static const struct {
	const char *name;
	int (*take)(struct response *r, const char *value);
} fields[] = {
	{ "Content-Length", take_length },	 { "Transfer-Encoding", take_coding },
	{ "Content-Encoding", take_encoding },	 { "Connection", take_connection },
	{ AUTH_ANSWER_HEADER, take_credential }, { WIRE_NEXT_HEADER, take_next },
};

/* The empty line behind the header: what follows is decided. */
static int end_header(struct response *r)
{
	if (r->is_skipped) {
		r->phase = RESPONSE_STATUS;
		r->has_length = r->is_chunked = false;
		r->left = 0;
	} else if (r->is_chunked && r->has_length) {
		return refuse_response(r, "it has a length and chunks");
	} else if (r->status == 204 || r->status == 304) {
		r->phase = RESPONSE_DONE;
	} else if (r->is_chunked) {
		r->phase = RESPONSE_CHUNK_SIZE;
	} else if (r->has_length) {
		r->phase = r->left ? RESPONSE_BODY : RESPONSE_DONE;
	} else {
		r->closes = true;
		r->phase = RESPONSE_TO_END;
	}
	return 0;
}

static int take_field(struct response *r)
{
	char *colon = strchr(r->line, ':'), *value, *end;

	if (!*r->line)
		return end_header(r);
	if (!colon || colon == r->line || strcspn(r->line, " \t") < (size_t)(colon - r->line))
		return refuse_response(r, "a line of its header is none");
	*colon = '\0';
	value = colon + 1 + strspn(colon + 1, " \t");
	for (end = value + strlen(value); end > value && strchr(" \t", end[-1]);)
		*--end = '\0';
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strcasecmp(r->line, fields[i].name) == 0)
			return fields[i].take(r, value);
	return 0;
}

/* ---- chunks ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* "1f" or "1f;extension". */
static int take_chunk_size(struct response *r)
{
	const char *p = r->line;
	int64_t n = 0;

	for (; hex_digit(*p) >= 0; p++) {
		if (p - r->line >= 15)
			return refuse_response(r, "a chunk is too large");
		n = n * 16 + hex_digit(*p);
	}
	if (p == r->line || (*p && !strchr("; \t", *p)))
		return refuse_response(r, "the size of a chunk is no number");
	r->left = n;
	r->phase = n ? RESPONSE_CHUNK : RESPONSE_TRAILER;
	return 0;
}

static int take_line(struct response *r)
{
	switch (r->phase) {
	case RESPONSE_STATUS:
		return take_status(r);
	case RESPONSE_HEADER:
		return take_field(r);
	case RESPONSE_CHUNK_SIZE:
		return take_chunk_size(r);
	case RESPONSE_CHUNK_END:
		if (*r->line)
			return refuse_response(r, "a chunk is longer than its size");
		r->phase = RESPONSE_CHUNK_SIZE;
		return 0;
	default: /* trailers: nothing of them is needed */
		if (!*r->line)
			r->phase = RESPONSE_DONE;
		return 0;
	}
}

/* Adds to the line; at its end it is taken. Returns the bytes used, or an error. */
static ssize_t feed_line(struct response *r, const char *data, size_t size)
{
	const char *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size;
	int e;

	if (memchr(data, '\0', n))
		return refuse_response(r, "there is a zero byte in its header");
	r->head_size += n + (end != NULL);
	if (n >= sizeof(r->line) - r->line_size || r->head_size > RESPONSE_HEAD_MAX)
		return refuse_response(r, "its header is too long");
	memcpy(r->line + r->line_size, data, n);
	r->line_size += n;
	if (!end)
		return (ssize_t)n;
	if (r->line_size && r->line[r->line_size - 1] == '\r')
		r->line_size--;
	r->line[r->line_size] = '\0';
	r->line_size = 0;
	e = take_line(r);
	return e < 0 ? e : (ssize_t)n + 1;
}

static ssize_t feed_body(struct response *r, const char *data, size_t size)
{
	size_t n = r->phase != RESPONSE_TO_END && (uint64_t)r->left < size ? (size_t)r->left
									   : size;
	int e = http_buffer_add(r->body, data, n, r->body_max);

	if (e < 0)
		return e;
	r->head_size = 0; /* a header so long is allowed between chunks with data */
	if (r->phase == RESPONSE_TO_END)
		return (ssize_t)n;
	r->left -= (int64_t)n;
	if (!r->left)
		r->phase = r->phase == RESPONSE_CHUNK ? RESPONSE_CHUNK_END : RESPONSE_DONE;
	return (ssize_t)n;
}

int response_feed(struct response *r, const char *data, size_t size)
{
	while (size && r->phase != RESPONSE_DONE) {
		bool is_body = r->phase == RESPONSE_BODY || r->phase == RESPONSE_CHUNK ||
			       r->phase == RESPONSE_TO_END;
		ssize_t n = is_body ? feed_body(r, data, size) : feed_line(r, data, size);

		r->has_begun = true;
		if (n < 0)
			return (int)n;
		data += n;
		size -= (size_t)n;
	}
	if (size)
		r->closes = true;
	return r->phase == RESPONSE_DONE;
}

int response_end(struct response *r)
{
	if (r->phase == RESPONSE_TO_END)
		r->phase = RESPONSE_DONE;
	if (r->phase == RESPONSE_DONE)
		return 1;
	return refuse_response(r, r->has_begun ? "it ends in the middle"
					       : "the connection was closed without one");
}
