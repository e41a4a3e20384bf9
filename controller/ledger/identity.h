/* SPDX-License-Identifier: GPL-2.0-or-later */
/* identity - which ledger this is, and whether it is a restored one; part of store.h's contract.
 *
 * A ledger has a number of its own from its first start on, which its copies share. One that was restored from a backup lacks what
 * was written after it: the nodes learn that from restored_ns, and send their final reports once more (docs/protocol.md).
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include "common/wire/sync.h"

struct err;
struct store;

struct store_identity {
	char id[SYNC_LEDGER_MAX];
	int64_t restored_ns; /* when it was last restored; 0: never */
	int64_t taken_ns;    /* when the backup was made from which it was restored */
	int64_t opened_ns;   /* CLOCK_MONOTONIC */
	bool is_told; /* all nodes have sent their reports: store_restored_waits() of restored.h */
};

const struct store_identity *store_identity(const struct store *s);
/* Reads it, and makes it in a new ledger. At the opening. */
int store_identity_load(struct store *s, struct err *err);
