/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hooks_queue.c - see hooks_queue.h. */
#include <errno.h>
#include <stdlib.h>
#include "controller/hooks/hooks_queue.h"

struct hooks_owner {
	struct hooks_owner *next;
	int64_t uid, n_items, n_waiting;
	struct hooks_item *oldest, *newest; /* of those that wait */
};

static struct hooks_owner *find_owner(const struct hooks_queue *q, int64_t uid)
{
	struct hooks_owner *o = q->owners;

	while (o && o->uid != uid)
		o = o->next;
	return o;
}

static void drop_owner(struct hooks_queue *q, struct hooks_owner *o)
{
	struct hooks_owner **at = &q->owners;

	while (*at != o)
		at = &(*at)->next;
	*at = o->next;
	free(o);
}

/* ---- waiting items of a user ---- */

static void count_waiting(struct hooks_queue *q, struct hooks_item *item, int64_t more)
{
	item->is_waiting = more > 0;
	item->owner->n_waiting += more;
	q->n_waiting += more;
}

/* `older` and `newer` become its neighbours; NULL: there is none, it is the oldest or the newest. */
static void join_waiting(struct hooks_queue *q, struct hooks_item *item,
			 struct hooks_item *older, struct hooks_item *newer)
{
	struct hooks_owner *o = item->owner;

	item->older = older;
	item->newer = newer;
	*(older ? &older->newer : &o->oldest) = item;
	*(newer ? &newer->older : &o->newest) = item;
	count_waiting(q, item, 1);
}

static void leave_waiting(struct hooks_queue *q, struct hooks_item *item)
{
	struct hooks_owner *o = item->owner;

	*(item->newer ? &item->newer->older : &o->newest) = item->older;
	*(item->older ? &item->older->newer : &o->oldest) = item->newer;
	count_waiting(q, item, -1);
}

/* ---- the queue ---- */

int hooks_queue_add(struct hooks_queue *q, struct hooks_item *item, int64_t uid)
{
	struct hooks_owner *o = find_owner(q, uid);

	if (!o) {
		o = calloc(1, sizeof(*o));
		if (!o)
			return -ENOMEM;
		o->uid = uid;
		o->next = q->owners;
		q->owners = o;
	}
	o->n_items++;
	*item = (struct hooks_item){ .previous = q->last, .owner = o };
	*(q->last ? &q->last->next : &q->first) = item;
	q->last = item;
	join_waiting(q, item, o->newest, NULL);
	return 0;
}

void hooks_queue_remove(struct hooks_queue *q, struct hooks_item *item)
{
	struct hooks_owner *o = item->owner;

	if (item->is_waiting)
		leave_waiting(q, item);
	*(item->next ? &item->next->previous : &q->last) = item->previous;
	*(item->previous ? &item->previous->next : &q->first) = item->next;
	if (--o->n_items == 0)
		drop_owner(q, o);
}

void hooks_queue_begin(struct hooks_queue *q, struct hooks_item *item)
{
	leave_waiting(q, item);
}

void hooks_queue_defer(struct hooks_queue *q, struct hooks_item *item)
{
	join_waiting(q, item, NULL, item->owner->oldest);
}

bool hooks_queue_has_room(const struct hooks_queue *q, int64_t uid, int64_t max,
			  struct hooks_item **ret)
{
	const struct hooks_owner *most = q->owners, *own = find_owner(q, uid);

	*ret = NULL;
	if (q->n_waiting < max)
		return true;
	for (const struct hooks_owner *o = most; o; o = o->next)
		if (o->n_waiting > most->n_waiting)
			most = o;
	if (!most || most->n_waiting <= (own ? own->n_waiting : 0) + 1)
		return false;
	*ret = most->newest;
	return true;
}
