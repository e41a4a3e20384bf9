/* SPDX-License-Identifier: GPL-2.0-or-later */
/* attach.c - `reeve attach`: shows an interactive command of a job that runs at this terminal: what it printed, as far as that is kept,
 * and what it prints from now on; what is typed goes to it. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>
#include <unistd.h>
#include "cli/client/wait/retry.h"
#include "cli/client/session/session.h"
#include "cli/client/session/signals.h"
#include "common/err.h"
#include "common/wire/wire.h"

struct attach {
	struct cli *cli;
	struct session session;
	struct signals signals;
};

static const struct verb_option options[] = {
	{ "step", 's', "N",
	  "this command of the job; default: the last one that is interactive", NULL },
	{ "take-over", 0, NULL, "also when another terminal is attached to it: that one ends",
	  NULL },
	{ "on-hangup", 0, "cancel|keep",
	  "when this terminal is lost: keep the command (default), or cancel it",
	  "cancel keep" },
	{ 0 },
};

/* 1: the step has a console; without a message the controller attaches nothing. */
static int is_interactive(struct attach *a, int64_t step, bool *ret_is_pty)
{
	_cleanup_json_ json_t *body = json_pack("{s:s,s:I,s:s}", "schema", WIRE_SCHEMA, "step",
						(json_int_t)step, "token", "not-attached-yet");
	_cleanup_json_ json_t *answer = NULL;
	struct err ignored;
	char path[80];
	int r;

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/console", a->session.job);
	r = cli_ask(a->cli, (struct http_call){ .method = "POST", .path = path, .body = body },
		    &answer, &ignored);
	*ret_is_pty = json_is_true(json_object_get(answer, "pty"));
	return r == 0;
}

/* The last step that runs and has a console, or the one of --step. */
static int find_step(struct attach *a, int64_t wanted, struct err *err)
{
	int64_t after = wanted ? wanted - 1 : 0;

	for (;;) {
		_cleanup_json_ json_t *answer = NULL;
		const json_t *steps;
		char path[96];
		int r;

		snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/steps?after=%" PRId64,
			 a->session.job, after);
		r = cli_get(a->cli, path, &answer, err);
		if (r < 0)
			return r;
		steps = json_object_get(answer, "steps");
		if (!json_array_size(steps))
			break;
		for (size_t i = 0; i < json_array_size(steps) && (!wanted || i < 1); i++) {
			const json_t *one = json_array_get(steps, i);
			const char *state = cli_text(one, "state");
			bool is_pty = false;

			after = cli_int(one, "step", after + 1);
			if (!state || !strcmp(state, "ended") ||
			    !is_interactive(a, after, &is_pty))
				continue;
			a->session.step = after;
			a->session.is_pty = is_pty;
		}
		if (wanted)
			break;
	}
	if (a->session.step)
		return 0;
	return err_set(err, -ENOENT,
		       "job %" PRId64 " runs no command that was started with --pty or --stdin",
		       a->session.job);
}

static int report_status(struct attach *a, struct err *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *step;
	char path[96];
	int r, number;

	snprintf(path, sizeof(path), "/v1/jobs/%" PRId64 "/steps?step=%" PRId64, a->session.job,
		 a->session.step);
	r = retry_request(a->cli, (struct http_call){ .method = "GET", .path = path },
			  &a->signals.quit, &answer, err);
	if (r != 0)
		return r < 0 ? r : 0;
	step = json_array_get(json_object_get(answer, "steps"), 0);
	number = (int)cli_int(step, "signal", 0);
	a->cli->exit_code =
		number ? 128 + number : (int)cli_int(step, "exit_status", SESSION_NO_EXIT);
	return 0;
}

static int run_attach(const struct verb_call *call, void *ctx, struct err *err)
{
	struct attach a = { .cli = ctx };
	const char *typed = verb_value(call, "step");
	int64_t step = 0;
	int r = typed ? cli_parse_job(typed, &step, err) : 0;

	if (r == 0)
		r = cli_parse_job(call->args[0], &a.session.job, err);
	if (r == 0)
		r = cli_begin_loop(ctx, call, err);
	a.session.verb = "attach";
	a.session.is_attaching = a.session.has_input = true;
	a.session.takes_over = verb_count(call, "take-over") > 0;
	a.session.keeps = true;
	a.session.output = STDOUT_FILENO;
	if (r == 0)
		r = session_read_hangup(call, &a.session.keeps, err);
	if (r == 0)
		r = find_step(&a, step, err);
	if (r == 0)
		r = signals_watch(&a.signals, a.cli->event, NULL, NULL, err);
	if (r == 0)
		r = session_run(ctx, &a.session, &a.signals.quit, err);
	if (r == 0 && a.signals.first)
		a.cli->exit_code = 128 + a.signals.first;
	else if (r == 0 && a.session.end == CONSOLE_ENDED)
		r = report_status(&a, err);
	else if (r == 0 && a.session.end == CONSOLE_HUNG_UP)
		a.cli->exit_code = SESSION_NO_EXIT;
	signals_done(&a.signals);
	return r;
}

const struct verb cli_verb_attach = {
	.name = "attach",
	.args = "JOB",
	.help = "Come back to an interactive command of a job",
	.details =
		"Shows a command that was started with --pty or --stdin (by 'reeve run' or 'reeve\n"
		"exec') at this terminal: the last 768 KiB that it printed, and what it prints\n"
		"from now on. One terminal at a time is attached to a command; another one is\n"
		"refused, unless it takes over. Type ~d at the beginning of a line to leave the\n"
		"command running, ~. to end it. The exit status is the command's.",
	.examples = "reeve attach 12\n"
		    "reeve attach --take-over 12",
	.options = options,
	.min_args = 1,
	.max_args = 1,
	.run = run_attach,
};
