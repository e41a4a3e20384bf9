/* SPDX-License-Identifier: GPL-2.0-or-later */
/* round_robin.c - the queues of the waiting users, linked into a ring; see round_robin.h. A
 * user without entries is not in the ring. */
#include <errno.h>
#include <stdlib.h>
#include "controller/api/submit/round_robin.h"

struct round_robin_user {
	struct round_robin_user *next; /* of the ring */
	uint32_t uid;
	struct round_robin_entry *first, *newest;
};

static struct round_robin_user *find_user(const struct round_robin *r, uint32_t uid)
{
	struct round_robin_user *user = r->last;

	if (!user)
		return NULL;
	do {
		user = user->next;
		if (user->uid == uid)
			return user;
	} while (user != r->last);
	return NULL;
}

static struct round_robin_user *add_last(struct round_robin *r, uint32_t uid)
{
	struct round_robin_user *user = calloc(1, sizeof(*user));

	if (!user)
		return NULL;
	user->uid = uid;
	user->next = r->last ? r->last->next : user;
	if (r->last)
		r->last->next = user;
	r->last = user;
	return user;
}

int round_robin_add(struct round_robin *r, uint32_t uid, struct round_robin_entry *e)
{
	struct round_robin_user *user = find_user(r, uid);

	if (!user)
		user = add_last(r, uid);
	if (!user)
		return -ENOMEM;
	e->next = NULL;
	if (user->first)
		user->newest->next = e;
	else
		user->first = e;
	user->newest = e;
	return 0;
}

static void remove_next(struct round_robin *r)
{
	struct round_robin_user *user = r->last->next;

	if (user == r->last)
		r->last = NULL;
	else
		r->last->next = user->next;
	free(user);
}

struct round_robin_entry *round_robin_take(struct round_robin *r)
{
	struct round_robin_user *user = r->last ? r->last->next : NULL;
	struct round_robin_entry *e;

	if (!user)
		return NULL;
	e = user->first;
	user->first = e->next;
	if (user->first)
		r->last = user; /* its turn is over: the user after it is next */
	else
		remove_next(r);
	return e;
}
