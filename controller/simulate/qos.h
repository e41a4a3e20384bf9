/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qos - the QOS of a profile for a replay, and the QOS of each job. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define SIM_QOS_NONE UINT32_MAX
#define SIM_MICRO INT64_C(1000000)

struct sim_qos {
	const char *name;
	int64_t priority;     /* its own */
	int64_t factor_micro; /* usage of a core-second in it, in millionths of a core-second */
	int64_t running_cores, running_jobs; /* of each user in it; ELIGIBLE_NO_LIMIT */
};

struct sim_qos_use {
	const struct sim_qos *list;
	size_t n;
	const uint32_t *of; /* of each job of the trace: index, or SIM_QOS_NONE; NULL: no job
			       has one */
};

static inline const struct sim_qos *sim_qos_of(const struct sim_qos_use *u, uint32_t job)
{
	return u->of && u->of[job] != SIM_QOS_NONE ? &u->list[u->of[job]] : NULL;
}
