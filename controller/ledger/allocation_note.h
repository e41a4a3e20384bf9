/* SPDX-License-Identifier: GPL-2.0-or-later */
/* allocation_note - that an account has used so much of its allocation, in the journal: once for each period and part,
 * also over restarts. What was noted last of each allocation is kept in the table meta.
 */
#pragma once
#include "controller/ledger/store.h"

struct store_allocation_note {
	const char *allocation; /* account, cluster and pool: one row in meta */
	const char *period;	/* another period begins again at no part */
	int64_t percent;
	const char *document; /* of the event: JSON */
	int64_t now_ns;
};
/* In a transaction of its own. 1: it is an event now; 0: this part or a larger one of the period was noted before. */
int store_allocation_note(struct store *s, const struct store_allocation_note *n,
			  struct err *err);
