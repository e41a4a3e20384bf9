/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nearest - finds the known word that a user probably meant.
 *
 * Pure. Offer every known word, then ask: used for unknown configuration keys, verbs and
 * options, so that each of those messages can name the remedy.
 */
#pragma once
#include <stddef.h>

struct nearest {
	const char *typed, *best;
	size_t distance;
};

void nearest_init(struct nearest *n, const char *typed); /* keeps the pointer */
void nearest_offer(struct nearest *n, const char *word); /* likewise */
/* The closest word, or NULL when none is close: at most one edit (insert, delete, replace, swap
 * of neighbours; case is free) in three letters typed. */
const char *nearest_word(const struct nearest *n);
