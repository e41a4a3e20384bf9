/* SPDX-License-Identifier: GPL-2.0-or-later */
/* round_robin - a queue of entries for each user; users take turns.
 *
 * Within a queue the order is first in, first out. The first entry of a new user is taken after
 * one entry of each other waiting user, however long their queues are: with n users waiting,
 * the next entry of each is among the next n taken.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct round_robin_entry { /* must be the first member of the queued struct */
	struct round_robin_entry *next;
};
struct round_robin {
	struct round_robin_user *last; /* the user after it is next; NULL: nothing waits */
};

/* -ENOMEM: the entry was not added. */
int round_robin_add(struct round_robin *r, uint32_t uid, struct round_robin_entry *e);
/* NULL: nothing waits. */
struct round_robin_entry *round_robin_take(struct round_robin *r);
static inline bool round_robin_is_empty(const struct round_robin *r)
{
	return !r->last;
}
