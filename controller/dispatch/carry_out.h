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
 * actions from the ledger again. *ret uses what `ask` points to until carry_out_free(). */
struct carry_out;
int carry_out_new(const struct carry_out_ask *ask, struct carry_out **ret, struct err *err);
/* 1: go on; 0: all is carried out. A start is left out whose job was written since the cycle began, or of which a node
 * takes no jobs any more. b NULL: no limit. */
int carry_out_go_on(struct carry_out *y, const struct schedule_budget *b, struct err *err);
struct carry_out *carry_out_free(struct carry_out *y);
DEFINE_CLEANUP(struct carry_out *, carry_out_free)
