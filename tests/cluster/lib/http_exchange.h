/* http_exchange.h - one exchange with the controller that blocks until the answer is there, for test
 * programs: the daemons' client on the calling thread's own event loop.
 */
#pragma once
#include <errno.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/http/http.h"

struct http_exchange {
	bool is_done;
	int result;
	json_t *answer;
	struct err *err;
};

static inline void http_exchange_done(void *ctx, int result, json_t *answer,
				      const struct err *err)
{
	struct http_exchange *x = ctx;

	x->is_done = true;
	x->result = result;
	x->answer = answer;
	if (x->err)
		*x->err = *err;
}

/* The result is that of http_done_fn; *ret_answer, which may be NULL, belongs to the caller. `h` is
 * attached to the loop of the thread that makes its first exchange, and stays with that thread. */
static inline int http_exchange(struct http *h, struct http_call call, json_t **ret_answer,
				struct err *err)
{
	struct http_exchange x = { .err = err };
	sd_event *event = NULL;
	int r = sd_event_default(&event);

	*ret_answer = NULL;
	if (r >= 0)
		r = http_attach(h, event, err);
	if (r >= 0 || r == -EBUSY) /* attached by an earlier exchange */
		r = http_start(h, call, http_exchange_done, &x, err);
	while (r >= 0 && !x.is_done)
		r = sd_event_run(event, UINT64_MAX);
	sd_event_unref(event);
	*ret_answer = x.answer;
	return x.is_done ? x.result : r;
}
