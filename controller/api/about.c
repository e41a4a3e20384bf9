/* SPDX-License-Identifier: GPL-2.0-or-later */
/* about.c - the version and the clock of the controller. Root's question is answered with a signature, as a node's exchange is: an
 * answer that arrives proves that each side decodes what the other one signs. See about.h. */
#include "common/auth/auth.h"
#include "common/err.h"
#include "common/version.h"
#include "common/wire/doc.h"
#include "controller/api/about.h"
#include "controller/http/server.h"

/* Of its certificate, if it has one: seconds until it expires, and the kind of its key. */
static void put_certificate(struct doc *d, const struct api *a)
{
	struct server_counts n = { 0 };

	if (a->server)
		server_get_counts(a->server, &n);
	if (!n.has_certificate)
		return;
	doc_int(d, "certificate_left_s", n.certificate_left_s);
	doc_text(d, "certificate_key", n.certificate_key);
}

static int make_answer(struct call *c, json_t **ret, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	doc_text(&d, "version", REEVE_VERSION);
	doc_int(&d, "now_ns", api_now_ns());
	doc_text(&d, "time_zone", store_zone(c->api->c.store));
	put_certificate(&d, c->api);
	return doc_finish(&d, ret, err);
}

int route_about(struct call *c, struct err *err)
{
	_cleanup_json_ json_t *doc = NULL;
	int r = make_answer(c, &doc, err);

	if (r < 0)
		return r;
	/* Only root can decode the signature of an answer: common/auth/auth.h. A page's request has no credential. */
	if (c->who.uid != 0 || !exchange_said(c->x)) {
		c->answer = TAKE_PTR(doc);
		return 0;
	}
	call_answer(c->api, c->x, doc, exchange_header(c->x, AUTH_REQUEST_HEADER));
	return CALL_DEFERRED;
}
