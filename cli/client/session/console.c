/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.c - standard input and output of an interactive step; see console.h. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "cli/client/session/console.h"
#include "cli/client/session/escape.h"
#include "cli/client/session/pending.h"
#include "cli/client/session/sealed.h"
#include "cli/client/session/terminal.h"
#include "cli/client/session/versions.h"
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/time_units.h"
#include "common/wire/doc.h"

#define WAIT_S 20
#define RETRY_US (1000 * 1000)
#define SOON_US (300 * 1000) /* after an answer without anything new that came at once */
#define BLOCKED_US (20 * 1000)
#define KEEPALIVE_US (10 * 1000 * 1000) /* while standard output does not take anything */

struct console {
	const struct cli *cli;
	struct console_config config;
	struct http *poll, *send;
	bool is_polling, is_sending, has_changes; /* changes: input that was not sent yet */
	sd_event_source *input, *winch, *timer, *flush;
	char token[33];
	struct sealed sealed;
	int64_t seen;	/* serial of the last message of output that came */
	bool has_shown; /* some output was this terminal's */
	uint64_t asked_us, told_us;
	struct escape escape;
	uint8_t typed[CONSOLE_DATA_MAX]; /* not acknowledged */
	size_t n_typed;
	int64_t offset; /* of typed[0] */
	bool is_end;	/* standard input has ended */
	bool is_file;	/* it is a regular file, which epoll does not take */
	bool is_detached, hangs_up, has_left; /* has_left: that message is on its way */
	struct err refusal;		      /* why it leaves by itself; "": it does not */
	int rows, cols;
	struct pending out[CONSOLE_STREAMS];
	bool is_answered; /* the controller has answered a poll */
	bool is_away;	  /* the controller is unreachable, and the user was warned */
	bool is_done;
};

static void start_poll(struct console *k);
static void start_send(struct console *k);

static uint64_t now_us(const struct console *k)
{
	uint64_t us = 0;

	sd_event_now(k->cli->event, CLOCK_MONOTONIC, &us);
	return us;
}

static void finish_console(struct console *k, enum console_end end, int result,
			   const struct err *err)
{
	if (k->is_done)
		return;
	k->is_done = true;
	k->config.done(k->config.ctx, end, result, err);
}

static void set_timer(sd_event_source *timer, uint64_t us)
{
	sd_event_source_set_time_relative(timer, us);
	sd_event_source_set_enabled(timer, SD_EVENT_ONESHOT);
}

/* ---- requests ---- */

/* Until the first answer to `reeve attach` it is not known how much input the step had before. */
static bool knows_offset(const struct console *k)
{
	return !k->config.is_attaching || k->has_shown;
}

/* Without input the controller keeps what was sent before. */
static json_t *make_body(struct console *k, bool has_input)
{
	static uint8_t buf[CONSOLE_MESSAGE_MAX];
	struct console_state m = { .offset = k->offset,
				   .rows = k->rows,
				   .cols = k->cols,
				   .is_attached = !k->is_detached,
				   .is_new = !k->has_shown,
				   .hangs_up = k->hangs_up };
	const struct console_data typed = {
		.offset = k->offset, .is_end = k->is_end, .data = k->typed, .size = k->n_typed
	};
	bool has_data = knows_offset(k) && ((has_input && k->n_typed) ||
					    (k->is_end && (has_input || !k->n_typed)));
	_cleanup_doc_ struct doc d = doc_message();
	json_t *doc;

	for (int i = 0; i < CONSOLE_STREAMS; i++)
		m.acked[i] = k->out[i].written;
	doc_int(&d, "step", k->config.step);
	doc_int(&d, "format", CONSOLE_FORMAT);
	doc_text(&d, "token", k->token);
	doc_int(&d, "seen", k->seen);
	/* Once: a message that comes late must not take the step back from the terminal that has it then. */
	doc_flag(&d, "take_over", k->config.takes_over && !k->is_answered);
	doc = doc_take(&d);
	if (doc &&
	    wire_attach(doc, buf,
			sealed_encode(&k->sealed, &m, has_data ? &typed : NULL, buf)) < 0)
		return json_decref(doc), NULL;
	return doc;
}

static int start_request(struct console *k, struct http *http, long wait_s, http_done_fn done,
			 bool has_input)
{
	_cleanup_json_ json_t *body = make_body(k, has_input);
	char path[96];
	struct http_call call = {
		.method = "POST", .path = path, .body = body, .wait_s = wait_s, .is_dense = true
	};
	struct err err = { "" };
	int r = body ? 0 : -ENOMEM;

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/console?wait=%ld", k->config.job,
		 wait_s);
	k->told_us = now_us(k);
	if (r == 0)
		r = http_start(http, call, done, k, &err);
	if (r < 0)
		finish_console(k, CONSOLE_ENDED, cli_result(r), &err);
	return r;
}

/* True: the request is to be made again later; false: the console has ended with the error. */
static bool may_retry(struct console *k, int result, const struct err *err)
{
	int r = cli_result(result);

	if (r != -EHOSTUNREACH) {
		finish_console(k, CONSOLE_ENDED, r, err);
		return false;
	}
	if (!k->is_away) {
		struct err copy = *err;

		cli_complain(k->config.verb, &copy);
		fprintf(stderr, "reeve %s: the command continues; trying again\r\n",
			k->config.verb);
	}
	k->is_away = true;
	return true;
}

/* ---- output ---- */

/* Polls again when all is written: that acknowledges it. Else comes back soon. */
static void flush_output(struct console *k)
{
	bool is_over = true;
	int all = 1;

	for (int i = 0; i < CONSOLE_STREAMS; i++) {
		struct err err = { "" };
		int r = pending_flush(&k->out[i], &err);

		if (r < 0) {
			finish_console(k, CONSOLE_ENDED, r, &err);
			return;
		}
		all &= r;
		is_over &= k->out[i].is_over;
	}
	if (!all) {
		set_timer(k->flush, BLOCKED_US);
		if (now_us(k) - k->told_us > KEEPALIVE_US)
			start_send(k);
		return;
	}
	if (is_over) {
		k->has_changes = true; /* the last acknowledgement lets the waiter end */
		start_send(k);
	}
	start_poll(k);
}

static int on_flush(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s, (void)usec;
	flush_output(ctx);
	return 0;
}

/* What lies between is lost (a terminal without a reader): the user is warned. */
static int keep_chunk(struct console *k, int i, const struct console_chunk *c, struct err *err)
{
	bool had_some = k->out[i].written > 0 || !k->config.is_attaching;
	int64_t lost;
	int r = pending_keep(&k->out[i], c, &lost, err);

	if (lost && had_some)
		fprintf(stderr, "\r\nreeve %s: %" PRId64 " bytes of output are lost\r\n",
			k->config.verb, lost);
	return r;
}

static void drop_acknowledged(struct console *k, int64_t acked)
{
	int64_t n = acked - k->offset;

	if (!knows_offset(k)) {
		k->offset = acked;
		k->has_changes |= k->n_typed > 0;
	} else if (n > 0 && n <= (int64_t)k->n_typed) {
		memmove(k->typed, k->typed + n, k->n_typed - (size_t)n);
		k->n_typed -= (size_t)n;
		k->offset = acked;
	}
}

/* Leaves the step before the error is shown, so that another terminal can be attached at once. */
static int leave_refused(struct console *k, const struct err *why)
{
	k->refusal = *why;
	k->hangs_up = !k->config.keeps;
	k->is_detached = k->has_changes = true;
	start_send(k);
	return 1;
}

/* 1: this terminal is done with. */
static int take_message(struct console *k, const void *data, size_t size, struct err *err)
{
	struct console_output m;
	int r = console_decode_output(data, size, &m, err);

	if (r < 0)
		return err_prefix(err, -EPROTO, "the controller's answer");
	k->seen = (int64_t)m.serial;
	r = sealed_check(&k->sealed, data, &m, err);
	if (r <= 0)
		return r < 0 ? leave_refused(k, err) : 0;
	r = 0;
	for (int i = 0; i < CONSOLE_STREAMS && r == 0; i++)
		r = keep_chunk(k, i, &m.streams[i], err);
	if (r < 0)
		return r;
	drop_acknowledged(k, m.acked);
	k->has_shown = true;
	if (m.takes_no_input) {
		k->n_typed = 0;
		k->is_end = true;
		sd_event_source_set_enabled(k->input, SD_EVENT_OFF);
	}
	return 0;
}

static void fill_from_file(struct console *k);

/* Input is sent again to a controller that lacks some of it: one that was started meanwhile, or that got a later poll first. */
static void check_input(struct console *k, const json_t *answer)
{
	if (!k->is_sending && k->n_typed && knows_offset(k) &&
	    cli_int(answer, "have", 0) < k->offset + (int64_t)k->n_typed)
		k->has_changes = true;
}

/* 1: the console has ended. */
static int take_answer(struct console *k, const json_t *answer)
{
	size_t size;
	const void *message = wire_attached(answer, &size);
	const char *state = cli_text(answer, "state");
	struct err err = { "" };
	int r;

	if (json_is_true(json_object_get(answer, "taken_over"))) {
		finish_console(k, CONSOLE_TAKEN, 0, NULL);
		return 1;
	}
	r = versions_check(answer, &err);
	if (r == 0 && message)
		r = take_message(k, message, size, &err);
	if (r < 0)
		finish_console(k, CONSOLE_ENDED, r, &err);
	if (r)
		return 1;
	check_input(k, answer);
	if (k->is_file)
		fill_from_file(k);
	else if (k->n_typed < sizeof(k->typed) && !k->is_end)
		sd_event_source_set_enabled(k->input, SD_EVENT_ON);
	if (!message && state && !strcmp(state, "ended")) {
		finish_console(k, CONSOLE_ENDED, 0, NULL);
		return 1;
	}
	return 0;
}

static void on_polled(void *ctx, int result, json_t *answer_owned, const struct err *why)
{
	_cleanup_json_ json_t *answer = answer_owned;
	struct console *k = ctx;

	k->is_polling = false;
	if (k->is_done)
		return;
	if (result) {
		k->has_changes |= k->n_typed > 0 || k->is_end; /* it may have carried them */
		if (may_retry(k, result, why))
			set_timer(k->timer, RETRY_US);
		return;
	}
	k->is_away = false;
	k->is_answered = true;
	if (take_answer(k, answer))
		return;
	if (!json_object_get(answer, WIRE_ATTACHED) && now_us(k) - k->asked_us < SOON_US)
		set_timer(k->timer, SOON_US);
	else
		flush_output(k);
	if (k->has_changes) /* no poll has carried them */
		start_send(k);
}

/* Carries input that was not sent yet: one request less. */
static void start_poll(struct console *k)
{
	bool has_input = k->has_changes && !k->is_sending && !k->hangs_up && !k->is_detached;

	if (k->is_polling || k->is_done)
		return;
	if (has_input)
		k->has_changes = false;
	k->asked_us = now_us(k);
	k->is_polling = start_request(k, k->poll, WAIT_S, on_polled, has_input) == 0;
}

static int on_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	struct console *k = ctx;

	(void)s, (void)usec;
	flush_output(k);
	if (k->has_changes)
		start_send(k);
	return 0;
}

/* ---- input ---- */

static void on_sent(void *ctx, int result, json_t *answer_owned, const struct err *why)
{
	_cleanup_json_ json_t *answer = answer_owned;
	struct console *k = ctx;

	k->is_sending = false;
	if (!result)
		check_input(k, answer);
	if (k->has_left && *k->refusal.text) {
		finish_console(k, CONSOLE_ENDED, -EPROTO, &k->refusal);
	} else if (result && !k->is_done && may_retry(k, result, why)) {
		k->has_changes = true;
		set_timer(k->timer, RETRY_US);
	} else if (k->has_left) {
		finish_console(k, k->hangs_up ? CONSOLE_HUNG_UP : CONSOLE_DETACHED, 0, NULL);
	} else if (k->has_changes) {
		start_send(k);
	}
}

static void start_send(struct console *k)
{
	if (k->is_sending || k->is_done)
		return;
	k->has_changes = false;
	k->has_left = k->hangs_up || k->is_detached;
	k->is_sending = start_request(k, k->send, 0, on_sent, true) == 0;
}

static void print_help(const struct console *k)
{
	fprintf(stderr,
		"\r\n~.  hang up: the command is ended\r\n~d  leave: the command continues; "
		"'reeve attach %" PRId64 "' comes back\r\n~~  a tilde\r\n",
		k->config.job);
}

/* Appends what was read; of a terminal without what is for us. `n` is at most the room, less one. */
static void append_typed(struct console *k, const char *data, size_t n)
{
	while (n) {
		enum escape_action action = ESCAPE_NONE;
		char *to = (char *)k->typed + k->n_typed;
		size_t used = n;

		if (k->config.is_pty && isatty(STDIN_FILENO)) {
			k->n_typed += escape_filter(&k->escape, data, n, to, &used);
			action = k->escape.action;
		} else {
			memcpy(to, data, n);
			k->n_typed += n;
		}
		data += used;
		n -= used;
		if (action == ESCAPE_HELP)
			print_help(k);
		k->hangs_up |= action == ESCAPE_END;
		k->is_detached |= action == ESCAPE_DETACH;
	}
	k->has_changes = true;
}

/* Reads as much as there is room for. 1: there may be more. */
static int read_typed(struct console *k)
{
	char buf[16384];
	size_t room = sizeof(k->typed) - k->n_typed;
	ssize_t n;

	if (k->is_end || room < 2)
		return 0;
	n = read(STDIN_FILENO, buf, room - 1 < sizeof(buf) ? room - 1 : sizeof(buf));
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return 0;
	if (n <= 0) {
		k->is_end = k->has_changes = true;
		return 0;
	}
	append_typed(k, buf, (size_t)n);
	return 1;
}

static void fill_from_file(struct console *k)
{
	while (read_typed(k) > 0)
		;
}

static int on_input(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct pollfd more = { .fd = fd, .events = POLLIN };
	struct console *k = ctx;

	(void)events;
	/* All that is there, so that a message is full; standard input may block. */
	for (int i = 0; i < 48 && read_typed(k) > 0 && poll(&more, 1, 0) > 0; i++)
		;
	if (k->is_end || sizeof(k->typed) - k->n_typed < 2)
		sd_event_source_set_enabled(s, SD_EVENT_OFF);
	start_send(k);
	return 0;
}

static int on_winch(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	struct console *k = ctx;

	(void)s, (void)si;
	if (!terminal_size(&k->rows, &k->cols))
		return 0;
	k->has_changes = true;
	start_send(k);
	return 0;
}

/* ---- opening ---- */

static int make_token(struct console *k, struct err *err)
{
	uint8_t random[16];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return err_set(err, -errno, "getrandom: %m");
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(k->token + 2 * i, 3, "%02x", random[i]);
	return 0;
}

static int add_sources(struct console *k)
{
	sd_event *event = k->cli->event;
	int r = sd_event_add_io(event, &k->input, STDIN_FILENO, EPOLLIN, on_input, k);

	k->is_file = r == -EPERM;
	if (k->is_file)
		r = 0;
	if (r >= 0)
		r = sd_event_add_time_relative(event, &k->timer, CLOCK_MONOTONIC, 0,
					       TIMER_AT_ONCE_US, on_timer, k);
	if (r >= 0)
		r = sd_event_source_set_enabled(k->timer, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_time_relative(event, &k->flush, CLOCK_MONOTONIC, 0,
					       TIMER_AT_ONCE_US, on_flush, k);
	if (r >= 0)
		r = sd_event_source_set_enabled(k->flush, SD_EVENT_OFF);
	if (r >= 0 && k->config.is_pty)
		r = sd_event_add_signal(event, &k->winch, SIGWINCH, on_winch, k);
	return r;
}

int console_open(const struct cli *c, const struct console_config *config, struct console **ret,
		 struct err *err)
{
	_cleanup_(console_closep) struct console *k = calloc(1, sizeof(*k));
	int r;

	if (!k)
		return err_set(err, -ENOMEM, "out of memory");
	k->cli = c;
	k->config = *config;
	k->out[CONSOLE_OUT].fd = config->output;
	k->out[CONSOLE_ERR].fd = STDERR_FILENO;
	if (config->is_pty)
		terminal_size(&k->rows, &k->cols);
	r = make_token(k, err);
	if (r < 0)
		return r;
	r = sealed_open(c, config->job, config->step, &k->sealed, err);
	if (r < 0)
		return r;
	r = cli_connect(c, &k->poll, err);
	if (r < 0)
		return r;
	r = cli_connect(c, &k->send, err);
	if (r < 0)
		return r;
	r = add_sources(k);
	if (r < 0)
		return err_set(err, r, "cannot watch the terminal: %s", strerror(-r));
	if (k->is_file)
		fill_from_file(k);
	start_poll(k);
	if (k->has_changes)
		start_send(k);
	*ret = TAKE_PTR(k);
	return 0;
}

struct console *console_close(struct console *k)
{
	if (!k)
		return NULL;
	k->poll = http_close(k->poll);
	k->send = http_close(k->send);
	sd_event_source_disable_unref(k->input);
	sd_event_source_disable_unref(k->winch);
	sd_event_source_disable_unref(k->timer);
	sd_event_source_disable_unref(k->flush);
	for (int i = 0; i < CONSOLE_STREAMS; i++)
		free(k->out[i].data);
	sealed_done(&k->sealed);
	free(k);
	return NULL;
}

void console_leave(struct console *k, bool ends)
{
	uint64_t until = now_us(k) + 2 * 1000 * 1000;

	if (k->is_done)
		return;
	k->hangs_up = ends;
	k->is_detached = true;
	k->has_changes = true;
	start_send(k);
	while (!k->is_done && now_us(k) < until)
		if (sd_event_run(k->cli->event, 100 * 1000) < 0)
			return;
}
