/* SPDX-License-Identifier: GPL-2.0-or-later */
/* carry_out - carries out the actions of a pass: writes them to the ledger and reports them. */
#pragma once
#include "controller/dispatch/cycle_impl.h"

struct carry_out_ask {
	struct cycle *cycle;
	struct cycle_cluster *cluster;
	const struct cycle_run *run;
	const struct schedule_action *actions;
	size_t n_actions;
};
/* Starts the pending starts whose cores are free, then carries out the actions in their order. A
 * start whose cores are still in use becomes a pending start. The next cycle reads all jobs of the
 * actions from the ledger again. */
int carry_out_pass(const struct carry_out_ask *ask, struct err *err);
