/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop.c - the task that is due longest runs next; see loop.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "slurm/follow/loop.h"

#define RETRY_FIRST_S 1
#define RETRY_MAX_S 60

struct timing {
	int64_t due_ns;	 /* monotonic */
	int64_t retry_s; /* 0: the last run was good */
};

static size_t count_tasks(const struct loop_task *tasks)
{
	size_t n = 0;

	while (tasks[n].run)
		n++;
	return n;
}

/* A signal that is handled does not cut the wait: the programs here leave SIGTERM its default action. */
static void sleep_until(int64_t at_ns)
{
	const struct timespec at = { at_ns / S_NS, at_ns % S_NS };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* The log has the first failure of a row and no more; `systemctl status` shows the last one. */
static void note_failure(const struct loop_task *task, struct timing *t, const struct err *err)
{
	if (!t->retry_s)
		log_line(LOG_WARNING, "%s: %s", task->name, err->text);
	else
		log_line(LOG_DEBUG, "%s, again: %s", task->name, err->text);
	sd_notifyf(0, "STATUS=%s: %s", task->name, err->text);
	t->retry_s = t->retry_s ? 2 * t->retry_s : RETRY_FIRST_S;
	if (t->retry_s > RETRY_MAX_S)
		t->retry_s = RETRY_MAX_S;
}

static void note_success(const struct loop_task *task, struct timing *t)
{
	if (t->retry_s)
		log_line(LOG_NOTICE, "%s: goes on", task->name);
	if (t->retry_s)
		sd_notify(0, "STATUS=");
	t->retry_s = 0;
}

/* The watchdog of systemd sees that a run has ended, well or not: a call of libslurm that never returns ends
 * the program. */
static void run_task(struct follow *f, const struct loop_task *task, struct timing *t)
{
	struct err err = { "" };
	int r = task->run(f, &err);
	int64_t wait_s = 0;

	if (r < 0)
		note_failure(task, t, &err);
	else
		note_success(task, t);
	if (r != LOOP_AGAIN)
		wait_s = r < 0 ? t->retry_s : task->interval_s(f);
	t->due_ns = clock_ns(CLOCK_MONOTONIC) + wait_s * S_NS;
	sd_notify(0, "WATCHDOG=1");
}

/* For --once: no waiting, no repeating of what fails. */
static int run_once(struct follow *f, const struct loop_task *tasks, struct err *err)
{
	for (; tasks->run; tasks++) {
		int r;

		do
			r = tasks->run(f, err);
		while (r == LOOP_AGAIN);
		if (r < 0)
			return err_prefix(err, r, "%s", tasks->name);
	}
	return 0;
}

int loop_run(struct follow *f, const struct loop_task *tasks, bool once, struct err *err)
{
	size_t n = count_tasks(tasks), next;
	_cleanup_free_ struct timing *t = calloc(n + 1, sizeof(*t));

	if (!t)
		return err_set(err, -ENOMEM, "out of memory");
	if (once)
		return run_once(f, tasks, err);
	for (;;) {
		next = 0;
		for (size_t i = 1; i < n; i++)
			if (t[i].due_ns < t[next].due_ns)
				next = i;
		sleep_until(t[next].due_ns);
		run_task(f, &tasks[next], &t[next]);
	}
}
