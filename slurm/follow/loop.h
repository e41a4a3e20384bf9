/* SPDX-License-Identifier: GPL-2.0-or-later */
/* loop - runs named tasks again and again, each at its own interval, one after the other.
 *
 * libslurm's calls block, so a task is a plain function that may take its time; the others wait. A task that fails is
 * repeated after 1 s, doubling to 60 s, and its first failure and its recovery are logged. No task keeps anything that
 * would be missed: the program may be killed at any moment.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct follow;

/* There is more to do: the task runs again as soon as the others that are due have run. */
#define LOOP_AGAIN 1

struct loop_task {
	const char *name; /* for the log */
	/* Seconds from the end of a run to the next one. */
	int64_t (*interval_s)(const struct follow *f);
	/* 0, LOOP_AGAIN, or < 0 with words. */
	int (*run)(struct follow *f, struct err *err);
};

/* Until the process is ended. `tasks` ends with an empty one. With `once` each task runs until it has nothing more to
 * do or fails, and the loop returns: the first failure, or 0. */
int loop_run(struct follow *f, const struct loop_task *tasks, bool once, struct err *err);
