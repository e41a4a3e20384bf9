/* SPDX-License-Identifier: GPL-2.0-or-later */
/* segments - the indices of jobs by node are by segments of job numbers first (schema.c): new jobs are on all nodes, and would
 * otherwise each get a page of their own, in an index that grows for ever. Who looks for jobs by node looks into one segment after the
 * other, the newest first. In jobs/bound.c.
 */
#pragma once
#include "controller/ledger/store.h"

#define STORE_SEGMENT 65536
#define SQL_SEGMENT_BITS "16"
_Static_assert(STORE_SEGMENT == 1 << 16, "SQL_SEGMENT_BITS");
/* Jobs of one segment, which the parameter `from` is in, and of a node. */
#define SQL_IN_SEGMENT(job, from)                                                              \
	"(" job " >> " SQL_SEGMENT_BITS ") = (" from " >> " SQL_SEGMENT_BITS ")"

/* Makes the range of *f, whose `before` is set, that part of it which is in the newest segment with a job of the node, and of the
 * user or the account if the filter has one. 1: there is one, and *ret_behind is the range of all that is older; 0: there is none. */
struct store_segment_range {
	int64_t before, from;
};
int store_next_segment(struct store *s, struct store_filter *f,
		       struct store_segment_range *ret_behind, struct err *err);
