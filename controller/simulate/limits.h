/* SPDX-License-Identifier: GPL-2.0-or-later */
/* limits - how much each user may run at once in a QOS, in a replay.
 *
 * Pure. The rule is that of controller/policy/quota/eligible.h with the scopes of a live
 * cluster: one for each user in each QOS that states a limit. A suspended job counts as a job,
 * and holds no cores.
 */
#pragma once
#include <stdbool.h>
#include "controller/simulate/qos.h"
#include "controller/simulate/trace.h"

struct sim_limits;

/* *ret is NULL where no QOS states a limit. -ENOMEM. */
int sim_limits_new(const struct sim_trace *t, const struct sim_qos_use *use,
		   struct sim_limits **ret);
struct sim_limits *sim_limits_free(struct sim_limits *l);
DEFINE_CLEANUP(struct sim_limits *, sim_limits_free)

/* May it start now? */
bool sim_limits_may_start(const struct sim_limits *l, uint32_t job);
void sim_limits_start(struct sim_limits *l, uint32_t job);
/* It ended; or sim_limits_start() was called and it did not start. */
void sim_limits_end(struct sim_limits *l, uint32_t job);
/* A suspended job frees its cores; a resumed one takes them again. */
void sim_limits_suspend(struct sim_limits *l, uint32_t job);
void sim_limits_resume(struct sim_limits *l, uint32_t job);
