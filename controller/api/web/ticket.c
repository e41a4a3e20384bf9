/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ticket.c - makes a ticket for the pages; see ticket.h. */
#include <errno.h>
#include <stdio.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "controller/api/web/ticket.h"
#include "controller/session/session.h"

int route_ticket(struct call *c, struct err *err)
{
	_cleanup_doc_ struct doc doc = doc_message();
	char token[SESSION_TOKEN_MAX], path[SESSION_TOKEN_MAX + 32];
	const struct session_user user = { c->who.uid, c->who.gid };
	int r;

	if (!c->api->sessions) {
		err_set(err, 0, "this controller serves no pages");
		return call_refuse(c, 404, "no-pages", "Web = yes in [Controller]");
	}
	r = session_new_ticket(c->api->sessions, user, clock_ns(CLOCK_BOOTTIME), token, err);
	if (r < 0)
		return r;
	snprintf(path, sizeof(path), "/web/enter?ticket=%s", token);
	doc_set(&doc, "path", json_string(path));
	doc_set(&doc, "valid_s", json_integer(SESSION_TICKET_S));
	c->answer = doc_take(&doc);
	return c->answer ? 0 : err_set(err, -ENOMEM, "out of memory");
}
