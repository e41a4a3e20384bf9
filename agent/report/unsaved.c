/* SPDX-License-Identifier: GPL-2.0-or-later */
/* unsaved.c - see unsaved.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/report/unsaved.h"

struct unsaved *unsaved_find(struct unsaved *first, int64_t job, int32_t attempt)
{
	struct unsaved *u = first;

	while (u && (u->job != job || u->attempt != attempt))
		u = u->next;
	return u;
}

struct unsaved *unsaved_add(struct unsaved **first, int64_t job, int32_t attempt)
{
	struct unsaved *u = unsaved_find(*first, job, attempt), **at = first;

	if (!u)
		u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->job = job;
	u->attempt = attempt;
	while (*at && *at != u)
		at = &(*at)->next;
	if (*at)
		*at = u->next;
	while (*at)
		at = &(*at)->next;
	u->next = NULL;
	*at = u;
	return u;
}

void unsaved_remove(struct unsaved **first, struct unsaved *u)
{
	struct unsaved **at = first;

	while (*at && *at != u)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = u->next;
	free(u->body);
	free(u->acked);
	free(u);
}

int unsaved_mark_sent(struct unsaved **first, int64_t job, int32_t attempt, bool is_final)
{
	struct unsaved *u = unsaved_add(first, job, attempt);

	if (!u)
		return -ENOMEM;
	free(u->body);
	u->body = NULL;
	u->acked_bytes = 0;
	u->final |= is_final;
	return 0;
}
