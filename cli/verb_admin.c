/* verb_admin.c - `reeve admin`: a table of commands within the command; see admin.h. */
#include <errno.h>
#include "cli/admin.h"
#include "common/err.h"

static const struct verb *const verbs[] = {
	&admin_verb_check_config, &admin_verb_verify,	&admin_verb_rebuild, &admin_verb_adjust,
	&admin_verb_adjustments,  &admin_verb_accounts, &cli_verb_help,	     NULL,
};

/* As main() does: the command's own name stands where the program's did. */
int admin_dispatch(const struct verb_call *call, struct cli *c, struct verb_tool sub,
		   struct err *err)
{
	const struct verb_tool *whole = c->tool;
	struct verb_argv typed = { call->args - 1, call->n_args + 1 };
	const struct verb *verb = NULL;
	int r;

	if (call->n_given)
		return err_set(err, -EINVAL, "options stand behind the command: %s %.40s --%s",
			       sub.name, call->args[0], call->given[0].option->name);
	sub.footer = whole->footer;
	sub.common = whole->common;
	c->tool = &sub;
	r = verb_main(&sub, typed, c, &verb, err);
	c->tool = whole;
	return r < 0 && verb ? err_prefix(err, r, "%s", verb->name) : r;
}

static int admin(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool sub = {
		.name = "reeve admin",
		.help = "What an operator does to configuration, ledger and accounts",
		.verbs = verbs,
	};

	return admin_dispatch(call, ctx, sub, err);
}

const struct verb cli_verb_admin = {
	.name = "admin",
	.args = "COMMAND ...",
	.help = "Check configuration and keep the accounts",
	.details = "'reeve admin help' lists the commands, and 'reeve admin help COMMAND' says "
		   "more.",
	.examples = "reeve admin help\n"
		    "reeve admin check-config /etc/reeve/controller.conf",
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = admin,
};
