/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cli_http - one exchange by common/http, for a script to judge: prints "RESULT WORDS".
 *
 * Usage: cli_http loop|cancel|ask|twice|ahead|astray URL MUNGE_SOCKET ANSWER_UID PATH. The answer has one second.
 * `ask` waits for the answer without an event loop; `twice` asks again half a second later. `ahead` announces /next during the first
 * call, and asks for it half a second later; `astray` announces it too, but asks for PATH again.
 * `cancel` starts a call, cancels it, starts another, and prints how many came back.
 */
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <systemd/sd-event.h>
#include "common/err.h"
#include "common/http/http.h"

struct seen {
	int calls, result;
	struct err err;
	sd_event *event;
};

static void on_done(void *ctx, int result, json_t *answer, const struct err *err)
{
	struct seen *s = ctx;

	s->calls++;
	s->result = result;
	s->err = *err;
	json_decref(answer);
	sd_event_exit(s->event, 0);
}

/* Prints the error of a call that failed, and ends. */
static void check_result(int r, const struct err *err)
{
	if (r >= 0)
		return;
	printf("%d %s\n", r, err->text);
	exit(1);
}

static const char *name_next(void *ctx, int64_t next)
{
	static int calls;

	(void)ctx;
	return next == 7 && calls++ == 0 ? "/next" : NULL;
}

/* Again, of the path `second` where there is one. */
static int ask_times(struct http *h, struct http_call call, int times, const char *second)
{
	const struct http_patience none = { 0, NULL, NULL };
	struct err err = { "" };
	json_t *answer;

	for (; times; times--) {
		int r = http_ask(h, call, none, &answer, &err);

		printf("%d %s\n", r, r ? err.text : "");
		json_decref(answer);
		if (times > 1)
			usleep(500 * 1000);
		if (second)
			call.path = second;
	}
	http_close(h);
	return 0;
}

int main(int argc, char **argv)
{
	struct http_config config = { .timeout_s = 1 };
	struct http_call call = { .method = "GET" };
	struct seen seen = { .calls = 0 };
	struct http *h = NULL;
	struct err *err = &seen.err;

	if (argc != 6)
		return 2;
	config.url = argv[2];
	config.munge_socket = argv[3];
	config.answer_uid = atoll(argv[4]);
	call.path = argv[5];
	check_result(http_open(&config, &h, err), err);
	if (argv[1][0] == 'a')
		call.next_path = name_next;
	if (!strcmp(argv[1], "ask") || !strcmp(argv[1], "twice") || !strcmp(argv[1], "astray"))
		return ask_times(h, call, strcmp(argv[1], "ask") ? 2 : 1, NULL);
	if (!strcmp(argv[1], "ahead"))
		return ask_times(h, call, 2, "/next");
	sd_event_new(&seen.event);
	check_result(http_attach(h, seen.event, err), err);
	check_result(http_start(h, call, on_done, &seen, err), err);
	if (!strcmp(argv[1], "cancel")) {
		if (http_start(h, call, on_done, &seen, err) != -EBUSY)
			return 3;
		sd_event_run(seen.event, 0);
		http_cancel(h);
		http_cancel(h);
		check_result(http_start(h, call, on_done, &seen, err), err);
	}
	sd_event_loop(seen.event);
	if (!strcmp(argv[1], "cancel"))
		printf("%d %d call\n", seen.result, seen.calls);
	else
		printf("%d %s\n", seen.result, seen.err.text);
	http_close(h);
	sd_event_unref(seen.event);
	return 0;
}
