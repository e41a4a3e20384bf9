/* profile - a site's profile as the policy of a replay: what of its configuration says
 * who starts when. */
#pragma once
#include "cli/simulate/machine.h"
#include "controller/simulate/profile.h"

struct err;

/* The profile (a name or a file) on the machine. -ENOENT: no such profile, with those there
 * are; -EINVAL: a fault in it. */
int simulate_load_profile(const char *name, const struct machine *m, struct sim_profile *ret,
			  struct err *err);
