/* SPDX-License-Identifier: GPL-2.0-or-later */
/* console.h - connects standard input and output to an interactive step (docs/interactive.md).
 *
 * Two connections: a long poll for output, and one for input. What the step has not acknowledged is kept and sent again, so that
 * a controller that restarts loses nothing.
 */
#pragma once
#include "cli/cli.h"

struct console;

enum console_end {
	CONSOLE_ENDED,	  /* the step has ended, and its output is written */
	CONSOLE_DETACHED, /* by ~d: the step continues */
	CONSOLE_HUNG_UP,  /* by ~.: the step is being ended */
	CONSOLE_TAKEN,	  /* another terminal has taken over */
};

struct console_config {
	const char *verb; /* for messages */
	int64_t job, step;
	bool is_pty;
	bool is_attaching; /* to a step that runs: also what it printed before, as far as that is kept */
	bool takes_over; /* from another terminal */
	bool keeps;	 /* the step continues when this terminal is lost */
	int output;	 /* descriptor for standard output */
	/* Called once; result < 0: as in cli.h, err says why. */
	void (*done)(void *ctx, enum console_end end, int result, const struct err *err);
	void *ctx;
};

/* SIGWINCH must be blocked, and be the console's. Raw mode is the caller's (terminal.h). */
int console_open(const struct cli *c, const struct console_config *config, struct console **ret,
		 struct err *err);
struct console *console_close(struct console *k);
DEFINE_CLEANUP(struct console *, console_close)
/* Tells the step, in at most two seconds, that this terminal is gone: `ends`: the step is to end. Runs the event loop. */
void console_leave(struct console *k, bool ends);
