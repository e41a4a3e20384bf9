/* lines - what waits, in a line for each user; taken one of each line in turn.
 *
 * Within a line the first in is the first out. Who comes when others wait stands behind them
 * once, however long their lines are: with n users waiting, everybody's next is among the next
 * n taken.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct lines_entry { /* to be embedded at the beginning of what waits */
	struct lines_entry *next;
};
struct lines {
	struct line *last; /* the one behind it is next; NULL: nobody waits */
};

/* -ENOMEM: it was not taken. */
int lines_put(struct lines *l, uint32_t uid, struct lines_entry *e);
/* NULL: nobody waits. */
struct lines_entry *lines_take(struct lines *l);
static inline bool lines_are_empty(const struct lines *l)
{
	return !l->last;
}
