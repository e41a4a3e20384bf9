/* SPDX-License-Identifier: GPL-2.0-or-later */
/* names - numbers the names of users, accounts or QOS of a history, from 0 in the
 * order of first use. Pure. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "common/model/request.h"

struct sim_names {
	char (*texts)[REQUEST_NAME_MAX]; /* by number */
	uint32_t *slots;		 /* number + 1; 0: free */
	size_t n, room, slots_n;
};

void sim_names_done(struct sim_names *s);
/* The number of a name, which is shorter than REQUEST_NAME_MAX. -ENOMEM. */
int sim_names_number(struct sim_names *s, const char *name, uint32_t *ret);
