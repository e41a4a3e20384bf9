/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.c - helpers of routes: refuse a call, read its query, answer it; see call.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/call.h"
#include "controller/http/workers.h"
#include "controller/ledger/calendar.h"

int call_refuse(struct call *c, unsigned status, const char *code, const char *remedy)
{
	c->status = status;
	c->code = code;
	snprintf(c->remedy, sizeof(c->remedy), "%s", remedy ? remedy : "");
	return -EINVAL;
}

int call_check_operator(struct call *c, const char *message, const char *remedy,
			struct err *err)
{
	if (c->is_operator)
		return 0;
	err_set(err, 0, "%s", message);
	return call_refuse(c, 403, NULL, remedy);
}

int call_open_list(struct call *c, const char *key, json_t **ret_list, struct err *err)
{
	c->answer = wire_new();
	*ret_list = json_array();
	if (!c->answer || json_object_set_new(c->answer, key, *ret_list) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static void answer_bytes(struct exchange *x, struct exchange_answer a)
{
	if (!a.text)
		a.status = 500;
	exchange_answer(x, a);
}

void call_answer_text(struct exchange *x, unsigned status, char *text, const char *credential)
{
	answer_bytes(x, (struct exchange_answer){ .status = status,
						  .text = text,
						  .size = text ? strlen(text) : 0,
						  .credential = credential });
}

/* ---- signed answers ---- */

/* Signed answers are for nodes: the signature is over the credential of their request, too, so
 * that an answer cannot be replayed for another request. A worker has munged sign it. */
struct signing {
	struct worker_task task;
	struct api *api;
	struct exchange *x;
	char *text;
	size_t size;
	char socket[AUTH_SOCKET_MAX], credential[AUTH_HEADER_MAX], header[AUTH_HEADER_MAX];
	int r;
	struct err err;
};

static void sign_answer(struct worker_task *t)
{
	static const uint32_t agents = 0;
	struct signing *s = (struct signing *)t;
	const struct auth_text what = { s->credential, s->text, s->size, &agents };

	s->r = auth_sign(s->socket, what, s->header, &s->err);
}

static void send_signed(struct worker_task *t, bool has_worked)
{
	struct signing *s = (struct signing *)t;

	if (has_worked && s->r >= 0) {
		exchange_answer(s->x, (struct exchange_answer){ .status = 200,
								.size = s->size,
								.text = TAKE_PTR(s->text),
								.credential = s->header });
	} else {
		if (has_worked) {
			log_limited(&s->api->munge_log, LOG_ERR,
				    "an answer could not be signed: %s", s->err.text);
			s->api->counts.failures++;
		}
		call_answer_text(s->x, 503, strdup("{}"), NULL);
	}
	free(s->text);
	free(s);
}

void call_answer(struct api *a, struct exchange *x, json_t *doc, const char *credential)
{
	size_t size;
	char *text = wire_format_whole(doc, &size);
	struct signing *s = text && credential ? calloc(1, sizeof(*s)) : NULL;

	if (!s) {
		if (credential)
			free(TAKE_PTR(text));
		answer_bytes(x, (struct exchange_answer){
					.status = 200, .size = text ? size : 0, .text = text });
		return;
	}
	s->task = (struct worker_task){ .work = sign_answer, .done = send_signed };
	s->api = a;
	s->x = x;
	s->text = text;
	s->size = size;
	api_munge_socket(a, s->socket);
	snprintf(s->credential, sizeof(s->credential), "%s", credential);
	workers_add(a->workers, &s->task);
}

const char *call_query_text(const struct call *c, const char *name)
{
	const struct call_query *q = c->query;
	const char *text;

	while (q && q->name && strcmp(q->name, name) != 0)
		q++;
	text = q && q->name ? q->value : exchange_query(c->x, name);
	return text && *text ? text : NULL;
}

int call_query_day(const struct call *c, const char *name, int64_t def, int64_t *ret,
		   struct err *err)
{
	const char *text = call_query_text(c, name);

	*ret = def;
	if (text && calendar_parse_day(text, ret) < 0)
		return err_set(err, -EINVAL, "%s=%.40s is not a day like 2026-11-21", name,
			       text);
	return 0;
}

int call_query_int(const struct call *c, const char *name, struct wire_int range, int64_t *ret,
		   struct err *err)
{
	const char *text = call_query_text(c, name);
	char *end;
	long long n;

	if (!text) {
		*ret = *range.def;
		return 0;
	}
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || end == text || *end || n < range.min || n > range.max)
		return err_set(err, -EINVAL, "%s=%.40s is not a whole number from %lld to %lld",
			       name, text, (long long)range.min, (long long)range.max);
	*ret = n;
	return 0;
}
