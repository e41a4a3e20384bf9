/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_open.h - open what struct node has, and register the callbacks of agent/job with the rooms below. */
#pragma once
#include "agent/node.h"

/* Opens everything but the uplink and the sockets for jobs, in the order of dependence. A failure that the node can
 * do without becomes a note. node_close() closes what was opened. */
int node_open(struct node *n, const struct agent_config *conf, struct err *err);
void node_close(struct node *n);
