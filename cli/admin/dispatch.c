/* dispatch.c - finds and runs the command behind a verb that is a table itself; see admin.h. */
#include <errno.h>
#include "cli/admin/admin.h"
#include "common/err.h"

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
