/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fair - how much of a bounded thing each of many users may have in use, so that few of them cannot hold all of it: half goes to the first
 * who ask, and above that one may have a part of the rest. The less is left, the less each newcomer may have, but there is some. Pure.
 *
 * A. K. Choudhury, E. L. Hahne: Dynamic queue length thresholds for shared-memory packet switches, IEEE/ACM Transactions on
 * Networking 6 (1998).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct fair_use {
	int64_t used;	  /* by this user */
	int64_t all_used; /* by all, this one too */
	int64_t max;	  /* of all */
	int64_t most;	  /* of one */
	int64_t least;	  /* which each one may have as long as there is any */
	int64_t part;	  /* above half of `max`: at most the rest divided by this */
};

static inline bool fair_has_room(const struct fair_use *u, int64_t more)
{
	const int64_t left = u->max - u->all_used - more, own = u->used + more;

	if (left < 0 || own > u->most)
		return false;
	return own <= u->least || left >= u->max / 2 || own <= left / u->part;
}
