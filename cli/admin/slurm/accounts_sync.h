/* SPDX-License-Identifier: GPL-2.0-or-later */
/* accounts_sync - `reeve admin accounts sync`: brings Reeve's accounts and those of a Slurm cluster in step. */
#pragma once
#include "cli/cli.h"

extern const struct verb admin_verb_accounts_sync;
