/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fit_impl - for the files of fit alone. See fit.h. */
#pragma once
#include "controller/policy/placement/fit.h"

/* What a job takes of a node, in the node's own terms. */
struct fit_taking {
	struct resources res;
	bool is_whole;
};

bool fit_is_empty(const struct fit_node *n);
void fit_allocate(struct fit_node *n, const struct fit_taking *take);
struct fit_taking fit_taking(const struct resources *want, bool is_whole);
/* Does it fit beside what is in use? */
bool fit_takes(const struct fit_node *n, const struct fit_taking *take);
/* So many fit beside what is in use, or (is_ever) on the empty node; INT32_MAX: any number. */
int64_t fit_count(const struct fit_node *n, const struct fit_taking *take, bool is_ever);

/* Adds to the words. */
__attribute__((format(printf, 2, 3))) void fit_say(char why[static FIT_WHY_MAX],
						   const char *fmt, ...);
/* "16 cores, 32GB memory" */
void fit_say_amounts(char why[static FIT_WHY_MAX], const struct fit_taking *take);
/* " of type t4 with ib,nvme" */
void fit_say_kind(char why[static FIT_WHY_MAX], const struct resources *want);
