/* kinds.c - see kinds.h. */
#include <string.h>
#include "controller/dispatch/kinds.h"

static bool is_any(const struct resources *want)
{
	return !*want->node_type && !*want->features;
}

/* -1: not among them. */
static int find(const struct kinds *k, const struct resources *want)
{
	for (int i = 0; i < k->n; i++)
		if (!strcmp(k->of[i]->node_type, want->node_type) &&
		    !strcmp(k->of[i]->features, want->features))
			return i;
	return -1;
}

void kinds_gather(struct kinds *ret, const struct order *o)
{
	ret->n = 0;
	for (size_t i = 0; i < o->n && ret->n < KINDS_MAX; i++) {
		const struct resources *want = &o->jobs[i].job.want;

		if (!is_any(want) && find(ret, want) < 0)
			ret->of[ret->n++] = want;
	}
}

uint64_t kinds_of_node(const struct kinds *k, const struct fit_node *n)
{
	uint64_t bits = 0;

	for (int i = 0; i < k->n; i++)
		if (fit_is_kind(n, k->of[i]))
			bits |= UINT64_C(1) << i;
	return bits;
}

uint64_t kinds_wanted(const struct kinds *k, const struct resources *want)
{
	int i = is_any(want) ? -1 : find(k, want);

	if (is_any(want))
		return 0;
	return UINT64_C(1) << (i < 0 ? KINDS_MAX : i);
}
