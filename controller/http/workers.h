/* SPDX-License-Identifier: GPL-2.0-or-later */
/* workers - threads for what waits for another program or reads much, and shares nothing with the rest: munged's answers, the JSON of
 * large bodies. The event loop goes on meanwhile, and gets the results as events.
 */
#pragma once
#include <stdbool.h>

struct err;
struct sd_event;
struct workers;

/* What is to be done, at the beginning of what it needs. */
struct worker_task {
	struct worker_task *next;
	/* In a thread, or in the loop: touches the task, and what nothing else touches until it is done. */
	void (*work)(struct worker_task *t);
	/* In the loop. Frees the task. `has_worked`: false of a task that was still waiting when the workers were drained. */
	void (*done)(struct worker_task *t, bool has_worked);
};

int workers_open(struct sd_event *event, int n_threads, struct workers **ret, struct err *err);
/* The task is the workers' until it is done. */
void workers_add(struct workers *w, struct worker_task *t);
/* Waits for those that work, calls done() of all, and ends the threads. What is added later is done at once, within workers_add(). */
void workers_drain(struct workers *w);
struct workers *workers_close(struct workers *w);
