/* node_open.h - opens what struct node holds, and gives the rooms below the flow's callbacks. */
#pragma once
#include "agent/node.h"

/* Opens all doors but uplink and job sockets, in the order that they depend on each other.
 * What is missing but not vital becomes a note. node_close() closes what was opened. */
int node_open(struct node *n, const struct agent_config *conf, struct err *err);
void node_close(struct node *n);
