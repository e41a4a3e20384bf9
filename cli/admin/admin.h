/* SPDX-License-Identifier: GPL-2.0-or-later */
/* admin - `reeve admin COMMAND`: what an operator does to configuration, ledger and accounts.
 *
 * To add a command: write its `struct verb` (name, help, options, run) in a file of its own
 * admin/X.c, declare it in the extern list below and in the table of admin/admin.c. Its run()
 * gets the struct cli as any verb of `reeve` does, and begins with cli_begin(), or with
 * cli_begin_offline() when it needs no controller.
 */
#pragma once
#include "cli/cli.h"

/* Runs a verb that has commands of its own ("reeve admin accounts apply"): the words behind it are
 * a command of `sub`. The caller sets the name ("reeve admin"), help and verbs of sub; its other
 * fields are those of `reeve`. */
int admin_dispatch(const struct verb_call *call, struct cli *c, struct verb_tool sub,
		   struct err *err);

/* `check-config --examples`: computes the published figures of `name`, a profile or a file, under
 * the configuration `own`; NULL: under that profile. Sets the exit code where a figure differs. */
int admin_check_examples(struct cli *c, const char *name, const char *own, struct err *err);

extern const struct verb admin_verb_adjust, admin_verb_adjustments;
extern const struct verb admin_verb_check_config, admin_verb_verify, admin_verb_rebuild;
extern const struct verb admin_verb_reprice, admin_verb_migrate, admin_verb_archive;
extern const struct verb admin_verb_reconcile;
extern const struct verb admin_verb_doctor;
extern const struct verb admin_verb_backup, admin_verb_restore, admin_verb_downgrade;
extern const struct verb admin_verb_accounts, admin_verb_balances, admin_verb_storage;
extern const struct verb admin_verb_outage;
