/* handle.c - the chain of one request: route, identity, body, the route's function, answer.
 * See api.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/routes.h"

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
	case -EOWNERDEAD: /* another controller leads (store_lead.h) */
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
	case 503:
		return "unavailable";
	default:
		return "internal";
	}
}

/* A message may quote what somebody sent; JSON takes only UTF-8. */
static json_t *encode_refusal(const struct call *c, const char *code, const char *message)
{
	const char *remedy = c->remedy ? c->remedy : "";
	json_t *j =
		json_pack("{s:s,s:s,s:s}", "code", code, "message", message, "remedy", remedy);

	if (j)
		return j;
	return json_pack("{s:s,s:s,s:s}", "code", code, "message",
			 "refused; what was sent is not UTF-8", "remedy", remedy);
}

/* Errors that are the caller's are told; our own are logged, and told without detail. */
static void answer_refusal(struct call *c, int r, const struct err *err)
{
	unsigned status = c->status >= 400 ? c->status : status_of(r);
	_cleanup_json_ json_t *doc = wire_new();
	const char *message = err->text;

	if (status >= 500 && status != 503) {
		log_line(LOG_ERR, "%s %s: %s", exchange_method(c->x), exchange_path(c->x),
			 err->text);
		c->api->counts.failures++;
		message = "the controller could not do it; its journal says why";
	}
	if (status == 401 || status == 403)
		c->api->counts.denied++;
	if (doc)
		json_object_set_new(
			doc, "error",
			encode_refusal(c, c->code ? c->code : code_of(status), message));
	call_answer_text(c->x, status, doc ? wire_format(doc) : NULL, NULL);
}

static int identify(struct call *c, const struct route *route, struct err *err)
{
	const char *header = exchange_header(c->x, AUTH_REQUEST_HEADER);
	_cleanup_free_ char *first = NULL;
	struct auth_text what;
	int r;

	if (route->role == ROLE_ANYONE)
		return 0;
	if (asprintf(&first, "%s %s", route->method, exchange_target(c->x)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	what.first = first;
	what.second = exchange_body(c->x, &what.second_size);
	r = auth_verify(c->api->c.config->munge_socket, header, what, &c->who, err);
	if (r == -ENOENT) {
		log_line(LOG_ERR, "%s", err->text);
		return call_refuse(c, 503, "munge",
				   "tell the operators: munged is not running");
	}
	if (r < 0)
		return call_refuse(c, 401, NULL,
				   "is munged running here with the same key, and are the "
				   "clocks in step?");
	if (route->role == ROLE_NODE && c->who.uid != 0) {
		err_set(err, 0, "only root of a node may speak for it; this is uid %u",
			c->who.uid);
		return call_refuse(c, 403, NULL, "");
	}
	if (route->role == ROLE_NODE)
		return 0;
	r = auth_user_name(c->who.uid, c->user, sizeof(c->user), err);
	if (r == -ENOENT)
		return call_refuse(c, 403, "unknown-user",
				   "the controller's machine must know the same users");
	c->is_operator = r >= 0 && config_is_operator(c->api->c.config, c->user);
	return r;
}

static int read_body(struct call *c, const struct route *route, struct err *err)
{
	size_t size;
	const char *text = exchange_body(c->x, &size);

	if (strcmp(route->method, "POST") != 0)
		return 0;
	/* A wish such as cancel needs no body. */
	if (size == 0 && strchr(route->pattern, '#'))
		return 0;
	return wire_parse(text, size, &c->body, err);
}

static int find_route(struct call *c, const struct route **ret, struct err *err)
{
	bool is_known;

	*ret = routes_find(exchange_method(c->x), exchange_path(c->x), &c->id, &is_known);
	if (*ret)
		return 0;
	err_set(err, 0, "%s %.200s: %s", exchange_method(c->x), exchange_path(c->x),
		is_known ? "not with this method" : "there is nothing here");
	return call_refuse(c, is_known ? 405 : 404, NULL, "");
}

static int take(struct call *c, struct err *err)
{
	const struct route *route;
	int r = find_route(c, &route, err);

	if (r >= 0)
		r = identify(c, route, err);
	if (r >= 0)
		r = read_body(c, route, err);
	return r < 0 ? r : route->fn(c, err);
}

/* Every answer says whose hours and days its times are to be shown in: the site's. */
static void answer_call(struct call *c)
{
	struct exchange_answer a = { .status = c->status ? c->status : 200, .type = c->type };

	if (c->answer)
		json_object_set_new(c->answer, "time_zone",
				    json_string(store_zone(c->api->c.store)));
	a.text = c->answer ? wire_format(c->answer) : TAKE_PTR(c->text);
	if (!a.text)
		a.status = 500;
	a.size = a.text ? strlen(a.text) : 0;
	exchange_answer(c->x, a);
}

void api_handle(void *ctx, struct exchange *x)
{
	struct call c = { .api = ctx, .x = x };
	struct err err = { "" };
	int r = take(&c, &err);

	if (r < 0)
		answer_refusal(&c, r, &err);
	else if (r != CALL_HELD)
		answer_call(&c);
	json_decref(c.body);
	json_decref(c.answer);
	free(c.text);
}
