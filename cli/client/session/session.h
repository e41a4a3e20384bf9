/* SPDX-License-Identifier: GPL-2.0-or-later */
/* session.h - runs an interactive step at this terminal until one of them ends. */
#pragma once
#include "cli/client/session/console.h"

/* Options of the verbs that start such a step. */
#define SESSION_OPTIONS                                                                          \
	{ "pty", 't', NULL,                                                                      \
	  "on a terminal of its own, which this one shows: for shells and editors; type ~? for " \
	  "what reeve itself understands",                                                       \
	  NULL },                                                                                \
		{ "stdin", 'i', NULL, "pass on standard input; default: /dev/null", NULL },      \
	{                                                                                        \
		"on-hangup", 0, "cancel|keep",                                                   \
			"when this terminal is lost, with --pty or --stdin: cancel the command " \
			"(default), or keep it for reeve attach",                                \
			"cancel keep"                                                            \
	}

/* Exit status where a command has none, or it is not waited for: it was not started, its job ended first, ~. hung up. */
#define SESSION_NO_EXIT 125

struct session {
	const char *verb;
	int64_t job, step;
	bool is_pty, has_input; /* --pty, --stdin */
	bool is_attaching, takes_over;
	bool is_main; /* the job ends with the step */
	bool keeps;   /* the step continues when this terminal is lost */
	int output;   /* descriptor for standard output */
	/* out */
	enum console_end end;
};

/* -EINVAL: an option has another value. */
int session_read(const struct verb_call *call, const char *verb, struct session *ret,
		 struct err *err);
/* --on-hangup onto *keeps, which stays where it was not given. -EINVAL. */
int session_read_hangup(const struct verb_call *call, bool *keeps, struct err *err);
bool session_is_wanted(const struct session *s);
/* Adds the keys of such a step to the document that starts it. -EINVAL: of several nodes. No effect where none is wanted. */
int session_encode(const struct session *s, json_t *body, struct err *err);

/* Runs the event loop until the session ends or *quit is set; raw mode of the terminal included. 0: s->end says how; < 0: as in
 * cli.h. */
int session_run(const struct cli *c, struct session *s, const bool *quit, struct err *err);
