/* hooks_run - one run of the program: a document on its standard input, and its end. */
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
	/* Called once; the run is gone then. `status` is the exit status or the signal. */
	void (*ended)(void *ctx, enum hook_end how, int status);
	void *ctx;
};

/* In a process group of its own, without a shell; what it says goes to the journal. -ENOENT,
 * -EACCES ... when it cannot be run. */
int hook_run(const struct hook_ask *ask, struct hook_run **ret, struct err *err);
/* Kills it and all it started; `ended` is not called. */
struct hook_run *hook_run_kill(struct hook_run *r);
