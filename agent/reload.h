/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reload.h - SIGHUP: agent.conf is read and checked again as a whole, and what may change while jobs run
 * is applied.
 */
#pragma once
#include "agent/node.h"

struct agent_reload {
	const char *path;	   /* of agent.conf */
	struct agent_config *conf; /* node.conf */
	bool is_debug;		   /* --debug: goes before LogLevel */
};

/* Logs what changed, or each mistake: then nothing has changed. */
void agent_reload(struct node *n, const struct agent_reload *from);
/* The priority down to which lines are logged. */
int agent_reload_level(const struct agent_reload *from);
