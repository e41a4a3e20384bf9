/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes_drain - reeve nodes drain|resume NODE...: operators take nodes out of use and back. */
#pragma once
#include "cli/cli.h"

/* After cli_begin(); the arguments are the word and the nodes. */
int nodes_drain_run(const struct verb_call *call, struct cli *c, struct err *err);
/* Below the table of nodes: which are drained, with author, time and reason. */
void nodes_drain_print_reasons(const struct cli *c, const json_t *nodes);
