/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.c - an interactive step at this terminal; see session.h. */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-event.h>
#include "cli/client/session/session.h"
#include "cli/client/session/terminal.h"
#include "common/err.h"
#include "common/model/console/console.h"
#include "common/wire/doc.h"

struct running {
	struct session *session;
	struct err *err;
	bool is_done;
	int result;
};

static void on_done(void *ctx, enum console_end end, int result, const struct err *err)
{
	struct running *r = ctx;

	r->session->end = end;
	r->result = result;
	r->is_done = true;
	if (result < 0 && err)
		*r->err = *err;
}

static void print_end(const struct session *s)
{
	if (s->end == CONSOLE_DETACHED)
		fprintf(stderr,
			"\nreeve %s: detached; step %" PRId64
			" continues: reeve attach %" PRId64 "\n",
			s->verb, s->step, s->job);
	if (s->end == CONSOLE_HUNG_UP)
		fprintf(stderr, "\nreeve %s: hung up\n", s->verb);
	if (s->end == CONSOLE_TAKEN)
		fprintf(stderr, "\nreeve %s: another terminal has taken over\n", s->verb);
}

int session_read_hangup(const struct verb_call *call, bool *keeps, struct err *err)
{
	const char *typed = verb_value(call, "on-hangup");

	if (!typed)
		return 0;
	*keeps = !strcmp(typed, "keep");
	return *keeps || !strcmp(typed, "cancel")
		       ? 0
		       : err_set(err, -EINVAL, "--on-hangup %.32s: it is cancel or keep",
				 typed);
}

int session_read(const struct verb_call *call, const char *verb, struct session *ret,
		 struct err *err)
{
	ret->verb = verb;
	ret->is_pty = verb_count(call, "pty") > 0;
	ret->has_input = verb_count(call, "stdin") > 0;
	return session_read_hangup(call, &ret->keeps, err);
}

bool session_is_wanted(const struct session *s)
{
	return s->is_pty || s->has_input;
}

int session_encode(const struct session *s, json_t *body, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_edit(body);
	int rows = 0, cols = 0;

	if (!session_is_wanted(s))
		return 0;
	if (json_array_size(json_object_get(body, "nodes")) > 1)
		return err_set(err, -EINVAL,
			       "--pty and --stdin are for one node; name it with --node");
	if (s->is_pty)
		terminal_size(&rows, &cols);
	doc_text(&d, "console", s->is_pty ? "pty" : "pipes");
	doc_text(&d, "on_hangup", s->keeps ? "keep" : "end");
	doc_int(&d, "rows", rows < CONSOLE_SIDE_MAX ? rows : CONSOLE_SIDE_MAX);
	doc_int(&d, "cols", cols < CONSOLE_SIDE_MAX ? cols : CONSOLE_SIDE_MAX);
	doc_flag(&d, "main", s->is_main);
	return doc_check(&d, err);
}

static void block_winch(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
}

int session_run(const struct cli *c, struct session *s, const bool *quit, struct err *err)
{
	_cleanup_(console_closep) struct console *k = NULL;
	struct running run = { .session = s, .err = err };
	const struct console_config config = { .verb = s->verb,
					       .job = s->job,
					       .step = s->step,
					       .is_pty = s->is_pty,
					       .is_attaching = s->is_attaching,
					       .takes_over = s->takes_over,
					       .keeps = s->keeps,
					       .output = s->output,
					       .done = on_done,
					       .ctx = &run };
	int r;

	block_winch();
	r = console_open(c, &config, &k, err);
	if (r >= 0 && s->is_pty)
		r = terminal_make_raw(err);
	while (r >= 0 && !run.is_done && !*quit)
		r = sd_event_run(c->event, UINT64_MAX);
	terminal_restore();
	if (r >= 0 && !run.is_done)
		console_leave(k, !s->keeps);
	else if (r >= 0 && run.result == 0)
		print_end(s);
	return r < 0 ? r : run.result;
}
