/* handle.c - the chain of one request: route, identity, body, the route's function, answer.
 * See api.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/log.h"
#include "controller/api/answer.h"
#include "controller/api/element.h"
#include "controller/api/routes.h"

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

	*ret = routes_find(exchange_method(c->x), exchange_path(c->x), &c->named, &is_known);
	c->id = c->named.job;
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
	if (r >= 0 && c->named.index != JOB_ID_NO_INDEX)
		r = element_find(c, err);
	return r < 0 ? r : route->fn(c, err);
}

void api_handle(void *ctx, struct exchange *x)
{
	struct call c = { .api = ctx, .x = x, .named = { 0, JOB_ID_NO_INDEX } };
	struct err err = { "" };
	int r = take(&c, &err);

	answer_finish(&c, r, &err);
}
