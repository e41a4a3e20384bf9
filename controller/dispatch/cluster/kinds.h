/* kinds - of which kinds of nodes the queue asks for, as bits of a schedule.
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
/* Of more kinds than KINDS_MAX at once the later ones are of no node: they wait until fewer are
 * asked for. */
uint64_t kinds_wanted(const struct kinds *k, const struct resources *want);
