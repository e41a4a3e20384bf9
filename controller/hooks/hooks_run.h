/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_run - one run of the program, with a document on its standard input. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct err;
struct hook_run;
struct sd_event;

enum hook_end { HOOK_EXITED, HOOK_SIGNALED, HOOK_TIMED_OUT };

struct hook_ask {
	struct sd_event *event;
	const char *program;
	int64_t time_limit_s;
	const char *document;	  /* copied */
	char *const *environment; /* all of it */
	/* Called once, when the run has ended and was freed. `status`: exit status or signal.
	 */
	void (*ended)(void *ctx, enum hook_end how, int status);
	void *ctx;
};

/* Starts it in a process group of its own, without a shell; its output goes to the journal.
 * -ENOENT, -EACCES ... when it cannot be run. */
int hook_run(const struct hook_ask *ask, struct hook_run **ret, struct err *err);
/* Kills the program and its process group; `ended` is not called. */
struct hook_run *hook_run_kill(struct hook_run *r);
