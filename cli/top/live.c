/* SPDX-License-Identifier: GPL-2.0-or-later */
/* live.c - the event loop of `reeve top`; see live.h.
 *
 * At any time at most one request is under way. A refresh is the requests of one plan (fetch.h), one after the other; the
 * screen changes when all have been answered. A refresh that fails leaves the data on the screen, with the time of the
 * last answer, and is repeated. A key that opens something else waits for its documents; where these cannot be had, what
 * was shown stays.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <systemd/sd-event.h>
#include "cli/top/draw/layout.h"
#include "cli/top/live.h"
#include "cli/top/views/subjects.h"
#include "cli/top/terminal.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/time_units.h"

#define US_PER_S 1000000
#define EASE 20 /* a refresh waits this many times as long as the answers of the last took */
#define KEYS_MAX 64	 /* typed while something is being opened */
#define CLOCK_US 1000000 /* while there is no answer, the screen counts the seconds */

static const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH, SIGTSTP };

struct live {
	struct cli *c;
	struct top_ui *ui;
	struct top_docs *docs;
	struct top_ask shown; /* what the documents are of */
	struct top_ui before; /* to return to when something cannot be opened */
	bool is_opening;
	struct top_plan plan; /* of the refresh under way */
	json_t *answers[TOP_REQUESTS_MAX];
	int at; /* the request under way; plan.n: none */
	int64_t began_ns, took_ns;
	int page;
	int keys[KEYS_MAX], n_keys;
	struct top_status status;
	struct err last; /* what the status shows */
	sd_event_source *input, *timer, *clock, *signals[ARRAY_LEN(signals)];
	int signal;
	int result; /* < 0: why the loop ended */
	struct err *err;
};

/* ---- the screen ---- */

static int64_t delay_ns(const struct live *l)
{
	int64_t typed = l->ui->delay_s * S_NS, eased = l->took_ns * EASE;

	return eased > typed ? eased : typed;
}

static int draw_screen(struct live *l)
{
	struct top_view v = { .n_facts = 0 };
	struct top_screen screen = { .lines = NULL };
	int r = top_subject_view(&l->shown, l->docs, &v, l->err);

	if (r == 0 && top_ui_arrange(l->ui, &v) < 0)
		r = err_set(l->err, -ENOMEM, "out of memory");
	if (r == 0) {
		l->status.now_ns = clock_ns(CLOCK_REALTIME);
		l->status.at_ns = l->docs->at_ns;
		l->status.is_waiting = l->is_opening;
		l->status.slowed_s = delay_ns(l) / S_NS;
		top_layout(&v, l->ui, &l->status, top_terminal_size(), &screen);
		l->page = screen.page;
		top_terminal_draw(&screen);
		top_screen_done(&screen);
	}
	top_view_done(&v);
	return r;
}

static void end_loop(struct live *l, int r)
{
	l->result = r;
	sd_event_exit(l->c->event, 0);
}

static void redraw_screen(struct live *l)
{
	int r = draw_screen(l);

	if (r < 0)
		end_loop(l, r);
}

/* ---- refreshes ---- */

static void request_next(struct live *l);

static void drop_answers(struct live *l)
{
	for (int i = 0; i < TOP_REQUESTS_MAX; i++) {
		json_decref(l->answers[i]);
		l->answers[i] = NULL;
	}
	top_plan_done(&l->plan);
	l->at = 0;
}

static void cancel_refresh(struct live *l)
{
	if (l->plan.n)
		http_cancel(l->c->http);
	drop_answers(l);
}

static void schedule_refresh(struct live *l, int64_t in_ns)
{
	sd_event_source_set_time_relative(l->timer, (uint64_t)(in_ns / 1000));
	sd_event_source_set_enabled(l->timer, SD_EVENT_ONESHOT);
}

static void press_key(struct live *l, int key);

/* Keys that were typed while something was being opened. */
static void replay_keys(struct live *l)
{
	int keys[KEYS_MAX], n = l->n_keys;

	memcpy(keys, l->keys, sizeof(keys));
	l->n_keys = 0;
	for (int i = 0; i < n; i++)
		press_key(l, keys[i]);
}

static void finish_refresh(struct live *l)
{
	l->took_ns = clock_ns(CLOCK_MONOTONIC) - l->began_ns;
	top_fetch_keep(l->docs, &l->plan, l->answers, clock_ns(CLOCK_REALTIME));
	memset(l->answers, 0, sizeof(l->answers)); /* the documents' now */
	drop_answers(l);
	l->shown = l->ui->ask;
	l->is_opening = false;
	l->status.lost_ns = 0;
	l->status.error = NULL;
	sd_event_source_set_enabled(l->clock, SD_EVENT_OFF);
	schedule_refresh(l, delay_ns(l));
	redraw_screen(l);
	replay_keys(l);
}

/* What was to be opened is not: the screen stays with what it has. */
static void return_to_shown(struct live *l)
{
	*l->ui = l->before;
	snprintf(l->ui->message, sizeof(l->ui->message), "%.150s", l->last.text);
	l->is_opening = false;
	l->n_keys = 0;
}

static void fail_refresh(struct live *l, int r, const struct err *err)
{
	bool was_opening = l->is_opening;

	drop_answers(l);
	l->last = *err;
	if (was_opening)
		return_to_shown(l);
	if (r == -EHOSTUNREACH && !l->status.lost_ns) {
		l->status.lost_ns = clock_ns(CLOCK_REALTIME);
		sd_event_source_set_time_relative(l->clock, CLOCK_US);
		sd_event_source_set_enabled(l->clock, SD_EVENT_ONESHOT);
	}
	if (r == -EHOSTUNREACH || !was_opening)
		l->status.error = l->last.text;
	l->took_ns = 0;
	schedule_refresh(l, delay_ns(l));
	redraw_screen(l);
}

static void on_answer(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct live *l = ctx;
	int r = cli_result(result);

	if (r < 0)
		json_decref(answer);
	if (r < 0 && !(l->plan.of[l->at].is_optional && r != -EHOSTUNREACH)) {
		fail_refresh(l, r, err);
		return;
	}
	if (r == 0) {
		cli_set_time_zone(answer);
		l->answers[l->at] = answer;
	}
	if (++l->at < l->plan.n)
		request_next(l);
	else
		finish_refresh(l);
}

static void request_next(struct live *l)
{
	struct err err = { "" };
	int r = http_start(
		l->c->http,
		(struct http_call){ .method = "GET", .path = l->plan.of[l->at].path },
		on_answer, l, &err);

	if (r < 0)
		fail_refresh(l, cli_result(r), &err);
}

static void start_refresh(struct live *l)
{
	struct err err = { "" };
	int r;

	cancel_refresh(l);
	sd_event_source_set_enabled(l->timer, SD_EVENT_OFF);
	l->began_ns = clock_ns(CLOCK_MONOTONIC);
	r = top_fetch_plan(&l->ui->ask, &l->plan, &err);
	if (r < 0)
		fail_refresh(l, r, &err);
	else
		request_next(l);
}

static int on_timer(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)s;
	(void)usec;
	start_refresh(ctx);
	return 0;
}

static int on_clock(sd_event_source *s, uint64_t usec, void *ctx)
{
	(void)usec;
	sd_event_source_set_time_relative(s, CLOCK_US);
	sd_event_source_set_enabled(s, SD_EVENT_ONESHOT);
	redraw_screen(ctx);
	return 0;
}

/* ---- keys ---- */

static void leave_or_cancel(struct live *l, int key)
{
	if (key == 'q' || key == TOP_KEY_QUIT) {
		end_loop(l, 0);
		return;
	}
	cancel_refresh(l);
	err_set(&l->last, 0, "not opened");
	return_to_shown(l);
	schedule_refresh(l, delay_ns(l));
	redraw_screen(l);
}

static void press_key(struct live *l, int key)
{
	struct top_view v = { .n_facts = 0 };
	struct top_ui before = *l->ui;
	enum top_act act;

	if (l->is_opening && (key == 'q' || key == TOP_KEY_QUIT || key == TOP_KEY_ESCAPE)) {
		leave_or_cancel(l, key);
		return;
	}
	if (l->is_opening) {
		if (l->n_keys < KEYS_MAX)
			l->keys[l->n_keys++] = key;
		return;
	}
	if (top_subject_view(&l->shown, l->docs, &v, l->err) < 0 ||
	    top_ui_arrange(l->ui, &v) < 0) {
		top_view_done(&v);
		end_loop(l, -ENOMEM);
		return;
	}
	act = top_ui_press(l->ui, &v, l->page, key);
	top_view_done(&v);
	if (act == TOP_ACT_QUIT) {
		end_loop(l, 0);
		return;
	}
	if (act == TOP_ACT_OPEN) {
		l->before = before;
		l->is_opening = true;
	}
	if (act == TOP_ACT_OPEN || act == TOP_ACT_FETCH)
		start_refresh(l);
}

static int on_input(sd_event_source *s, int fd, uint32_t events, void *ctx)
{
	struct live *l = ctx;
	bool has_keys = false;
	int key;

	(void)s;
	(void)fd;
	while ((key = top_terminal_read()) >= 0) {
		has_keys = true;
		press_key(l, key);
	}
	if (!has_keys && events & (EPOLLHUP | EPOLLERR))
		end_loop(l, err_set(l->err, -EIO, "the terminal is gone"));
	else if (!l->is_opening)
		redraw_screen(l);
	return 0;
}

/* ---- signals ---- */

static int on_signal(sd_event_source *s, const struct signalfd_siginfo *si, void *ctx)
{
	struct live *l = ctx;

	(void)s;
	if (si->ssi_signo == SIGWINCH) {
		top_terminal_resize();
		redraw_screen(l);
	} else if (si->ssi_signo == SIGTSTP) {
		top_terminal_stop();
		redraw_screen(l);
	} else {
		l->signal = (int)si->ssi_signo;
		end_loop(l, 0);
	}
	return 0;
}

/* The signals are blocked before the terminal is opened, so that none ends this program while the terminal is not as it
 * was found. */
static int watch_signals(struct live *l)
{
	sigset_t mask;
	int r = 0;

	sigemptyset(&mask);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaddset(&mask, signals[i]);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	for (size_t i = 0; i < ARRAY_LEN(signals) && r >= 0; i++)
		r = sd_event_add_signal(l->c->event, &l->signals[i], signals[i], on_signal, l);
	return r;
}

/* ---- the whole ---- */

int top_live_fetch(struct cli *c, const struct top_ask *ask, struct top_docs *docs,
		   struct err *err)
{
	json_t *answers[TOP_REQUESTS_MAX] = { NULL };
	struct top_plan plan;
	int r = top_fetch_plan(ask, &plan, err);

	if (r < 0)
		return r;
	for (int i = 0; i < plan.n && r == 0; i++) {
		r = cli_get(c, plan.of[i].path, &answers[i], err);
		if (r < 0 && r != -EHOSTUNREACH && plan.of[i].is_optional)
			r = 0;
	}
	if (r == 0)
		top_fetch_keep(docs, &plan, answers, clock_ns(CLOCK_REALTIME));
	for (int i = 0; i < plan.n && r < 0; i++)
		json_decref(answers[i]);
	top_plan_done(&plan);
	return r;
}

static void live_done(struct live *l)
{
	cancel_refresh(l);
	sd_event_source_disable_unref(l->input);
	sd_event_source_disable_unref(l->timer);
	sd_event_source_disable_unref(l->clock);
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sd_event_source_disable_unref(l->signals[i]);
}

static int add_sources(struct live *l)
{
	sd_event *e = l->c->event;
	int r = watch_signals(l);

	if (r >= 0)
		r = sd_event_add_time_relative(e, &l->timer, CLOCK_MONOTONIC,
					       (uint64_t)(l->ui->delay_s * US_PER_S), 0,
					       on_timer, l);
	if (r >= 0)
		r = sd_event_add_time_relative(e, &l->clock, CLOCK_MONOTONIC, CLOCK_US, 0,
					       on_clock, l);
	if (r >= 0)
		r = sd_event_source_set_enabled(l->clock, SD_EVENT_OFF);
	if (r >= 0)
		r = sd_event_add_io(e, &l->input, STDIN_FILENO, EPOLLIN, on_input, l);
	return r < 0 ? err_set(l->err, r, "cannot make the event loop: %s", strerror(-r)) : 0;
}

int top_live_run(struct cli *c, struct top_ui *ui, struct top_docs *docs, struct err *err)
{
	struct live l = { .c = c, .ui = ui, .docs = docs, .shown = ui->ask, .err = err };
	int r = add_sources(&l);

	c->shows_progress = false; /* the screen says what is waited for */
	if (r == 0)
		r = top_terminal_open(c->format.color, err);
	if (r == 0)
		r = draw_screen(&l);
	if (r == 0 && sd_event_loop(c->event) < 0)
		r = err_set(err, -EIO, "the event loop failed");
	top_terminal_close();
	live_done(&l);
	if (l.signal)
		c->exit_code = 128 + l.signal;
	return r < 0 ? r : l.result;
}
