/* SPDX-License-Identifier: GPL-2.0-or-later */
/* heard - the rows of nodes that were heard of in the transaction under way: of those that say what they said before they are gathered, and
 * written together before its commit. For the ledger's own files.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

struct err;
struct store;
struct sync;
struct sync_from;

/* What the ledger has of the boot that a node names. */
struct store_boot {
	bool is_there, is_over;
	int64_t number; /* of its last exchange */
};

/* Writes what the node says of itself; where it `can_wait`, before the commit: then *in and *from must live until then, and nothing may read
 * the row. */
int store_heard(struct store *s, const struct sync *in, const struct sync_from *from,
		bool can_wait, struct err *err);
/* The number of its exchange, before the commit. */
int store_heard_number(struct store *s, const struct sync *in, struct err *err);
/* Before each commit; and at the end of each transaction, when what was not written never will be. */
int store_heard_write(struct store *s, struct err *err);
void store_heard_forget(struct store *s);
void store_heard_done(struct store *s);
