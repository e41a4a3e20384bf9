/* SPDX-License-Identifier: GPL-2.0-or-later */
/* answer.c - sends the HTTP status and the document, or the refusal, of a finished call; see
 * answer.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/log.h"
#include "controller/api/answer.h"
#include "controller/http/workers.h"

/* The status of an error for which the route set none. */
static unsigned status_of(int r)
{
	switch (r) {
	case -EINVAL:
		return 400;
	case -EACCES:
	case -EPERM:
		return 403;
	case -ENOENT:
		return 404;
	case -EBUSY:
		return 409;
	case -EOWNERDEAD: /* another controller leads (ledger/lead.h) */
		return 503;
	default:
		return 500;
	}
}

static const char *code_of(unsigned status)
{
	switch (status) {
	case 400:
		return "bad-request";
	case 401:
		return "not-authenticated";
	case 403:
		return "not-permitted";
	case 404:
		return "not-found";
	case 405:
		return "method";
	case 409:
		return "conflict";
	case 413:
		return "too-large";
	case 429:
		return "too-many";
	case 503:
		return "unavailable";
	default:
		return "internal";
	}
}

/* A message may quote what the peer sent, cut within a UTF-8 character: wire_string() mends it.
 */
static json_t *encode_refusal(const struct call *c, const char *code, const char *message)
{
	return json_pack("{s:s,s:o,s:o}", "code", code, "message", wire_string(message),
			 "remedy", wire_string(c->remedy));
}

/* The caller's errors are answered in words; the controller's own are logged, and answered
 * without detail. */
static void answer_refusal(struct call *c, int r, const struct err *err)
{
	unsigned status = c->status >= 400 ? c->status : status_of(r);
	_cleanup_doc_ struct doc doc = doc_message();
	_cleanup_json_ json_t *answer = NULL;
	const char *message = err->text;

	if (status >= 500 && status != 503) {
		log_line(LOG_ERR, "%s %s: %s", exchange_method(c->x), exchange_path(c->x),
			 err->text);
		c->api->counts.failures++;
		message = "the controller failed to do this; its journal has the error";
	}
	if (status >= 500 && exchange_said(c->x) && exchange_said(c->x)->who.uid == 0)
		exchange_note_shed(c->x, "its request failed");
	if (status == 401 || status == 403)
		c->api->counts.denied++;
	doc_set(&doc, "error", encode_refusal(c, c->code ? c->code : code_of(status), message));
	answer = doc_take(&doc);
	call_answer_text(c->x, status, answer ? wire_format(answer) : NULL, NULL);
}

/* ---- a large document ---- */

#define LARGE_ARRAY 64

/* A document that a worker writes as text, which takes as long as making it: lists of nodes, and of jobs that are not packed. */
struct writing {
	struct worker_task task;
	struct exchange *x;
	struct exchange_answer answer;
	json_t *doc;
};

static void write_document(struct worker_task *t)
{
	struct writing *w = (struct writing *)t;

	w->answer.text = wire_format_whole(w->doc, &w->answer.size);
}

static void send_written(struct worker_task *t, bool has_worked)
{
	struct writing *w = (struct writing *)t;

	if (!w->answer.text)
		w->answer.status = has_worked ? 500 : 503;
	exchange_answer(w->x, w->answer);
	json_decref(w->doc);
	free(w);
}

static bool is_large(json_t *doc)
{
	const char *key;
	json_t *value;

	json_object_foreach(doc, key, value)
	{
		if (json_array_size(value) >= LARGE_ARRAY)
			return true;
	}
	return false;
}

/* false: it is to be written here. Becomes the owner of the answer's headers and of the document. */
static bool write_by_worker(struct call *c, const struct exchange_answer *a)
{
	struct writing *w = is_large(c->answer) ? malloc(sizeof(*w)) : NULL;

	if (!w)
		return false;
	*w = (struct writing){ .task = { .work = write_document, .done = send_written },
			       .x = c->x,
			       .answer = *a,
			       .doc = TAKE_PTR(c->answer) };
	w->answer.headers = TAKE_PTR(c->headers);
	workers_add(c->api->workers, &w->task);
	return true;
}

/* Adds the site's time zone, in which clients show the times of the answer. */
static int add_zone(struct call *c)
{
	return json_object_set_new(c->answer, "time_zone",
				   json_string(store_zone(c->api->c.store)));
}

static void answer_call(struct call *c)
{
	struct exchange_answer a = { .status = c->status ? c->status : 200, .type = c->type };

	if (!c->answer) {
		a.text = TAKE_PTR(c->text);
		a.size = a.text ? strlen(a.text) : 0;
	} else if (add_zone(c) == 0) {
		if (write_by_worker(c, &a))
			return;
		a.text = wire_format_whole(c->answer, &a.size);
	}
	if (!a.text)
		a.status = 500;
	a.headers = TAKE_PTR(c->headers);
	exchange_answer(c->x, a);
}

/* Before the answer, with which the exchange may end. Without the query: that of a page may hold a ticket. */
static void log_call(const struct call *c, int r, const struct err *err)
{
	const char *target = exchange_target(c->x);

	log_line(LOG_DEBUG, "%s %.*s%s%s: %s%s", exchange_method(c->x),
		 (int)strcspn(target, "?"), target, *c->user ? " of " : "", c->user,
		 r == CALL_DEFERRED ? "waits"
		 : r < 0	    ? "refused: "
				    : "answered",
		 r < 0 ? err->text : "");
}

void answer_finish(struct call *c, int r, const struct err *err)
{
	log_call(c, r, err);
	if (r < 0)
		answer_refusal(c, r, err);
	else if (r != CALL_DEFERRED)
		answer_call(c);
	json_decref(c->body);
	json_decref(c->answer);
	free(c->text);
	free(c->headers);
	c->body = c->answer = NULL;
	c->text = c->headers = NULL;
}
