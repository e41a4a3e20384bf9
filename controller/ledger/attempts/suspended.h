/* SPDX-License-Identifier: GPL-2.0-or-later */
/* suspended - jobs that their owners suspended, and since when. Memory, jobfs and GPUs of
 * such a job stay allocated and are not charged, so the controller bounds it (MaxSuspend). A
 * suspension by the queue (preemption) or by an operator is not one of these.
 */
#pragma once
#include "controller/ledger/store.h"

/* jobs.owner_suspended_ns when a desired state ?2 is set, by the owner where ?5 is not 0, at
 * ?6. A repeat keeps the time; an operator who suspends the job too takes it over. */
#define STORE_OWNER_SUSPENDED                                                                  \
	"CASE WHEN ?2 <> " SQL_DESIRED_SUSPEND " OR ?5 = 0 THEN 0"                             \
	" WHEN want = " SQL_DESIRED_SUSPEND " AND gave_way_to = 0"                             \
	" THEN owner_suspended_ns ELSE ?6 END"

/* Jobs whose owners suspended them at `before_ns` or earlier, longest first, at most max. How
 * many there are in ret. */
int store_suspended(struct store *s, int64_t before_ns, int64_t *ret, int max, struct err *err);
