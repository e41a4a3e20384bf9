/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sent.c - the list of nodes with what each was last sent; see sent.h. A list: a lookup for
 * each exchange, of thousands of nodes at most. */
#include <stdio.h>
#include <string.h>
#include "controller/api/sync/sent.h"

struct sync_sent *sync_sent_find(struct sync_sent **list, const char *node)
{
	struct sync_sent *t = *list;

	while (t && strcmp(t->node, node) != 0)
		t = t->next;
	if (t)
		return t;
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	snprintf(t->node, sizeof(t->node), "%s", node);
	t->next = *list;
	*list = t;
	return t;
}

void sync_sent_free(struct sync_sent *list)
{
	while (list) {
		struct sync_sent *next = list->next;

		free(list);
		list = next;
	}
}
