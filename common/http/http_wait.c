/* SPDX-License-Identifier: GPL-2.0-or-later */
/* http_wait.c - starts a call and runs the event loop until it is answered; see http_wait.h. */
#include <string.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/http/http_wait.h"

struct waiting {
	bool is_answered;
	int result;
	json_t *answer;
	struct err *err;
};

static void on_answer(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct waiting *w = ctx;

	w->result = result;
	w->answer = answer;
	*w->err = *err;
	w->is_answered = true;
}

int http_wait(struct http *h, struct sd_event *event, struct http_call call,
	      json_t **ret_answer, struct err *err)
{
	struct err scratch = { "" };
	struct waiting w = { .err = err ? err : &scratch };
	int r = http_start(h, call, on_answer, &w, w.err);

	*ret_answer = NULL;
	if (r < 0)
		return r;
	while (r >= 0 && !w.is_answered)
		r = sd_event_run(event, UINT64_MAX);
	if (r < 0) {
		http_cancel(h);
		return err_set(w.err, r, "cannot run the event loop: %s", strerror(-r));
	}
	*ret_answer = w.answer;
	return w.result;
}
