/* SPDX-License-Identifier: GPL-2.0-or-later */
/* kinds - which kinds of nodes queued jobs request, as the feature bits of a schedule.
 *
 * A kind is a type of node with features, as requests name them. A node has the bits of all
 * kinds that it is of (fit_is_kind()), a job that of its own; one that asks for none has no
 * bit.
 */
#pragma once
#include "controller/dispatch/order.h"

#define KINDS_MAX 63

struct kinds {
	struct kind {
		char node_type[REQUEST_NAME_MAX], features[FEATURES_MAX];
	} of[KINDS_MAX];
	int n;
	bool is_full; /* more were asked for */
};

void kinds_gather(struct kinds *ret, const struct order *o);
/* Is there a bit for what is asked, or none needed? */
bool kinds_has(const struct kinds *k, const struct resources *want);
uint64_t kinds_of_node(const struct kinds *k, const struct fit_node *n);
/* Where more than KINDS_MAX kinds are requested at once, no node has the bit of the later ones: these jobs
 * wait until fewer kinds are requested. */
uint64_t kinds_wanted(const struct kinds *k, const struct resources *want);
