/* SPDX-License-Identifier: GPL-2.0-or-later */
/* collect.h - the agent's metrics as of now. */
#pragma once
#include "agent/metrics/page.h"
#include "agent/node.h"

struct metrics_form {
	bool is_openmetrics;
	bool has_jobs; /* with series of single jobs, which name users and accounts */
};

/* The text in the malloc()ed *ret. -ENOMEM. */
int metrics_collect(struct node *n, struct metrics_form form, char **ret, size_t *ret_size);
