/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bounded.c - a timer whose signal is SIGKILL; see bounded.h. */
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>
#include "common/process/bounded.h"

int bounded_begin(int limit_s)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	struct itimerspec when = { .it_value.tv_sec = limit_s };
	struct rlimit core = { 0, 0 };
	timer_t timer;

	if (limit_s <= 0)
		return -EINVAL;
	if (setrlimit(RLIMIT_CORE, &core) < 0 ||
	    timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &when, NULL) < 0)
		return -errno;
	return 0;
}
