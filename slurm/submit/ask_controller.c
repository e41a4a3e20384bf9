/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ask_controller.c - one signed POST /v1/slurm/submit at a time; see ask_controller.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "common/auth/auth.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/http/http.h"
#include "slurm/submit/ask_controller.h"

struct ask_controller {
	sd_event *event;
	struct http *http;
	uint32_t reader;
	bool is_over; /* the exchange under way */
	int result;
	json_t *answer;
	struct err said;
};

struct ask_controller *ask_controller_close(struct ask_controller *a)
{
	if (!a)
		return NULL;
	http_close(a->http);
	sd_event_unref(a->event);
	json_decref(a->answer);
	free(a);
	return NULL;
}

int ask_controller_open(const struct follow_config *c, struct ask_controller **ret,
			struct err *err)
{
	_cleanup_(ask_controller_closep) struct ask_controller *a = calloc(1, sizeof(*a));
	struct http_config config = { .url = c->controller,
				      .munge_socket = c->munge_socket,
				      .timeout_s = (long)c->timeout_s,
				      .answer_uid = -1,
				      .ca_file = c->ca_file,
				      .client_certificate = c->client_certificate,
				      .client_key = c->client_key };
	uint32_t gid;
	int r;

	if (!a)
		return err_set(err, -ENOMEM, "out of memory");
	config.reader = &a->reader;
	r = auth_user_lookup(c->controller_user, &a->reader, &gid, err);
	if (r < 0)
		return err_prefix(err, r, "ControllerUser=%s", c->controller_user);
	r = sd_event_new(&a->event);
	if (r < 0)
		return err_set(err, r, "make an event loop: %s", strerror(-r));
	r = http_open(&config, &a->http, err);
	if (r >= 0)
		r = http_attach(a->http, a->event, err);
	if (r >= 0)
		*ret = TAKE_PTR(a);
	return r;
}

/* Called from the event loop once, also with an error. The answer belongs to `a` from then on. */
static void on_done(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct ask_controller *a = ctx;

	a->is_over = true;
	a->result = result;
	a->answer = answer;
	a->said = *err;
}

/* Runs the loop until the exchange is over or the time is. */
static int wait_for_answer(struct ask_controller *a, int64_t limit_ms, struct err *err)
{
	int64_t until_ns = clock_ns(CLOCK_MONOTONIC) + limit_ms * MS_NS;
	int r = 0;

	while (!a->is_over && r >= 0) {
		int64_t left_ns = until_ns - clock_ns(CLOCK_MONOTONIC);

		if (left_ns <= 0) {
			http_cancel(a->http);
			return err_set(err, -ETIMEDOUT,
				       "the controller did not answer within %lld ms",
				       (long long)limit_ms);
		}
		r = sd_event_run(a->event, (uint64_t)(left_ns / 1000) + 1);
	}
	return r < 0 ? err_set(err, r, "wait for the controller: %s", strerror(-r)) : 0;
}

/* One exchange at a time: `a` has room for one answer. An exchange that is given up is cancelled, so that
 * on_done() cannot come later. */
int ask_controller_submit(struct ask_controller *a, const struct slurm_submit *job,
			  int64_t limit_ms, struct slurm_submit_answer *ret, struct err *err)
{
	struct doc doc = doc_message();
	_cleanup_json_ json_t *body = NULL, *answer = NULL;
	int r;

	wire_encode_fields(slurm_submit_fields, job, &doc);
	body = doc_take(&doc);
	a->is_over = false;
	a->answer = NULL;
	r = body ? http_start(a->http,
			      (struct http_call){ .method = "POST",
						  .path = SLURM_SUBMIT_PATH,
						  .body = body,
						  .wait_s = 0 },
			      on_done, a, err)
		 : err_set(err, -ENOMEM, "out of memory");
	if (r >= 0)
		r = wait_for_answer(a, limit_ms, err);
	answer = TAKE_PTR(a->answer);
	if (r < 0)
		return r;
	if (a->result != 0)
		return err_set(err, a->result < 0 ? a->result : -EREMOTEIO, "%s", a->said.text);
	memset(ret, 0, sizeof(*ret));
	return wire_decode_fields(slurm_submit_answer_fields, answer, ret, err);
}
