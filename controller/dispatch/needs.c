/* SPDX-License-Identifier: GPL-2.0-or-later */
/* needs.c - finds or computes the clause that says what a queued job lacks. See needs.h. */
#include <string.h>
#include "controller/dispatch/needs.h"
#include "controller/policy/placement/fit_chunks.h"

/* Could the nodes hold it, were they empty and open? Else `why` says how much they could. Chunks are
 * looked at one kind at a time, as the schedule does. */
static bool is_possible(const struct cluster *k, const struct order_job *o,
			char why[static FIT_WHY_MAX])
{
	struct resources one;

	if (!o->select)
		return fit_is_possible(k->nodes, k->n_nodes, &o->want, why);
	for (int32_t c = 0; c < o->select->n; c++) {
		select_chunk(&o->select->of[c], &o->want, &one);
		if (!fit_is_possible(k->nodes, k->n_nodes, &one, why))
			return false;
	}
	return true;
}

static void find_clause(const struct cluster *k, const struct order_job *o,
			char why[static FIT_WHY_MAX])
{
	const struct fit_request ask = { &o->want, o->select, o->is_exclusive };

	if (is_possible(k, o, why))
		fit_explain(k->nodes, k->n_nodes, &ask, why);
}

static const struct needs_clause *find_kept(const struct needs *kept, const struct order_job *o)
{
	for (size_t i = 0; i < kept->n && i < NEEDS_KEPT; i++)
		if (kept->of[i].is_exclusive == o->is_exclusive &&
		    order_is_same_want(&kept->of[i].want, &o->want))
			return &kept->of[i];
	return NULL;
}

/* Jobs of several chunks are rare, and their chunks go with the order: their clauses are not kept. */
void needs_explain(struct needs *kept, const struct cluster *k, const struct order_job *o,
		   char why[static FIT_WHY_MAX])
{
	const struct needs_clause *same;
	struct needs_clause *new;

	if (o->select) {
		find_clause(k, o, why);
		return;
	}
	if (kept->now_ns != k->now_ns) {
		kept->now_ns = k->now_ns;
		kept->n = 0;
	}
	same = find_kept(kept, o);
	if (!same) {
		new = &kept->of[kept->n++ % NEEDS_KEPT];
		new->want = o->want;
		new->is_exclusive = o->is_exclusive;
		find_clause(k, o, new->why);
		same = new;
	}
	memcpy(why, same->why, FIT_WHY_MAX);
}
