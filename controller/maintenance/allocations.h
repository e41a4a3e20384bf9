/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocations.h - looks which accounts have used a part of their allocations (AllocationPercents= of [Hooks]), for the hook
 * allocation-used. Only where the site has a program for it.
 */
#pragma once
#include "controller/api/call.h"

struct allocations;

/* *ret NULL: no program wants to know. */
int allocations_open(struct api *a, struct allocations **ret, struct err *err);
struct allocations *allocations_close(struct allocations *w);
