/* shape - which nodes of its cluster a request takes: cut into chunks where no node could hold
 * it, and no more than the cluster has. */
#pragma once
#include "controller/api/call.h"
#include "controller/policy/placement/fit.h"

struct shape {
	int64_t nodes; /* that its chunks take; 0: one chunk, or no node is known yet */
	char why[FIT_WHY_MAX];
};

/* q, filled in, may have become chunks. 1: no nodes of the cluster could ever hold it; ret->why
 * says how much could be. */
int shape_find(struct call *c, struct request *q, struct shape *ret, struct err *err);
/* The same, which is then refused. */
int shape_check(struct call *c, struct request *q, struct shape *ret, struct err *err);

/* Whole nodes, by its own wish or its queue's: paid for, a job is given them. */
bool shape_is_exclusive(const struct call *c, const struct request *q);
