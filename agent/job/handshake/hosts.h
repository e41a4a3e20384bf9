/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hosts.h - the nodes of a job on several nodes: parse the list that each part gets, format it for programs.
 *
 * Pure. What comes is `hosts` of struct job_part: "n1=16,n2=16", node and cores of each part.
 */
#pragma once
#include <stdint.h>
#include "common/model/request.h"

struct job_host {
	char name[REQUEST_NAME_MAX];
	int64_t ncpus;
};

/* The next of the list that *at points into. 1: *ret is it; 0: there are no more; -EINVAL: not
 * such a list from here on. */
int job_hosts_next(const char **at, struct job_host *ret);

/* What must hold of a part before a node takes it: as many nodes as it says, each well formed,
 * with at least one core, and its own index among them. A job on one node (n 0) is fine.
 * -EINVAL with words. */
int job_hosts_check(const struct job_part *p, struct err *err);

/* Of all parts. */
int64_t job_hosts_ncpus(const struct job_part *p);
/* "n1,n2". Caller frees these; NULL: no memory. */
char *job_hosts_names(const struct job_part *p);
/* "n1 slots=16\n" for each node: Open MPI's hostfile. */
char *job_hosts_slots(const struct job_part *p);
/* Each node in as many lines as it has cores for the job: what PBS writes. */
char *job_hosts_lines(const struct job_part *p);
