/* SPDX-License-Identifier: GPL-2.0-or-later */
/* exchange.c - the life of one request: request line, headers, body, handler, answer.
 * libmicrohttpd calls exchange_access() again and again as data arrives; enum exchange_state
 * says where a request is. A request that waits for its answer (a long poll) is suspended,
 * which takes it out of the epoll set. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <systemd/sd-event.h>
#include "common/auth/auth.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/time_units.h"
#include "controller/http/inflate.h"
#include "controller/http/server_impl.h"

#define LARGE_BODY (128 << 10) /* bytes; freeing more is followed by malloc_trim() */
#define REFUSED_BODY_MAX (64 << 10)

enum exchange_state {
	EXCHANGE_HEADERS,   /* the request line is known */
	EXCHANGE_ADMITTING, /* suspended until exchange_admit() or exchange_answer() */
	EXCHANGE_ADMITTED,  /* or answered; libmicrohttpd has not called again yet */
	EXCHANGE_BODY,
	EXCHANGE_REFUSED,   /* answered; the rest of a small body is read and discarded */
	EXCHANGE_HANDLED,   /* inside the handler's call */
	EXCHANGE_SUSPENDED, /* waits for exchange_answer() */
	EXCHANGE_READY,	    /* answered, the answer not yet queued */
	EXCHANGE_QUEUED,
};

struct exchange {
	struct exchange *next, *previous; /* in server.suspended */
	struct server *server;
	struct MHD_Connection *mhd;
	enum exchange_state state;
	char *target, *path, *body;
	const char *method;
	size_t size, room;
	size_t body_max, discarded;
	bool is_gzip, is_known, is_person, keeps_body, is_held, is_answered;
	struct peer *user;     /* the connection's, with is_known */
	struct auth_said said; /* with is_known */
	struct exchange_answer answer;
	char credential[AUTH_HEADER_MAX];
};

/* Called with the raw URI before libmicrohttpd decodes it: the signature is over the URI as
 * sent. NULL: out of memory, and exchange_access() drops the request. */
void *exchange_begin(void *cls, const char *uri, struct MHD_Connection *mhd)
{
	struct exchange *x = calloc(1, sizeof(*x));

	connection_set_phase(cls, mhd, PHASE_READ);
	if (!x)
		return NULL;
	x->server = cls;
	x->mhd = mhd;
	x->target = strdup(uri);
	return x;
}

/* Adds to the memory of all bodies, of users' bodies and of this user's; negative: freed. */
static void count_body(struct exchange *x, int64_t bytes)
{
	x->server->body_bytes += bytes;
	if (x->is_person)
		x->server->people_bytes += bytes;
	if (x->user && bytes)
		x->user->body_bytes += bytes;
}

static bool has_room(const struct exchange *x, int64_t bytes)
{
	struct fair_use use = server_bodies;

	if (x->server->body_bytes + bytes > SERVER_ALL_BODIES_MAX)
		return false;
	use.all_used = x->server->people_bytes;
	use.used = x->is_person ? x->user->body_bytes : 0;
	return !x->is_person || fair_has_room(&use, bytes);
}

static void forget_body(struct exchange *x)
{
	x->server->has_freed |= x->room >= LARGE_BODY;
	count_body(x, -(int64_t)x->room);
	free(x->body);
	x->body = NULL;
	x->size = x->room = 0;
}

void exchange_end(void *cls, struct MHD_Connection *mhd, void **ctx,
		  enum MHD_RequestTerminationCode why)
{
	struct exchange *x = *ctx;

	(void)why;
	connection_set_phase(cls, mhd, PHASE_IDLE);
	if (!x)
		return;
	forget_body(x);
	free(x->answer.text);
	free(x->answer.headers);
	free(x->path);
	free(x->target);
	free(x);
	*ctx = NULL;
}

/* Cuts up `lines`. A header of the same name as one that is set already replaces it. */
static void add_headers(struct MHD_Response *response, char *lines)
{
	char *line, *value;

	while (lines && (line = strsep(&lines, "\n")))
		if ((value = strstr(line, ": "))) {
			const char *before;

			*value = '\0';
			before = MHD_get_response_header(response, line);
			if (before)
				MHD_del_response_header(response, line, before);
			MHD_add_response_header(response, line, value + 2);
		}
}

static enum MHD_Result queue_text(struct exchange *x, unsigned status, const char *type,
				  char *text, size_t size)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(size, text, MHD_RESPMEM_MUST_FREE);
	enum MHD_Result r;

	if (!response) {
		free(text);
		return MHD_NO;
	}
	MHD_add_response_header(response, "Content-Type", type);
	MHD_add_response_header(response, "Cache-Control", "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (*x->credential)
		MHD_add_response_header(response, AUTH_ANSWER_HEADER, x->credential);
	add_headers(response, x->answer.headers);
	r = MHD_queue_response(x->mhd, status, response);
	MHD_destroy_response(response);
	x->state = EXCHANGE_QUEUED;
	connection_set_phase(x->server, x->mhd, PHASE_WRITE);
	return r;
}

static enum MHD_Result queue_answer(struct exchange *x)
{
	struct exchange_answer *a = &x->answer;

	forget_body(x);
	return queue_text(x, a->status, a->type ? a->type : "application/json",
			  TAKE_PTR(a->text), a->size);
}

/* A refusal by the server itself, not by its handler. */
static enum MHD_Result refuse_exchange(struct exchange *x, unsigned status, const char *code,
				       const char *message)
{
	struct exchange_answer a = { .status = status };
	int n = asprintf(
		&a.text,
		"{\"schema\":\"reeve/1\",\"error\":{\"code\":\"%s\",\"message\":\"%s\","
		"\"remedy\":\"\"}}\n",
		code, message);

	x->server->counts.refused++;
	if (n < 0)
		return MHD_NO;
	a.size = (size_t)n;
	exchange_answer(x, a);
	return MHD_YES;
}

/* Content-Length; more than 18 digits are "too large" without being parsed. */
static int64_t declared_length(struct exchange *x)
{
	const char *length = exchange_header(x, "Content-Length");

	return !length ? 0 : strlen(length) > 18 ? INT64_MAX : atoll(length);
}

static enum MHD_Result check_headers(struct exchange *x)
{
	const char *encoding = exchange_header(x, "Content-Encoding");

	if (encoding && strcmp(encoding, "gzip") != 0 && strcmp(encoding, "identity") != 0)
		return refuse_exchange(x, 415, "encoding", "the only Content-Encoding is gzip");
	x->is_gzip = encoding && strcmp(encoding, "gzip") == 0;
	if (x->server->is_closing)
		exchange_answer(x, (struct exchange_answer){ .status = 503 });
	else
		x->server->config.on_headers(x->server->config.ctx, x);
	return MHD_YES;
}

static enum MHD_Result refuse_length(struct exchange *x)
{
	char text[80];

	snprintf(text, sizeof(text), "the body is larger than %zu bytes", x->body_max);
	return refuse_exchange(x, 413, "too-large", text);
}

/* The headers were admitted, or answered. */
static enum MHD_Result leave_headers(struct exchange *x)
{
	const int64_t length = declared_length(x);

	if (!x->is_answered && length > (int64_t)x->body_max && refuse_length(x) != MHD_YES)
		return MHD_NO;
	if (!x->is_answered) {
		x->state = EXCHANGE_BODY;
		return MHD_YES;
	}
	/* Closing while the client still sends would reset the connection, and the answer would
	 * be lost: a small body is read and discarded first. */
	if (length > REFUSED_BODY_MAX)
		return queue_answer(x);
	x->state = EXCHANGE_REFUSED;
	return MHD_YES;
}

static void suspend_exchange(struct exchange *x, enum exchange_state state)
{
	struct server *s = x->server;

	x->state = state;
	x->previous = NULL;
	x->next = s->suspended;
	if (x->next)
		x->next->previous = x;
	s->suspended = x;
	MHD_suspend_connection(x->mhd);
}

/* What the client does not cause is not counted against its time. */
static enum MHD_Result wait_admission(struct exchange *x)
{
	connection_set_phase(x->server, x->mhd, PHASE_HANDLE);
	suspend_exchange(x, EXCHANGE_ADMITTING);
	return MHD_YES;
}

static enum MHD_Result read_headers(struct exchange *x, const char *method, const char *url)
{
	enum MHD_Result r = MHD_YES;

	x->method = strcmp(method, "POST") == 0 ? "POST" : "GET";
	x->path = strdup(url);
	if (!x->path || !x->target)
		return MHD_NO;
	if (strcmp(method, x->method) != 0)
		r = refuse_exchange(x, 405, "method", "only GET and POST are understood");
	else
		r = check_headers(x);
	if (r != MHD_YES)
		return r;
	return x->is_held ? wait_admission(x) : leave_headers(x);
}

static enum MHD_Result discard_data(struct exchange *x, size_t *size)
{
	if (*size == 0)
		return queue_answer(x);
	x->discarded += *size;
	*size = 0;
	return x->discarded > REFUSED_BODY_MAX ? MHD_NO : MHD_YES;
}

/* Room for `size` more bytes and a NUL. -EMSGSIZE: more than this route accepts; -ENOBUFS: the
 * server or the user has too much in memory already. */
static int make_room(struct exchange *x, size_t size)
{
	size_t larger = x->room ? x->room * 2 : 8192;
	char *p;

	if (x->size + size > x->body_max)
		return -EMSGSIZE;
	if (x->size + size < x->room)
		return 0;
	while (larger <= x->size + size)
		larger *= 2;
	if (!has_room(x, (int64_t)(larger - x->room)))
		return -ENOBUFS;
	p = realloc(x->body, larger);
	if (!p)
		return -ENOMEM;
	count_body(x, (int64_t)(larger - x->room));
	x->body = p;
	x->room = larger;
	return 0;
}

/* Appends received data to the body. Without room the connection is closed: in the middle of
 * the body libmicrohttpd cannot queue an answer. */
static enum MHD_Result append_data(struct exchange *x, const char *data, size_t *size)
{
	int r = make_room(x, *size);

	if (r < 0) {
		x->server->counts.refused++;
		if (r != -EMSGSIZE)
			server_note_shed(x->server, x->is_person ? x->user : NULL,
					 "no memory for its body");
		return MHD_NO;
	}
	connection_note_body(x->mhd, *size);
	memcpy(x->body + x->size, data, *size);
	x->size += *size;
	x->body[x->size] = '\0';
	*size = 0;
	return MHD_YES;
}

static int inflate_whole(struct exchange *x, struct err *err)
{
	struct inflate_text t;
	int r = inflate_body(x->body ? x->body : "", x->size, x->body_max, &t, err);

	if (r < 0)
		return r;
	forget_body(x);
	x->body = t.data;
	x->size = x->room = t.size;
	count_body(x, (int64_t)t.size);
	return 0;
}

/* libmicrohttpd has no thread of its own here that would notice a resumed connection: the timer
 * runs it again at once. */
static void note_resume(struct server_lane *l)
{
	struct server *s = l ? l->server : NULL;

	if (!l || l->has_resumed)
		return;
	l->has_resumed = true;
	l->next = s->resumed;
	s->resumed = l;
	sd_event_source_set_time_relative(s->resume, 0);
	sd_event_source_set_enabled(s->resume, SD_EVENT_ONESHOT);
}

static void resume_exchange(struct exchange *x, enum exchange_state state)
{
	if (x->previous)
		x->previous->next = x->next;
	else
		x->server->suspended = x->next;
	if (x->next)
		x->next->previous = x->previous;
	x->state = state;
	MHD_resume_connection(x->mhd);
	note_resume(connection_lane(x->mhd));
}

/* The headers are admitted or answered: within the handler's call, or after it. */
static void end_admission(struct exchange *x)
{
	x->is_held = false;
	if (x->state != EXCHANGE_ADMITTING)
		return;
	connection_set_phase(x->server, x->mhd, PHASE_READ);
	resume_exchange(x, EXCHANGE_ADMITTED);
}

void exchange_hold(struct exchange *x)
{
	x->is_held = true;
}

/* The body is complete. A handler that has not answered when it returns answers later. */
static enum MHD_Result call_handler(struct exchange *x)
{
	struct err err = { "" };
	int r = x->is_gzip ? inflate_whole(x, &err) : 0;

	if (r < 0) {
		refuse_exchange(x, r == -EMSGSIZE ? 413 : 400,
				r == -EMSGSIZE ? "too-large" : "gzip", err.text);
		return queue_answer(x);
	}
	x->server->counts.requests++;
	x->state = EXCHANGE_HANDLED;
	connection_set_phase(x->server, x->mhd, PHASE_HANDLE);
	if (x->server->is_closing)
		exchange_answer(x, (struct exchange_answer){ .status = 503 });
	else
		x->server->config.on_request(x->server->config.ctx, x);
	if (x->state == EXCHANGE_READY)
		return queue_answer(x);
	exchange_leave_body(x);
	suspend_exchange(x, EXCHANGE_SUSPENDED);
	return MHD_YES;
}

enum MHD_Result exchange_access(void *cls, struct MHD_Connection *mhd, const char *url,
				const char *method, const char *version, const char *data,
				size_t *size, void **ctx)
{
	struct exchange *x = *ctx;

	(void)cls;
	(void)mhd;
	(void)version;
	if (!x)
		return MHD_NO;
	switch (x->state) {
	case EXCHANGE_HEADERS:
		return read_headers(x, method, url);
	case EXCHANGE_ADMITTED:
		return leave_headers(x);
	case EXCHANGE_BODY:
		return *size ? append_data(x, data, size) : call_handler(x);
	case EXCHANGE_REFUSED:
		return discard_data(x, size);
	case EXCHANGE_READY:
		return queue_answer(x);
	case EXCHANGE_QUEUED:
		*size = 0;
		return MHD_YES;
	default:
		return MHD_NO;
	}
}

void exchange_answer(struct exchange *x, struct exchange_answer a)
{
	if (a.credential)
		snprintf(x->credential, sizeof(x->credential), "%s", a.credential);
	a.credential = NULL;
	x->answer = a;
	x->is_answered = true;
	if (x->state == EXCHANGE_SUSPENDED)
		resume_exchange(x, EXCHANGE_READY);
	else if (x->state == EXCHANGE_HANDLED)
		x->state = EXCHANGE_READY;
	else
		end_admission(x);
}

void exchange_drop_suspended(struct server *s)
{
	while (s->suspended)
		exchange_answer(s->suspended, (struct exchange_answer){ .status = 503 });
}

void exchange_admit(struct exchange *x, const struct exchange_leave *leave)
{
	const char *why = NULL;

	if (leave->said)
		why = connection_know(x->server, x->mhd, leave->said->who.uid);
	if (why) {
		refuse_exchange(x, leave->said->who.uid ? 429 : 503, "too-many", why);
		return;
	}
	x->body_max = leave->body_max < SERVER_BODY_MAX ? leave->body_max : SERVER_BODY_MAX;
	if (leave->said) {
		x->said = *leave->said;
		x->user = connection_user(x->mhd);
		x->is_known = true;
		x->is_person = x->user && x->said.who.uid != 0;
	}
	end_admission(x);
}

/* Decoding a wrong credential costs munged and the controller some 0.2 ms: 200 a second from
 * one address, 800 from all, with bursts of 400 and 1600. Requests without a credential (ask)
 * read the ledger: 10 a second from one address, 40 from all. */
static const struct peer_rate wrong_rate = { S_NS / 200, 400 },
			      all_wrong_rate = { S_NS / 800, 1600 },
			      ask_rate = { S_NS / 10, 200 }, all_ask_rate = { S_NS / 40, 400 };

bool exchange_may_try(const struct exchange *x)
{
	const struct peer *a = connection_address(x->mhd);
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (connection_user(x->mhd) || !a)
		return true;
	return peer_has_credit(a->credit_ns, wrong_rate, now_ns) &&
	       (a->is_node || peer_has_credit(x->server->wrong_ns, all_wrong_rate, now_ns));
}

void exchange_note_wrong(struct exchange *x)
{
	struct peer *a = connection_address(x->mhd);
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (a)
		peer_charge(&a->credit_ns, wrong_rate, now_ns);
	peer_charge(&x->server->wrong_ns, all_wrong_rate, now_ns);
}

bool exchange_may_ask(struct exchange *x)
{
	struct peer *a = connection_address(x->mhd);
	int64_t now_ns = clock_ns(CLOCK_MONOTONIC);

	if (!a || !peer_has_credit(a->ask_ns, ask_rate, now_ns) ||
	    !peer_has_credit(x->server->open_ns, all_ask_rate, now_ns))
		return false;
	peer_charge(&a->ask_ns, ask_rate, now_ns);
	peer_charge(&x->server->open_ns, all_ask_rate, now_ns);
	return true;
}

void exchange_mark_node(struct exchange *x)
{
	struct peer *a = connection_address(x->mhd);

	if (a)
		peer_mark_node(a);
}

void exchange_note_shed(struct exchange *x, const char *why)
{
	x->server->counts.refused++;
	server_note_shed(x->server, x->is_person ? x->user : connection_address(x->mhd), why);
}

const struct auth_said *exchange_said(const struct exchange *x)
{
	return x->is_known ? &x->said : NULL;
}

void exchange_keep_body(struct exchange *x, bool keeps)
{
	x->keeps_body = keeps;
}

void exchange_leave_body(struct exchange *x)
{
	if (!x->keeps_body)
		forget_body(x);
}

const char *exchange_method(const struct exchange *x)
{
	return x->method;
}

const char *exchange_path(const struct exchange *x)
{
	return x->path;
}

const char *exchange_target(const struct exchange *x)
{
	return x->target;
}

const char *exchange_header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->mhd, MHD_HEADER_KIND, name);
}

struct header_count {
	const char *name;
	int n;
};

static enum MHD_Result count_header(void *cls, enum MHD_ValueKind kind, const char *name,
				    const char *value)
{
	struct header_count *count = cls;

	(void)kind;
	(void)value;
	count->n += strcasecmp(name, count->name) == 0;
	return MHD_YES;
}

const char *exchange_header_once(const struct exchange *x, const char *name)
{
	struct header_count count = { name, 0 };

	MHD_get_connection_values(x->mhd, MHD_HEADER_KIND, count_header, &count);
	return count.n == 1 ? exchange_header(x, name) : NULL;
}

const char *exchange_query(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->mhd, MHD_GET_ARGUMENT_KIND, name);
}

const char *exchange_body(const struct exchange *x, size_t *ret_size)
{
	*ret_size = x->size;
	return x->body ? x->body : "";
}
