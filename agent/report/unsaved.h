/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unsaved - what the outbox (spool.h) has in memory alone: a list in the order in which it is sent. Pure. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* A change of one attempt that is not in the store: it was acknowledged since the last spool_flush(), or the store refused it. It
 * is newer than the attempt's row. */
struct unsaved {
	struct unsaved *next;
	int64_t job, seq, at_ns;
	int32_t attempt;
	bool final;
	char *body; /* NULL: nothing is to be sent, and the row is to go */
	char *acked; /* the final report that was acknowledged before the store had it; or NULL */
	int64_t acked_bytes; /* of the row's report, which was acknowledged; 0: none was */
};

/* NULL: there is none of this attempt. */
struct unsaved *unsaved_find(struct unsaved *first, int64_t job, int32_t attempt);
/* The entry of the attempt, made where there is none, moved to the end of the list. NULL: no memory. */
struct unsaved *unsaved_add(struct unsaved **first, int64_t job, int32_t attempt);
/* NULL: nothing happens. */
void unsaved_remove(struct unsaved **first, struct unsaved *u);
/* Remember that nothing of the attempt is to be sent; spool_flush() changes the row when the store works. -ENOMEM. */
int unsaved_mark_sent(struct unsaved **first, int64_t job, int32_t attempt, bool is_final);
