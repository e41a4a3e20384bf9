/* told.c - see told.h. */
#include <stdio.h>
#include <string.h>
#include "controller/api/sync/told.h"

struct told *told_find(struct told **list, const char *node)
{
	struct told *t = *list;

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

void told_free(struct told *list)
{
	while (list) {
		struct told *next = list->next;

		free(list);
		list = next;
	}
}
