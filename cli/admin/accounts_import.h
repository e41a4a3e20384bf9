/* accounts_import - `reeve admin accounts import` and `export`: accounts from and for other
 * systems. */
#pragma once
#include "cli/cli.h"

extern const struct verb accounts_verb_import, accounts_verb_export;
