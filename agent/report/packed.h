/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed.h - the usage of a job in as little memory as it needs: the agent keeps two of each of a thousand jobs, and a node
 * measures few of the figures that there are. Pure. */
#pragma once
#include "common/model/usage.h"

struct packed_usage;

/* Into the malloc()ed *at, which may be an earlier one; NULL: none yet. -ENOMEM leaves *at as it was. */
int packed_set(struct packed_usage **at, const struct usage *u);
/* NULL: a usage in which nothing was measured. */
void packed_get(const struct packed_usage *p, struct usage *ret);
