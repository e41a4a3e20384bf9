/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_import - `reeve admin accounts import` and `export`: accounts from and for other
 * systems. */
#pragma once
#include "cli/cli.h"
#include "cli/admin/accounts_source.h"
#include "controller/accounts/foreign/draft.h"

extern const struct verb admin_verb_accounts_import, admin_verb_accounts_export;

/* Makes the draft the accounts of the source, or shows what that would change. */
int accounts_import_draft(struct accounts_source *s, struct accounts_draft *d,
			  const struct accounts_source_order *how, struct err *err);
