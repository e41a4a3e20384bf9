/* SPDX-License-Identifier: GPL-2.0-or-later */
/* dispatch.c - finds and runs a command of a verb that has a table of commands (`reeve admin`,
 * `reeve admin accounts`); see admin.h. */
#include <errno.h>
#include "cli/admin/admin.h"
#include "common/err.h"

/* Like main(): args[-1] stands where the program's name does. The parser stops at the first
 * argument, so options given here were typed before the command. */
int admin_dispatch(const struct verb_call *call, struct cli *c, struct verb_tool sub,
		   struct err *err)
{
	const struct verb_tool *whole = c->tool;
	struct verb_argv typed = { call->args - 1, call->n_args + 1 };
	const struct verb *verb = NULL;
	int r;

	if (call->n_given)
		return err_set(err, -EINVAL, "write options behind the command: %s %.40s --%s",
			       sub.name, call->args[0], call->given[0].option->name);
	sub.footer = whole->footer;
	sub.common = whole->common;
	c->tool = &sub;
	r = verb_main(&sub, typed, c, &verb, err);
	c->tool = whole;
	return r < 0 && verb ? err_prefix(err, r, "%s", verb->name) : r;
}
