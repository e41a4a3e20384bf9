/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin.c - `reeve admin`: the table of its commands; see admin.h. */
#include "cli/admin/admin.h"

static const struct verb *const verbs[] = {
	&admin_verb_check_config,
	&admin_verb_doctor,
	&admin_verb_verify,
	&admin_verb_rebuild,
	&admin_verb_reprice,
	&admin_verb_reconcile,
	&admin_verb_adjust,
	&admin_verb_adjustments,
	&admin_verb_accounts,
	&admin_verb_migrate,
	&admin_verb_archive,
	&admin_verb_backup,
	&admin_verb_restore,
	&admin_verb_downgrade,
	&admin_verb_balances,
	&admin_verb_storage,
	&admin_verb_outage,
	&cli_verb_admin_help,
	NULL,
};

static int run_admin(const struct verb_call *call, void *ctx, struct err *err)
{
	const struct verb_tool sub = {
		.name = "reeve admin",
		.help = "Check and change configuration, ledger and accounts",
		.verbs = verbs,
	};

	return admin_dispatch(call, ctx, sub, err);
}

const struct verb cli_verb_admin = {
	.name = "admin",
	.args = "COMMAND ...",
	.help = "Check configuration and manage accounts and ledgers",
	.details =
		"'reeve admin help' lists the commands, 'reeve admin help COMMAND' shows one.",
	.examples = "reeve admin help\n"
		    "reeve admin check-config /etc/reeve/controller.conf",
	.min_args = 1,
	.max_args = -1,
	.stop_at_args = true,
	.run = run_admin,
};
