/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pending_start.c - a list of the starts that wait for cores; it is short, and searched linearly. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "controller/dispatch/pending_start.h"

const struct pending_start *pending_start_find(const struct pending_start_list *all,
					       int64_t job)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->of[i].job == job)
			return &all->of[i];
	return NULL;
}

int pending_start_add(struct pending_start_list *all, const struct pending_start *p)
{
	if (all->n == all->max) {
		size_t larger = all->max ? all->max * 2 : 8;
		struct pending_start *of = realloc(all->of, larger * sizeof(*of));

		if (!of) {
			free(p->nodes);
			return -ENOMEM;
		}
		all->of = of;
		all->max = larger;
	}
	all->of[all->n++] = *p;
	return 0;
}

void pending_start_drop(struct pending_start_list *all, int64_t job)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->of[i].job != job)
			all->of[n++] = all->of[i];
		else
			free(all->of[i].nodes);
	all->n = n;
}

void pending_start_done(struct pending_start_list *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->of[i].nodes);
	free(all->of);
	*all = (struct pending_start_list){ 0 };
}
