/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds.c - which kinds of nodes queued jobs ask for, and which bits nodes and jobs have of them. */
#include <stdio.h>
#include <string.h>
#include "controller/dispatch/cluster/kinds.h"

static bool is_any(const struct resources *want)
{
	return !*want->node_type && !*want->features;
}

/* -1: not among them. */
static int find_kind(const struct kinds *k, const struct resources *want)
{
	for (int i = 0; i < k->n; i++)
		if (!strcmp(k->of[i].node_type, want->node_type) &&
		    !strcmp(k->of[i].features, want->features))
			return i;
	return -1;
}

bool kinds_has(const struct kinds *k, const struct resources *want)
{
	return is_any(want) || find_kind(k, want) >= 0;
}

void kinds_gather(struct kinds *ret, const struct order *o)
{
	ret->n = 0;
	ret->is_full = false;
	for (size_t i = 0; i < o->n && !ret->is_full; i++) {
		const struct resources *want = &o->jobs[i].want;
		struct kind *new;

		if (kinds_has(ret, want))
			continue;
		ret->is_full = ret->n == KINDS_MAX;
		if (ret->is_full)
			return;
		new = &ret->of[ret->n++];
		snprintf(new->node_type, sizeof(new->node_type), "%s", want->node_type);
		snprintf(new->features, sizeof(new->features), "%s", want->features);
	}
}

static bool is_of_kind(const struct fit_node *n, const struct kind *k)
{
	struct resources want = { 0 };

	snprintf(want.node_type, sizeof(want.node_type), "%s", k->node_type);
	snprintf(want.features, sizeof(want.features), "%s", k->features);
	return fit_is_kind(n, &want);
}

uint64_t kinds_of_node(const struct kinds *k, const struct fit_node *n)
{
	uint64_t bits = 0;

	for (int i = 0; i < k->n; i++)
		if (is_of_kind(n, &k->of[i]))
			bits |= UINT64_C(1) << i;
	return bits;
}

uint64_t kinds_wanted(const struct kinds *k, const struct resources *want)
{
	int i = is_any(want) ? -1 : find_kind(k, want);

	if (is_any(want))
		return 0;
	return UINT64_C(1) << (i < 0 ? KINDS_MAX : i);
}
