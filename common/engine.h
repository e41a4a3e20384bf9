/* SPDX-License-Identifier: GPL-2.0-or-later */
/* engine.h - which program starts the jobs of a node or a cluster: Engine= of agent.conf and of [Cluster], `engine` of a
 * node's sync. */
#pragma once

enum engine { ENGINE_REEVE, ENGINE_SLURM, ENGINE_PBS };

/* Another program starts the jobs there, and Reeve's agents report them. */
static inline int engine_is_foreign(enum engine e)
{
	return e != ENGINE_REEVE;
}

/* The words of configuration and wire, by enum engine; then NULL. */
static const char *const engine_words[]
	__attribute__((unused)) = { "reeve", "slurm", "pbs", NULL };
