/* SPDX-License-Identifier: GPL-2.0-or-later */
/* active_accounts - the accounts that the controller uses at the moment: those of the ledger when
 * any were ever applied, else those of the [Account] sections of controller.conf. */
#pragma once
#include "controller/api/context.h"

/* Sets a->accounts, at start. */
int active_accounts_open(struct api *a, struct err *err);
/* Reads them again after a change. On failure the former ones stay. */
int active_accounts_reload(struct api *a, struct err *err);
void active_accounts_close(struct api *a);
