/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c - a thread in sigwait(), an eventfd that stays readable once a signal has come, and the loop; see loop.h. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "common/err.h"
#include "common/log.h"
#include "common/stops/stops.h"
#include "controller/loop.h"

static int ended_fd = -1; /* of the program: readable for ever from the first signal on */

static void end_in_time(void)
{
	const uint64_t one = 1;

	/* Cannot fail: nothing else is written to it. */
	if (write(ended_fd, &one, sizeof(one)) < 0)
		return;
	sleep(LOOP_END_S);
	log_line(
		LOG_WARNING,
		"%s was not done %d s after the signal to end: the program ends without it, and the ledger has nothing of a transaction in progress",
		stops_now(), LOOP_END_S);
	_exit(0);
}

static void *wait_signal(void *ctx)
{
	sigset_t set;
	int which;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	if (sigwait(&set, &which) == 0)
		end_in_time();
	return ctx;
}

static int block_signals(struct err *err)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGHUP);
	signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_set(err, -errno, "signals: %m");
	return 0;
}

int loop_open(struct err *err)
{
	pthread_t thread;
	int r = block_signals(err);

	if (r < 0)
		return r;
	ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ended_fd < 0)
		return err_set(err, -errno, "signals: %m");
	r = pthread_create(&thread, NULL, wait_signal, NULL);
	if (r == 0)
		r = pthread_detach(thread);
	return r ? err_set(err, -r, "the thread of signals: %s", strerror(r)) : 0;
}

static int on_ended(sd_event_source *source, int fd, uint32_t events, void *ctx)
{
	(void)fd;
	(void)events;
	(void)ctx;
	return sd_event_exit(sd_event_source_get_event(source), 0);
}

int loop_watch(struct sd_event *event, struct err *err)
{
	sd_event_source *source = NULL;
	int r = sd_event_add_io(event, &source, ended_fd, EPOLLIN, on_ended, NULL);

	/* Before all that is always ready. */
	if (r >= 0)
		r = sd_event_source_set_priority(source, SD_EVENT_PRIORITY_IMPORTANT);
	if (r >= 0)
		r = sd_event_source_set_floating(source, true);
	sd_event_source_unref(source);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}

static int run_once(struct sd_event *event)
{
	int r = sd_event_prepare(event);

	if (r == 0)
		r = sd_event_wait(event, UINT64_MAX);
	if (r <= 0)
		return r;
	stops_begin();
	r = sd_event_dispatch(event);
	stops_end();
	return r;
}

int loop_run(struct sd_event *event, struct err *err)
{
	int r = 0;

	while (r >= 0 && sd_event_get_state(event) != SD_EVENT_FINISHED)
		r = run_once(event);
	return r < 0 ? err_set(err, r, "event loop: %s", strerror(-r)) : 0;
}
