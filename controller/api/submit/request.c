/* SPDX-License-Identifier: GPL-2.0-or-later */
/* request.c - first steps of a submission: read the user's signature, and decode the document.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/submit/submit.h"

/* The credential is sealed for root of the nodes; the controller cannot read it and only checks
 * that it looks like one. Older clients send none. */
int submit_read_credential(struct call *c, struct submit_job *s, struct err *err)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=:";
	const json_t *j = json_object_get(c->body, "credential");
	const char *text = json_string_value(j);

	s->credential = text;
	if (!j)
		return 0;
	if (!text || strncmp(text, "MUNGE:", 6) != 0 || json_string_length(j) > AUTH_SEAL_MAX ||
	    strspn(text, letters) != json_string_length(j))
		return err_set(err, -EINVAL,
			       "credential: not one of munge's, of at most %d KiB",
			       AUTH_SEAL_MAX >> 10);
	return 0;
}

/* The job's owner is the sender of the call, never what the document states. */
int submit_read_request(struct call *c, struct submit_job *s, struct err *err)
{
	struct request *q = &s->request;
	int r;

	request_init(q);
	r = wire_decode_request(json_object_get(c->body, "request"), "request", q, err);
	if (r < 0)
		return r;
	q->uid = c->who.uid;
	q->gid = c->who.gid;
	snprintf(q->user, sizeof(q->user), "%s", c->user);
	if (!*q->name)
		snprintf(q->name, sizeof(q->name), "job");
	return 0;
}
