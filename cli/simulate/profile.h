/* profile - a site's profile as the policy of a replay: the part of its configuration
 * that decides the order of starts. */
#pragma once
#include "cli/simulate/machine.h"
#include "cli/simulate/qos.h"
#include "controller/simulate/profile.h"

struct err;

struct simulate_profile {
	struct config *config;
	struct simulate_qos qos;
	struct sim_profile policy;
	const struct sim_trace
		*trace; /* what is replayed: the whole, or without refused jobs */
};

struct simulate_profile_ask {
	const char *name; /* a name or a file */
	const struct machine *machine;
	const struct accounts *accounts; /* NULL: none are known */
	const struct sim_trace *trace;
	const char *qos; /* of all jobs; NULL: what the trace says */
};
/* *ret needs simulate_profile_done() in any case. -ENOENT: no such profile, with those there
 * are; -EINVAL: a fault in it, or no such QOS. */
int simulate_profile_load(const struct simulate_profile_ask *ask, struct simulate_profile *ret,
			  struct err *err);
void simulate_profile_done(struct simulate_profile *p);
