/* SPDX-License-Identifier: GPL-2.0-or-later */
/* await.c - answers at once, or adds a waiter that answers on the first change; see await.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/await.h"

struct held {
	struct api *api;
	struct exchange *x;
	int (*read)(struct api *a, const void *what, json_t **ret, struct err *err);
	_Alignas(max_align_t) char what[];
};

/* At the deadline, or when the controller closes, the answer is sent as it is. */
static bool on_wake(void *ctx, enum long_poll_why why)
{
	struct held *h = ctx;
	_cleanup_json_ json_t *doc = NULL;
	struct err err;
	int r = h->read(h->api, h->what, &doc, &err);

	if (r == 0 && why == LONG_POLL_WOKEN)
		return false;
	if (r < 0)
		exchange_answer(h->x, (struct exchange_answer){ .status = 500 });
	else
		call_answer(h->api, h->x, doc, NULL);
	free(h);
	return true;
}

static int add_waiter(struct call *c, const struct await *w, struct err *err)
{
	_cleanup_free_ struct held *h = malloc(sizeof(*h) + w->size);
	struct long_poll_waiter p = { .kind = LONG_POLL_JOB, .wake = on_wake, .ctx = h };
	int r;

	if (!h)
		return err_set(err, -ENOMEM, "out of memory");
	h->api = c->api;
	h->x = c->x;
	h->read = w->read;
	memcpy(h->what, w->what, w->size);
	p.deadline_ns = api_monotonic_ns() + w->wait_s * S_NS;
	api_step_key(w->job, w->step, p.key);
	r = long_poll_add(c->api->c.poll, &p, err);
	if (r < 0)
		return r;
	TAKE_PTR(h);
	return CALL_DEFERRED;
}

int await_answer(struct call *c, const struct await *w, struct err *err)
{
	int r = w->read(c->api, w->what, &c->answer, err);

	if (r != 0 || w->wait_s == 0)
		return r < 0 ? r : 0;
	json_decref(TAKE_PTR(c->answer));
	return add_waiter(c, w, err);
}

int await_query(const struct call *c, int64_t *ret_s, struct err *err)
{
	static const int64_t none = 0;

	return call_query_int(c, "wait", (struct wire_int){ 0, WAIT_MAX_S, &none }, ret_s, err);
}
