/* SPDX-License-Identifier: GPL-2.0-or-later */
/* qos - assigns QOS to the jobs of a replay, drops jobs that the site would refuse at submission,
 * and notes what a replay does not simulate. */
#pragma once
#include "controller/accounts/accounts.h"
#include "controller/config/config.h"
#include "controller/simulate/profile.h"

struct err;

struct simulate_qos {
	struct sim_qos_use use;
	struct sim_trace
		view; /* the trace without refused jobs; borrows all but the list of jobs */
	struct sim_qos *list; /* the QOS of the configuration, in its order */
	uint32_t *of;	      /* of each job of the view */
	struct simulate_note *notes;
	size_t n_notes;
	int64_t refused; /* jobs left out, since the site would refuse them */
};

/* A note that is printed below the table, and the number of jobs that it concerns. */
struct simulate_note {
	char text[192];
	int64_t jobs;
};

struct simulate_qos_ask {
	const struct config *config;
	const struct accounts *accounts; /* NULL: without --accounts */
	const struct sim_trace *trace;
	const char *all; /* the QOS of all jobs, whatever the trace says; NULL */
};
/* *ret needs simulate_qos_done() in any case. -EINVAL: the site has no QOS of that name;
 * -ERANGE: a factor that cannot be counted; -ENOMEM. */
int simulate_qos_open(const struct simulate_qos_ask *ask, struct simulate_qos *ret,
		      struct err *err);
void simulate_qos_done(struct simulate_qos *q);
