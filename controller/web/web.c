/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web.c - the chain of a request for a page: whose session, which page, the answer with its headers; see web.h. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "common/auth/auth.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/api/api.h"
#include "controller/api/turns.h"
#include "controller/http/exchange.h"
#include "controller/http/server.h"
#include "controller/session/session.h"
#include "controller/web/files.h"
#include "controller/web/page.h"
#include "controller/web/render.h"
#include "controller/web/web.h"

#define COOKIE "reeve"
#define TICKET_COOKIE "reeve-ticket" /* of a browser that shows the page of entry */
#define TICKET_FIELD "ticket="
#define COOKIE_ATTRIBUTES "; Path=/web; HttpOnly; SameSite=Strict"
#define COOKIE_SECURE "; Secure" /* where the controller itself speaks https */
#define FORM_MAX 1024		 /* bytes of a POST */

/* Nothing from elsewhere, no script and no style in the page itself, no frame around it. */
#define SAFE_HEADERS                                                                           \
	"Content-Security-Policy: default-src 'none'; style-src 'self'; img-src 'self'; "      \
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'\n"                        \
	"Referrer-Policy: no-referrer\n"                                                       \
	"X-Frame-Options: DENY\n"                                                              \
	"Cross-Origin-Resource-Policy: same-origin\n"

struct web {
	struct api *api;
	struct session_table *sessions;
	struct render *render;
	/* Of a proxy that signs users in; NULL: none. */
	struct server *proxied;
	int proxied_fd;
	uint32_t proxy_uid;
	struct turns *turns;
};

/* A page that waits for its next turn; as struct page_reader. */
struct pending_page {
	struct exchange *x;
	unsigned uid, gid;
	bool is_proxied;
};

static void go_on(void *ctx, struct turns_request request, enum turns_why why);

int web_open(struct api *a, struct web **ret, struct err *err)
{
	_cleanup_(web_closep) struct web *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "out of memory");
	w->proxied_fd = -1;
	r = turns_open(a->c.event, go_on, w, &w->turns, err);
	if (r < 0)
		return r;
	w->sessions = session_table_new();
	if (!w->sessions)
		return err_set(err, -ENOMEM, "out of memory");
	r = render_open(&w->render, err);
	if (r < 0)
		return err_prefix(err, r, "pages");
	w->api = a;
	a->sessions = w->sessions;
	*ret = TAKE_PTR(w);
	return 0;
}

struct web *web_close(struct web *w)
{
	if (!w)
		return NULL;
	if (w->api)
		w->api->sessions = NULL;
	server_close(w->proxied);
	if (w->proxied_fd >= 0)
		close(w->proxied_fd);
	turns_close(w->turns); /* the servers have answered what waits */
	session_table_free(w->sessions);
	render_close(w->render);
	free(w);
	return NULL;
}

/* ---- whose request ---- */

static bool is_page(const struct exchange *x)
{
	const char *path = exchange_path(x);

	return !strcmp(path, "/") || !strcmp(path, "/web") || !strncmp(path, "/web/", 5) ||
	       !strcmp(path, "/favicon.ico");
}

/* The value of a cookie in "a=1; reeve=...". `name` ends with "=". */
static bool read_cookie(const struct exchange *x, const char *name,
			char ret[static SESSION_TOKEN_MAX])
{
	const char *p = exchange_header(x, "Cookie");

	for (; p; p = strchr(p, ';')) {
		size_t n;

		p += strspn(p, "; ");
		if (strncmp(p, name, strlen(name)) != 0)
			continue;
		p += strlen(name);
		n = strcspn(p, "; ");
		if (n == 0 || n >= SESSION_TOKEN_MAX)
			return false;
		memcpy(ret, p, n);
		ret[n] = '\0';
		return true;
	}
	return false;
}

static bool find_session(const struct web *w, const struct exchange *x,
			 struct session_user *ret)
{
	char token[SESSION_TOKEN_MAX];

	return read_cookie(x, COOKIE "=", token) &&
	       session_find(w->sessions, token, clock_ns(CLOCK_BOOTTIME), ret);
}

/* The user that the proxy names. Root is none: root of the cluster uses `reeve web`. */
static bool find_proxied_user(const struct web *w, const struct exchange *x,
			      struct session_user *ret)
{
	const char *name = exchange_header_once(x, w->api->c.config->web_user_header);
	struct err err;

	return name && *name && strlen(name) < REQUEST_NAME_MAX &&
	       auth_user_lookup(name, &ret->uid, &ret->gid, &err) >= 0 && ret->uid != 0;
}

/* ---- answers ---- */

static void answer_text(struct exchange *x, struct page_text *p, const char *more_headers)
{
	struct exchange_answer a = {
		.status = p->status, .type = p->type, .text = p->text, .size = p->size
	};

	if (asprintf(&a.headers, SAFE_HEADERS "%s", more_headers ? more_headers : "") < 0)
		a.headers = NULL;
	if (!a.text || !a.headers) {
		free(a.text);
		a.text = NULL;
		a.size = 0;
		a.status = 500;
	}
	exchange_answer(x, a);
}

static void send_redirect(struct exchange *x, const char *to, const char *cookie)
{
	struct page_text p = { .status = 303, .type = "text/plain", .text = strdup("") };
	char headers[256];

	snprintf(headers, sizeof(headers), "Location: %s\n%s", to, cookie ? cookie : "");
	answer_text(x, &p, headers);
}

static void answer_file(struct exchange *x, const struct web_file *f, const char *type)
{
	struct page_text p = { .status = 200,
			       .type = type,
			       .text = strndup(f->text, (size_t)(f->end - f->text)),
			       .size = (size_t)(f->end - f->text) };

	answer_text(x, &p, "Cache-Control: max-age=600\n");
}

static void answer_failure(struct web *w, struct exchange *x, const struct err *err)
{
	struct page_text p = { .status = 500,
			       .type = "text/plain; charset=utf-8",
			       .text = strdup("The controller failed to make this page; its "
					      "journal has the error.\n") };

	log_line(LOG_ERR, "%s %s: %s", exchange_method(x), exchange_path(x), err->text);
	w->api->counts.failures++;
	p.size = p.text ? strlen(p.text) : 0;
	answer_text(x, &p, NULL);
}

static void answer_entry(struct web *w, struct exchange *x, const char *why)
{
	const struct page_reader anyone = { .api = w->api, .render = w->render, .x = x };
	struct page_text p;
	struct err err;

	if (page_make_entry(&anyone, why, &p, &err) < 0)
		answer_failure(w, x, &err);
	else
		answer_text(x, &p, NULL);
}

/* ---- requests ---- */

static const char *secure_attribute(const struct web *w)
{
	return w->api->c.config->certificate ? COOKIE_SECURE : "";
}

/* The page that names the ticket's user and asks. Nothing is opened yet: another site can send a browser here, with a
 * ticket of its own user. */
static void ask_to_enter(struct web *w, struct exchange *x, const char *ticket)
{
	const struct page_reader anyone = { .api = w->api, .render = w->render, .x = x };
	char user[REQUEST_NAME_MAX], cookie[200];
	struct session_user who;
	struct page_text p;
	struct err err = { "" };
	int r = session_find_ticket(w->sessions, ticket, clock_ns(CLOCK_BOOTTIME), &who, &err);

	if (r >= 0)
		r = auth_user_name(who.uid, user, sizeof(user), &err);
	if (r < 0) {
		exchange_note_wrong(x);
		answer_entry(w, x, err.text);
		return;
	}
	if (page_make_question(&anyone, user, ticket, &p, &err) < 0) {
		answer_failure(w, x, &err);
		return;
	}
	snprintf(cookie, sizeof(cookie),
		 "Set-Cookie: " TICKET_COOKIE "=%s; Max-Age=%d" COOKIE_ATTRIBUTES "%s\n",
		 ticket, SESSION_TICKET_S, secure_attribute(w));
	answer_text(x, &p, cookie);
}

/* The ticket of the form. Only the page of entry gave the same one to this browser as a cookie, which no browser sends with
 * the form of another site. */
static bool read_ticket(const struct exchange *x, char ret[static SESSION_TOKEN_MAX])
{
	const size_t n_field = strlen(TICKET_FIELD);
	size_t size;
	const char *body = exchange_body(x, &size);

	return read_cookie(x, TICKET_COOKIE "=", ret) && size == n_field + strlen(ret) &&
	       !memcmp(body, TICKET_FIELD, n_field) &&
	       !memcmp(body + n_field, ret, strlen(ret));
}

static void open_session(struct web *w, struct exchange *x)
{
	char ticket[SESSION_TOKEN_MAX], token[SESSION_TOKEN_MAX], cookie[160];
	struct err err = { "this form was sent by another site, or too late" };

	if (!read_ticket(x, ticket) ||
	    session_redeem(w->sessions, ticket, clock_ns(CLOCK_BOOTTIME), token, &err) < 0) {
		exchange_note_wrong(x);
		answer_entry(w, x, err.text);
		return;
	}
	snprintf(cookie, sizeof(cookie),
		 "Set-Cookie: " COOKIE "=%s; Max-Age=%d" COOKIE_ATTRIBUTES "%s\n", token,
		 SESSION_S, secure_attribute(w));
	send_redirect(x, "/web/", cookie);
}

static void answer_enter(struct web *w, struct exchange *x)
{
	const char *ticket = exchange_query(x, "ticket");

	if (!strcmp(exchange_method(x), "POST"))
		open_session(w, x);
	else if (ticket)
		ask_to_enter(w, x, ticket);
	else
		answer_entry(w, x, NULL);
}

static void close_session(struct web *w, struct exchange *x)
{
	char token[SESSION_TOKEN_MAX];

	if (read_cookie(x, COOKIE "=", token))
		session_end(w->sessions, token);
	send_redirect(x, "/web/", "Set-Cookie: " COOKIE "=; Max-Age=0" COOKIE_ATTRIBUTES "\n");
}

static int take_turn(struct web *w, const struct page_reader *reader, unsigned count,
		     struct page_text *ret, struct err *err)
{
	int r;

	api_begin_turn(w->api, count);
	r = page_make(reader, ret, err);
	api_end_turn(w->api);
	return r;
}

static int wait_turn(struct web *w, const struct page_reader *reader, unsigned count,
		     struct err *err)
{
	_cleanup_free_ struct pending_page *p = malloc(sizeof(*p));
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	*p = (struct pending_page){ reader->x, reader->uid, reader->gid, reader->is_proxied };
	r = turns_add(w->turns, (struct turns_request){ p, count }, err);
	if (r >= 0)
		TAKE_PTR(p);
	return r;
}

/* `count`: the turns that it had. */
static void answer_turn(struct web *w, struct page_reader reader, unsigned count)
{
	struct exchange *x = reader.x;
	char user[REQUEST_NAME_MAX];
	struct page_text p;
	struct err err = { "" };
	STOPS_IN("pages");
	int r = auth_user_name(reader.uid, user, sizeof(user), &err);

	if (r < 0) {
		answer_entry(w, x, "the controller's machine no longer knows this user");
		return;
	}
	reader.user = user;
	reader.is_operator = config_is_operator(w->api->c.config, user);
	r = take_turn(w, &reader, count, &p, &err);
	if (r == -EAGAIN) {
		r = wait_turn(w, &reader, count + 1, &err);
		if (r >= 0)
			return;
	}
	if (r == -ENOENT) {
		r = page_make_entry(&reader, err.text, &p, &err);
		p.status = 404;
	}
	if (r < 0)
		answer_failure(w, x, &err);
	else
		answer_text(x, &p, NULL);
}

static void go_on(void *ctx, struct turns_request request, enum turns_why why)
{
	struct web *w = ctx;
	struct pending_page p = *(struct pending_page *)request.request;
	const struct page_reader reader = { .api = w->api,
					    .render = w->render,
					    .x = p.x,
					    .uid = p.uid,
					    .gid = p.gid,
					    .is_proxied = p.is_proxied };

	free(request.request);
	if (why == TURNS_NEXT)
		answer_turn(w, reader, request.count);
}

static void answer_page(struct web *w, struct page_reader reader)
{
	struct err err;

	if (!api_must_defer(w->api) || wait_turn(w, &reader, 0, &err) < 0)
		answer_turn(w, reader, 0);
}

static void refuse_rate(struct exchange *x)
{
	struct page_text p = { .status = 429,
			       .type = "text/plain",
			       .text = strdup("Too many requests from this address.\n") };

	p.size = p.text ? strlen(p.text) : 0;
	answer_text(x, &p, NULL);
}

/* `who` NULL: no user is signed in. */
static void admit_reader(struct exchange *x, const struct session_user *who)
{
	struct exchange_leave let = { .body_max = FORM_MAX };
	struct auth_said said = { .payload = "" };

	if (who) {
		said.who.uid = who->uid;
		said.who.gid = who->gid;
		let.said = &said;
	} else if (!exchange_may_ask(x) || !exchange_may_try(x)) {
		refuse_rate(x);
		return;
	}
	exchange_admit(x, &let);
}

static struct page_reader reader_of(struct web *w, struct exchange *x, struct session_user who)
{
	return (struct page_reader){
		.api = w->api, .render = w->render, .x = x, .uid = who.uid, .gid = who.gid
	};
}

/* Answers what is the same for every reader. */
static bool answer_common(struct exchange *x)
{
	const char *path = exchange_path(x);

	if (!strcmp(path, "/") || !strcmp(path, "/web"))
		send_redirect(x, "/web/", NULL);
	else if (!strcmp(path, "/web/style.css"))
		answer_file(x, web_file_find("style.css"), "text/css; charset=utf-8");
	else
		return false;
	return true;
}

void web_admit(void *ctx, struct exchange *x)
{
	struct web *w = ctx;
	struct session_user who;

	if (!is_page(x))
		api_admit(w->api, x);
	else
		admit_reader(x, find_session(w, x, &who) ? &who : NULL);
}

void web_handle(void *ctx, struct exchange *x)
{
	struct web *w = ctx;
	const char *path = exchange_path(x);
	struct session_user who;

	if (!is_page(x))
		api_handle(w->api, x);
	else if (answer_common(x))
		return;
	else if (!strcmp(path, "/web/enter"))
		answer_enter(w, x);
	else if (!strcmp(path, "/web/logout") && !strcmp(exchange_method(x), "POST"))
		close_session(w, x);
	else if (!find_session(w, x, &who))
		answer_entry(w, x, NULL);
	else
		answer_page(w, reader_of(w, x, who));
}

/* ---- the proxy's socket ---- */

#define PROXY_CONNECTIONS 1024

static void admit_proxied(void *ctx, struct exchange *x)
{
	struct session_user who;

	admit_reader(x, find_proxied_user(ctx, x, &who) ? &who : NULL);
}

/* Pages alone: the API takes no proxy's word. */
static void handle_proxied(void *ctx, struct exchange *x)
{
	struct web *w = ctx;
	struct session_user who;
	char why[200];

	if (answer_common(x))
		return;
	if (find_proxied_user(w, x, &who)) {
		struct page_reader reader = reader_of(w, x, who);

		reader.is_proxied = true;
		answer_page(w, reader);
		return;
	}
	snprintf(
		why, sizeof(why),
		"The proxy named no user of this cluster: %s must be there once, with the name "
		"of a user other than root whom the controller's machine knows.",
		w->api->c.config->web_user_header);
	answer_entry(w, x, why);
}

static int open_proxied(struct web *w, int passed_fd, struct err *err)
{
	if (passed_fd < 0)
		return server_listen_local(w->api->c.config->web_socket, &w->proxied_fd, err);
	w->proxied_fd = fcntl(passed_fd, F_DUPFD_CLOEXEC, 3);
	return w->proxied_fd < 0 ? err_set(err, -errno, "the socket from systemd: %m") : 0;
}

int web_listen_proxied(struct web *w, struct sd_event *event, int passed_fd, struct err *err)
{
	const struct config *c = w->api->c.config;
	struct server_config s = { .event = event,
				   .max_connections = PROXY_CONNECTIONS,
				   .request_timeout_s = c->request_timeout_s,
				   .only_uid = &w->proxy_uid,
				   .on_headers = admit_proxied,
				   .on_request = handle_proxied,
				   .ctx = w };
	uint32_t gid;
	int r;

	if (!c->web_socket)
		return 0;
	r = auth_user_lookup(c->web_socket_user, &w->proxy_uid, &gid, err);
	if (r >= 0)
		r = open_proxied(w, passed_fd, err);
	if (r < 0)
		return err_prefix(err, r, "WebSocket");
	s.listen_fd = w->proxied_fd;
	return server_open(&s, &w->proxied, err);
}
