/* SPDX-License-Identifier: GPL-2.0-or-later */
/* changes - what the ledger's write functions changed, passed to a listener after the commit, so that
 * the queue can be kept in memory instead of being read in each cycle; part of the contract of store.h.
 *
 * Every function of the ledger that writes what the queue depends on announces it: the number of a
 * job whose row, attempts or parts it writes, or that nodes have changed (store_announce_...).
 * They are collected in the transaction under way, passed to the listener when it is committed, and
 * dropped when it is rolled back. A commit that failed may have happened: then everything may have
 * changed. This is the same for every database. A new listener (a controller that starts, a standby
 * that takes over) reads everything first.
 *
 * Only the controller that leads writes what is announced: other programs that open the ledger
 * (imports, accounts, adjustments) write other tables.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "controller/ledger/store.h"

/* More jobs than this at once count as all: reading everything is then as fast. */
#define STORE_CHANGES_MAX 16384

struct store_changes {
	int64_t *jobs; /* in no order; some more than once */
	size_t n, max;
	bool is_all;	    /* too many jobs, or not known: everything may have changed */
	bool are_nodes_new; /* a node came, or changed what it has, or whether it takes jobs */
};

void store_changes_add(struct store_changes *c, int64_t job);
void store_changes_merge(struct store_changes *into, const struct store_changes *from);
/* Puts the jobs in order, each once. Returns c. */
const struct store_changes *store_changes_sort(struct store_changes *c);
/* Returns what was collected, each job once, by number, to be freed with store_changes_done(); *c is
 * empty then. */
struct store_changes store_changes_take(struct store_changes *c);
void store_changes_done(struct store_changes *c);

typedef void (*store_changes_fn)(void *ctx, const struct store_changes *c);
/* Calls fn after each commit that changed anything of the queue; fn must not call the ledger.
 * fn NULL: the listener is removed. -EBUSY: there is a listener already. */
int store_listen(struct store *s, store_changes_fn fn, void *ctx);
