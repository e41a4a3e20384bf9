/* stream.c - see stream.h. */
#include <errno.h>
#include <inttypes.h>
#include <nettle/base64.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/stream.h"
#include "common/err.h"
#include "common/wire/wire.h"

#define POLL_S 25L
#define SOON_US (300 * 1000)	   /* an empty answer that came at once: no busy loop */
#define RETRY_US (2 * 1000 * 1000) /* the controller is away */
#define AT_ONCE_US (200 * 1000)

struct stream {
	const struct cli *cli;
	struct stream_config config;
	struct http *http;
	sd_event_source *timer;
	int64_t offset;
	uint64_t asked_us;
	bool away; /* and said so */
	stream_done_fn done;
	void *ctx;
};

static int ask(struct stream *s, struct err *err);

static uint64_t now_us(const struct stream *s)
{
	uint64_t us = 0;

	sd_event_now(s->cli->event, CLOCK_MONOTONIC, &us);
	return us;
}

/* What the answer brings, written out. > 0: how many bytes. */
static int take(struct stream *s, const json_t *answer, struct err *err)
{
	const char *text = cli_text(answer, "data");
	size_t text_size = text ? strlen(text) : 0;
	size_t size = BASE64_DECODE_LENGTH(text_size) + 1;
	_cleanup_free_ uint8_t *data = malloc(size);
	struct base64_decode_ctx b64;
	int r;

	if (!data)
		return err_set(err, -ENOMEM, "out of memory");
	base64_decode_init(&b64);
	if (!base64_decode_update(&b64, &size, data, text_size, text ? text : "") ||
	    !base64_decode_final(&b64))
		return err_set(err, -EPROTO, "the output of job %" PRId64 " is not base64",
			       s->config.job);
	r = sink_put(&s->config.sink, data, size, err);
	if (r < 0)
		return r;
	s->offset += (int64_t)size;
	return size > INT32_MAX ? INT32_MAX : (int)size;
}

static int later(struct stream *s, uint64_t us, struct err *err)
{
	int r = sd_event_source_set_time_relative(s->timer, us);

	if (r >= 0)
		r = sd_event_source_set_enabled(s->timer, SD_EVENT_ONESHOT);
	return r < 0 ? err_set(err, r, "set a timer: %s", strerror(-r)) : 0;
}

static void finish(struct stream *s, int result, const struct err *err)
{
	sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	s->done(s->ctx, result, err);
}

/* 0: will be asked again; > 0: at its end; < 0. */
static int go_on(struct stream *s, int result, const json_t *answer, struct err *err)
{
	int n;

	result = cli_result(result);
	if (result == -EHOSTUNREACH) {
		if (!s->away)
			cli_complain(s->config.verb, err);
		if (!s->away)
			fprintf(stderr, "reeve %s: the job is not concerned; trying again\n",
				s->config.verb);
		s->away = true;
		return later(s, RETRY_US, err);
	}
	if (result < 0)
		return result;
	s->away = false;
	n = take(s, answer, err);
	if (n < 0)
		return n;
	if (json_is_true(json_object_get(answer, "end")))
		return 1;
	if (n == 0 && now_us(s) - s->asked_us < AT_ONCE_US)
		return later(s, SOON_US, err);
	return ask(s, err);
}

static void on_answer(void *ctx, int result, json_t *answer, const struct err *why)
{
	struct stream *s = ctx;
	struct err err = *why;
	int r = go_on(s, result, answer, &err);

	json_decref(answer);
	if (r > 0)
		finish(s, sink_end(&s->config.sink, &err), &err);
	else if (r < 0)
		finish(s, r, &err);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *ctx)
{
	struct stream *s = ctx;
	struct err err = { "" };
	int r = ask(s, &err);

	(void)source;
	(void)usec;
	if (r < 0)
		finish(s, r, &err);
	return 0;
}

static int ask(struct stream *s, struct err *err)
{
	char path[160], step[32] = "";
	struct http_call call = { .method = "GET", .path = path, .wait_s = POLL_S };
	int r;

	if (s->config.step)
		snprintf(step, sizeof(step), "&step=%" PRId64, s->config.step);
	snprintf(path, sizeof(path),
		 "/v1/jobs/%" PRId64 "/output?stream=%s&offset=%" PRId64 "&wait=%ld%s",
		 s->config.job, s->config.name, s->offset, POLL_S, step);
	s->asked_us = now_us(s);
	r = http_start(s->http, call, on_answer, s, err);
	return r < 0 ? cli_result(r) : 0;
}

int stream_open(const struct cli *c, const struct stream_config *config, struct stream **ret,
		struct err *err)
{
	_cleanup_(stream_closep) struct stream *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return err_set(err, -ENOMEM, "out of memory");
	s->cli = c;
	s->config = *config;
	r = cli_connect(c, &s->http, err);
	if (r < 0)
		return r;
	r = sd_event_add_time_relative(c->event, &s->timer, CLOCK_MONOTONIC, 0, 1000, on_timer,
				       s);
	if (r >= 0)
		r = sd_event_source_set_enabled(s->timer, SD_EVENT_OFF);
	if (r < 0)
		return err_set(err, r, "set a timer: %s", strerror(-r));
	*ret = TAKE_PTR(s);
	return 0;
}

struct stream *stream_close(struct stream *s)
{
	if (!s)
		return NULL;
	s->http = http_close(s->http);
	sd_event_source_disable_unref(s->timer);
	sink_end(&s->config.sink, NULL); /* what is left of a line, where it was left early */
	sink_done(&s->config.sink);
	free(s);
	return NULL;
}

int stream_start(struct stream *s, stream_done_fn done, void *ctx, struct err *err)
{
	s->done = done;
	s->ctx = ctx;
	return ask(s, err);
}

int64_t stream_bytes(const struct stream *s)
{
	return s->offset;
}
