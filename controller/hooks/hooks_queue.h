/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_queue - the events that a site's program has not finished with, in their order. When it is full, the user with most
 * waiting events loses the newest of them, so that one user's events take no other user's place.
 *
 * An item is embedded in the caller's struct. Pure but for memory.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#define HOOKS_QUEUE_SITE INT64_C(-1) /* instead of a uid: of nodes and accounts */

struct hooks_owner;

struct hooks_item {
	struct hooks_item *next, *previous; /* in the order of events */
	struct hooks_item *older, *newer;   /* of the same user, while it waits */
	struct hooks_owner *owner;
	bool is_waiting; /* else the program runs for it */
};

/* Zeroed at first; empty again when all items are removed. */
struct hooks_queue {
	struct hooks_item *first, *last;
	struct hooks_owner *owners;
	int64_t n_waiting;
};

/* Appends an item, which waits. -ENOMEM. */
int hooks_queue_add(struct hooks_queue *q, struct hooks_item *item, int64_t uid);
void hooks_queue_remove(struct hooks_queue *q, struct hooks_item *item);
/* The program runs for it; it will run again. */
void hooks_queue_begin(struct hooks_queue *q, struct hooks_item *item);
void hooks_queue_defer(struct hooks_queue *q, struct hooks_item *item);

/* May an event of this user be added if at most `max` may wait? *ret is the event that must be removed before, or NULL. */
bool hooks_queue_has_room(const struct hooks_queue *q, int64_t uid, int64_t max,
			  struct hooks_item **ret);
