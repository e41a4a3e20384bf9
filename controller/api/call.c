/* SPDX-License-Identifier: GPL-2.0-or-later */
/* call.c - helpers of routes: refuse a call, read its query, answer it; see call.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/call.h"
#include "controller/ledger/calendar.h"

int call_refuse(struct call *c, unsigned status, const char *code, const char *remedy)
{
	c->status = status;
	c->code = code;
	snprintf(c->remedy, sizeof(c->remedy), "%s", remedy ? remedy : "");
	return -EINVAL;
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

/* Signed answers are for nodes: the signature is over the credential of their request, too, so
 * that an answer cannot be replayed for another request. */
void call_answer(struct api *a, struct exchange *x, json_t *doc, const char *credential)
{
	size_t size;
	_cleanup_free_ char *text = wire_format_whole(doc, &size);
	char header[AUTH_HEADER_MAX] = "";
	struct err err;

	if (text && credential) {
		static const uint32_t agents = 0;
		struct auth_text what = { credential, text, size, &agents };
		int r = auth_sign(a->c.config->munge_socket, what, header, &err);

		if (r < 0) {
			log_limited(&a->munge_log, LOG_ERR, "an answer could not be signed: %s",
				    err.text);
			a->counts.failures++;
			call_answer_text(x, 503, strdup("{}"), NULL);
			return;
		}
	}
	answer_bytes(x, (struct exchange_answer){ .status = 200,
						  .size = size,
						  .text = TAKE_PTR(text),
						  .credential = credential ? header : NULL });
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
