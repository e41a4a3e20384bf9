/* SPDX-License-Identifier: GPL-2.0-or-later */
/* given_list.c - a list of what a node has open: its users, and what is found in it. See given.h. */
#include <stdlib.h>
#include "controller/ledger/nodes/given/given.h"

/* Empty texts were not copied (given.c). */
static void free_text(const char *text)
{
	if (text && *text)
		free((char *)text);
}

static void free_row(struct store_given *h)
{
	free_text(h->desired.reason);
	free_text(h->desired.part.hosts);
}

struct store_given_list *store_given_ref(struct store_given_list *l)
{
	l->n_users++;
	return l;
}

struct store_given_list *store_given_put(struct store_given_list *l)
{
	if (!l || --l->n_users)
		return NULL;
	for (size_t i = 0; i < l->n; i++)
		free_row(&l->rows[i]);
	free(l->rows);
	free(l);
	return NULL;
}

static int compare_rows(const void *a, const void *b)
{
	const struct store_desired *x = &((const struct store_given *)a)->desired,
				   *y = &((const struct store_given *)b)->desired;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	return (x->attempt > y->attempt) - (x->attempt < y->attempt);
}

const struct store_given *store_given_find(const struct store_given_list *l, int64_t job,
					   int32_t attempt)
{
	const struct store_given key = { .desired = { .job = job, .attempt = attempt } };

	return l->n ? bsearch(&key, l->rows, l->n, sizeof(key), compare_rows) : NULL;
}

int store_given_desired(const struct store_given_list *l, store_desired_fn fn, void *ctx,
			struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < l->n && r >= 0; i++)
		if (l->rows[i].is_due)
			r = fn(ctx, &l->rows[i].desired, err);
	return r < 0 ? r : 0;
}
