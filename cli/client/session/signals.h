/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals.h - SIGINT, SIGTERM and SIGHUP as events of the loop: what waits for an answer ends in order, and leaves no job or step behind.
 * SIGHUP stays ignored where it is (nohup). SIGPIPE is ignored: a write fails with EPIPE.
 */
#pragma once
#include <stdbool.h>
#include <systemd/sd-event.h>

struct err;

struct signals {
	sd_event_source *sources[3]; /* [0]: SIGINT */
	int first;		     /* the first one that came; 0: none */
	bool quit;		     /* one has come; the owner may set it too */
};

/* Blocks them, in this thread, from now on; `handler` NULL: sets `first` and `quit`. < 0: errno. */
int signals_watch(struct signals *s, sd_event *event, sd_event_signal_handler_t handler,
		  void *ctx, struct err *err);
void signals_done(struct signals *s);
