/* SPDX-License-Identifier: GPL-2.0-or-later */
/* signals.c - signals that end a command, as events; see signals.h. */
#include <signal.h>
#include <string.h>
#include "cli/client/session/signals.h"
#include "common/cleanup.h"
#include "common/err.h"

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *ctx)
{
	struct signals *s = ctx;

	(void)source;
	if (!s->first)
		s->first = (int)si->ssi_signo;
	s->quit = true;
	return 0;
}

/* nohup ignores SIGHUP before it starts the program. */
static bool ignores_hangup(void)
{
	struct sigaction now;

	return sigaction(SIGHUP, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

int signals_watch(struct signals *s, sd_event *event, sd_event_signal_handler_t handler,
		  void *ctx, struct err *err)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
	size_t n = ARRAY_LEN(numbers) - ignores_hangup();
	sigset_t set;
	int r = 0;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, numbers[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < n && r >= 0; i++)
		r = sd_event_add_signal(event, &s->sources[i], numbers[i],
					handler ? handler : on_signal, handler ? ctx : s);
	return r < 0 ? err_set(err, r, "cannot watch for signals: %s", strerror(-r)) : 0;
}

void signals_done(struct signals *s)
{
	for (size_t i = 0; i < ARRAY_LEN(s->sources); i++)
		s->sources[i] = sd_event_source_disable_unref(s->sources[i]);
}
