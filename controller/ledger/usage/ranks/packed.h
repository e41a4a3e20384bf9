/* SPDX-License-Identifier: GPL-2.0-or-later */
/* packed - the sums of names in one part of a period, kept in some 30 bytes a name, and sums by name, to which they are added.
 * Memory only.
 *
 * A packed row is the difference of its name's number to that of the row before, with its pool, and its figures, as variable-length
 * integers: most figures are small or 0.
 */
#pragma once
#include <stdint.h>
#include "controller/ledger/usage/rollup/rollup.h"

struct packed_row {
	int32_t name; /* its number */
	int32_t pool;
	struct rollup sum;
};
struct packed {
	uint8_t *data; /* malloc()ed; NULL: no row */
	size_t size;
};

/* Sorts the rows, adds up those of one name and pool, and packs them. -ENOMEM. */
int packed_make(struct packed_row *rows, size_t n, struct packed *ret);
void packed_done(struct packed *p);

/* The sum of each name in a pool; of those that have one `has` is 1. */
struct packed_sums {
	size_t n_names;
	struct {
		struct rollup *sum;
		uint8_t *has;
	} pool[_CHARGE_POOL_MAX]; /* NULL: none has one */
};
/* Every name of the packed rows is below n_names. -ENOMEM. */
int packed_add(const struct packed *p, struct packed_sums *to, size_t n_names);
void packed_sums_done(struct packed_sums *s);
/* NULL: there is none. */
const struct rollup *packed_sum(const struct packed_sums *s, int32_t name, int pool);
