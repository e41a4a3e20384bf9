/* accounts_import - `reeve admin accounts import` and `export`: accounts from and for other
 * systems. */
#pragma once
#include "cli/cli.h"

extern const struct verb admin_verb_accounts_import, admin_verb_accounts_export;
