/* SPDX-License-Identifier: GPL-2.0-or-later */
/* profile - loads a site's profile as the policy of a replay: those parts of the configuration
 * that decide the order of starts. */
#pragma once
#include "cli/simulate/grants.h"
#include "cli/simulate/machine.h"
#include "cli/simulate/qos.h"
#include "controller/simulate/profile.h"

struct err;

struct simulate_profile {
	struct config *config;
	struct simulate_qos qos;
	struct simulate_grants grants;
	struct sim_profile policy;
	const struct sim_trace *trace; /* the jobs to replay: all, or all but refused ones */
};

struct simulate_profile_ask {
	const char *name; /* a name or a file */
	const struct machine *machine;
	const struct accounts *accounts; /* NULL: none are known */
	const struct sim_trace *trace;
	const char *qos; /* of all jobs; NULL: each job's own in the trace */
	const struct simulate_groups *groups;
	const char *cluster; /* of its jobs; NULL: the trace does not name one */
};
/* The caller calls simulate_profile_done(), also after an error. -ENOENT: no such profile; err
 * lists the shipped ones; -EINVAL: a fault in it, or no such QOS. */
int simulate_profile_load(const struct simulate_profile_ask *ask, struct simulate_profile *ret,
			  struct err *err);
void simulate_profile_done(struct simulate_profile *p);
