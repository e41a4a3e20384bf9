/* declared - the accounts that the running controller goes by: those of the ledger when any
 * were ever applied, else those that controller.conf declares in its [Account] sections. */
#pragma once
#include "controller/api/call.h"

/* Sets a->accounts, at start. */
int declared_open(struct api *a, struct err *err);
/* Reads them again after a change; whoever goes by them is told. On failure the former ones
 * stay. */
int declared_reload(struct api *a, struct err *err);
void declared_close(struct api *a);
