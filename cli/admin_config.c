/* admin_config.c - `reeve admin check-config`: is a configuration file right? */
#include <errno.h>
#include "cli/admin.h"
#include "common/err.h"
#include "controller/config/config.h"

static int check_config(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	const char *path = call->n_args ? call->args[0] : "/etc/reeve/controller.conf";
	int r = cli_begin_offline(ctx, call, err);

	if (r == 0)
		r = config_load(path, &config, err);
	if (r < 0)
		return r == -ENOMEM ? r : -EBADMSG;
	printf("%s: no faults\n", path);
	return 0;
}

const struct verb admin_verb_check_config = {
	.name = "check-config",
	.args = "[FILE]",
	.help = "Find the faults of a configuration file, by file and line",
	.examples = "reeve admin check-config\n"
		    "reeve admin check-config ./controller.conf",
	.max_args = 1,
	.run = check_config,
};
