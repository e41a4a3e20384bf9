/* intent.c - see intent.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/dispatch/intent.h"

const struct intent *intents_find(const struct intents *all, int64_t job)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->of[i].job == job)
			return &all->of[i];
	return NULL;
}

int intents_add(struct intents *all, const struct intent *i)
{
	if (all->n == all->max) {
		size_t larger = all->max ? all->max * 2 : 8;
		struct intent *of = realloc(all->of, larger * sizeof(*of));

		if (!of) {
			free(i->nodes);
			return -ENOMEM;
		}
		all->of = of;
		all->max = larger;
	}
	all->of[all->n++] = *i;
	return 0;
}

void intents_drop(struct intents *all, int64_t job)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->of[i].job != job)
			all->of[n++] = all->of[i];
		else
			free(all->of[i].nodes);
	all->n = n;
}

void intents_done(struct intents *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->of[i].nodes);
	free(all->of);
	*all = (struct intents){ 0 };
}
