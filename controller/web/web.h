/* SPDX-License-Identifier: GPL-2.0-or-later */
/* web - the pages, for people with a browser: /web/... of the controller's own server.
 *
 * A page has no figure of its own: it fetches documents of the API with the rights of its user, makes XML of
 * them (xml.h) and HTML by a stylesheet (render.h, templates/). "PAGE.json" is those documents, "PAGE.csv"
 * the rows of the first. Nothing is loaded from elsewhere, and every page works without a script.
 *
 * Who may read: GET /web/enter?ticket=... shows a page that names the ticket's user, with a button. Its POST opens a session
 * (controller/session) and sets the session's cookie: HttpOnly, SameSite=Strict, for /web alone. A POST from another site lacks
 * the cookie of that page, and opens nothing. The API itself knows no cookie. POST /web/logout ends it.
 */
#pragma once
#include "common/cleanup.h"

struct api;
struct err;
struct exchange;
struct sd_event;
struct web;

/* Gives the api its table of sessions. -EINVAL: a stylesheet is wrong. */
int web_open(struct api *a, struct web **ret, struct err *err);
struct web *web_close(struct web *w);
DEFINE_CLEANUP(struct web *, web_close)
/* Serves the pages at WebSocket= too, if there is one, to a proxy that has signed its users in (an SSO, Open
 * OnDemand): processes of WebSocketUser= alone may connect, and each request names its user in WebUserHeader=.
 * Such a reader has no cookie and cannot leave; the API is not there. `passed_fd`: a socket that is open already,
 * which the caller keeps; -1: none. */
int web_listen_proxied(struct web *w, struct sd_event *event, int passed_fd, struct err *err);

/* The server's callbacks: pages are answered here, all else by the api. ctx is the web. */
void web_admit(void *ctx, struct exchange *x);
void web_handle(void *ctx, struct exchange *x);
