/* SPDX-License-Identifier: GPL-2.0-or-later */
/* follow.c - repeats long polls until the end, also while the controller cannot be reached. */
#include <errno.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/client/follow.h"
#include "common/err.h"
#include "common/time_units.h"
#include "common/wire/doc.h"

#define AT_ONCE_US (200 * 1000)	   /* an empty answer within this time ... */
#define SOON_US (300 * 1000)	   /* ... delays the next poll by this: no busy loop */
#define RETRY_US (2 * 1000 * 1000) /* between polls while the controller is unreachable */

struct follow {
	const struct cli *cli;
	struct follow_config config;
	struct http *http;
	sd_event_source *timer;
	uint64_t asked_us;
	bool away; /* the controller is unreachable, and the user has been warned */
};

static int send_request(struct follow *f, struct err *err);

static uint64_t now_us(const struct follow *f)
{
	uint64_t us = 0;

	sd_event_now(f->cli->event, CLOCK_MONOTONIC, &us);
	return us;
}

/* Arms the one timer of the follower; a request that is under way is not affected. */
static int poll_later(struct follow *f, uint64_t us, struct err *err)
{
	int r = sd_event_source_set_time_relative(f->timer, us);

	if (r >= 0)
		r = sd_event_source_set_enabled(f->timer, SD_EVENT_ONESHOT);
	return r < 0 ? err_set(err, r, "cannot set a timer: %s", strerror(-r)) : 0;
}

static void finish_following(struct follow *f, int result, const struct err *err)
{
	sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
	f->config.done(f->config.ctx, result, err);
}

/* Warns once for each time that the controller is lost, and polls again later. */
static int wait_for_controller(struct follow *f, struct err *err)
{
	if (!f->away) {
		cli_complain(f->config.verb, err);
		fprintf(stderr, "reeve %s: the job continues; trying again\n", f->config.verb);
	}
	f->away = true;
	return poll_later(f, RETRY_US, err);
}

/* Processes one answer. 0: the next poll is under way or timed; 1: end of the output; < 0. */
static int process_answer(struct follow *f, int result, const json_t *answer, struct err *err)
{
	bool is_end = false;
	int n;

	result = cli_result(result);
	if (result == -EHOSTUNREACH)
		return wait_for_controller(f, err);
	if (result < 0)
		return result;
	f->away = false;
	n = f->config.take(f->config.ctx, answer, &is_end, err);
	if (n < 0 || is_end)
		return n < 0 ? n : 1;
	if (n == 0 && now_us(f) - f->asked_us < AT_ONCE_US)
		return poll_later(f, SOON_US, err);
	return send_request(f, err);
}

static void on_answer(void *ctx, int result, json_t *answer, const struct err *why)
{
	struct follow *f = ctx;
	struct err err = *why;
	int r = process_answer(f, result, answer, &err);

	json_decref(answer);
	if (r != 0)
		finish_following(f, r > 0 ? 0 : r, &err);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct follow *f = ctx;
	struct err err = { "" };
	int r = send_request(f, &err);

	(void)source;
	(void)usec;
	if (r < 0)
		finish_following(f, r, &err);
	return 0;
}

static int send_request(struct follow *f, struct err *err)
{
	char path[FOLLOW_PATH_MAX];
	struct http_call call = { .method = "GET", .path = path, .wait_s = FOLLOW_WAIT_S };
	int r;

	f->config.path(f->config.ctx, path);
	f->asked_us = now_us(f);
	r = http_start(f->http, call, on_answer, f, err);
	return r < 0 ? cli_result(r) : 0;
}

int follow_open(const struct cli *c, const struct follow_config *config, struct follow **ret,
		struct err *err)
{
	_cleanup_(follow_closep) struct follow *f = calloc(1, sizeof(*f));
	int r;

	if (!f)
		return err_set(err, -ENOMEM, "out of memory");
	f->cli = c;
	f->config = *config;
	r = cli_connect(c, &f->http, err);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(c->event, &f->timer, CLOCK_MONOTONIC, 0,
				       TIMER_AT_ONCE_US, on_timer, f);
	if (r >= 0)
		r = sd_event_source_set_enabled(f->timer, SD_EVENT_OFF);
	if (r < 0)
		return err_set(err, r, "cannot set a timer: %s", strerror(-r));
	*ret = TAKE_PTR(f);
	return 0;
}

struct follow *follow_close(struct follow *f)
{
	if (!f)
		return NULL;
	f->http = http_close(f->http);
	sd_event_source_disable_unref(f->timer);
	free(f);
	return NULL;
}

int follow_start(struct follow *f, struct err *err)
{
	return send_request(f, err);
}

int follow_decode(const json_t *data, uint8_t **ret, size_t *ret_size, struct err *err)
{
	int r = doc_decode_bytes(data, FOLLOW_BYTES_MAX, ret, ret_size, err);

	return r == -EINVAL ? err_prefix(err, -EPROTO, "output in the controller's answer") : r;
}
