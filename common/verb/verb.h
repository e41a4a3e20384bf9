/* SPDX-License-Identifier: GPL-2.0-or-later */
/* verb - one table of a tool's verbs: options, arity, help, completion and man page come from
 * it.
 *
 * A tool of one verb (a daemon) uses verb_parse() and verb_help() with that one; a tool of many
 * uses verb_main(). Nothing here exits or prints an error: the caller does.
 */
#pragma once
#include <stdbool.h>
#include <stdio.h>

struct err;

/* Tables end with an option without a name. */
struct verb_option {
	const char *name; /* long, without dashes */
	char letter;	  /* 0: none */
	/* What to show for its argument; NULL: takes none. "[=NAME]": it may be left out, and is written behind "=" (behind the letter
	 * without one). */
	const char *arg;
	const char *help;
	const char *words; /* for completion: the possible values, by blanks; NULL: anything */
};

struct verb_call;

struct verb {
	const char *name, *args;	   /* "job", "ID" */
	const char *help;		   /* one line, without a full stop */
	const char *details;		   /* paragraphs; lines below 80 columns; NULL: none */
	const char *examples;		   /* lines, each a command as typed */
	const struct verb_option *options; /* NULL: only the common ones */
	int min_args, max_args;		   /* max_args < 0: any number */
	bool stop_at_args; /* what follows the first argument belongs to it, options too */
	int (*run)(const struct verb_call *call, void *ctx, struct err *err);
};

struct verb_tool {
	const char *name, *help;	 /* "reeve", one line */
	const char *details;		 /* for the tool's own help and man page; NULL: none */
	const char *footer;		 /* exit status; shown in every help */
	const struct verb *const *verbs; /* ends with NULL */
	/* Options of every verb; should have "help". A verb's own option of the same name or
	 * letter hides the common one's. */
	const struct verb_option *common;
};

struct verb_given {
	const struct verb_option *option;
	const char *value; /* NULL: the option takes none, or it was left out */
};

/* What was typed. Points into argv and the tables; release with verb_done(). */
struct verb_call {
	const struct verb *verb;
	struct verb_given *given; /* in the order typed */
	int n_given;
	char **args; /* NULL-terminated */
	int n_args;
	bool dashes; /* the arguments were set off by "--" */
};

struct verb_argv {
	char **argv; /* argv[0] is the verb's (or the tool's) own name; permuted by parsing */
	int argc;
};

/* 0, or -EINVAL with what is wrong and the nearest known option. Arity is not checked when
 * "help" or "version" is among the options given. *ret needs verb_done() after 0. */
int verb_parse(const struct verb *v, const struct verb_option *common, struct verb_argv typed,
	       struct verb_call *ret, struct err *err);
void verb_done(struct verb_call *call);

/* The last value given for the option, or NULL. */
const char *verb_value(const struct verb_call *call, const char *option);
/* How often the option was given. */
int verb_count(const struct verb_call *call, const char *option);

/* argv[1] names the verb. Its --help goes to stdout; else its run() is called, whose result is
 * returned. -EINVAL: no verb, unknown verb (with the nearest), bad options, wrong arity.
 * *ret_verb (may be NULL) is the verb as soon as it is known, for messages. */
int verb_main(const struct verb_tool *tool, struct verb_argv typed, void *ctx,
	      const struct verb **ret_verb, struct err *err);

/* NULL: not known, with the nearest in err. */
const struct verb *verb_find(const struct verb_tool *tool, const char *name, struct err *err);

/* What --help shows: of one verb, or of the whole tool (v NULL). A tool whose table has one
 * verb of the tool's own name is shown as that verb. */
void verb_help(const struct verb_tool *tool, const struct verb *v, FILE *to);
/* Words for completion, one a line: the verbs (v NULL), or the verb's options. */
void verb_words(const struct verb_tool *tool, const struct verb *v, FILE *to);
/* The man page's COMMANDS, COMMON OPTIONS and EXIT STATUS sections as scdoc(5). */
void verb_scdoc(const struct verb_tool *tool, FILE *to);
