/* SPDX-License-Identifier: GPL-2.0-or-later */
/* help.c - `reeve help`: help, and the input of shell completion and man page. */
#include <errno.h>
#include <stdio.h>
#include "cli/cli.h"
#include "common/err.h"

static const struct verb_option options[] = {
	{ "words", 0, NULL, "print all words of the command line, one a line (for completion)",
	  NULL },
	{ "scdoc", 0, NULL, "print the commands as scdoc(5) text (for the manual page)", NULL },
	{ 0 },
};

static int run_help(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool *tool = ((const struct cli *)ctx)->tool;
	const struct verb *v = NULL;

	if (call->n_args) {
		v = verb_find(tool, call->args[0], err);
		if (!v)
			return -EINVAL;
	}
	if (verb_count(call, "scdoc"))
		verb_scdoc(tool, stdout);
	else if (verb_count(call, "words"))
		verb_words(tool, v, stdout);
	else
		verb_help(tool, v, stdout);
	return 0;
}

#define HELP_VERB(of, example)                                                                 \
	{                                                                                      \
		.name = "help", .args = "[COMMAND]",                                           \
		.help = "List the commands, or show how one is used",                          \
		.examples = of " help\n" of " help " example, .options = options,              \
		.max_args = 1, .run = run_help,                                                \
	}
const struct verb cli_verb_help = HELP_VERB("reeve", "submit");
const struct verb cli_verb_admin_help = HELP_VERB("reeve admin", "check-config");
const struct verb cli_verb_storage_help = HELP_VERB("reeve admin storage", "import");
const struct verb cli_verb_outage_help = HELP_VERB("reeve admin outage", "add");
const struct verb cli_verb_accounts_help = HELP_VERB("reeve admin accounts", "apply");
