/* SPDX-License-Identifier: GPL-2.0-or-later */
/* drain - nodes that operators take out of use: jobs that run there end as they would, no new ones
 * are allocated. A drain lasts until an operator ends it, over restarts of controller and node. */
#pragma once
#include "controller/ledger/store.h"

struct store_drain {
	const char *node, *author, *reason;
	int64_t at_ns;
	int64_t from_ns; /* from then on; until then jobs run there that are over by then */
};
/* Once more: with the new reason and moment. -ENOENT: no such node. */
int store_drain(struct store *s, const struct store_drain *d, struct err *err);
/* The node takes jobs again from its next word on, unless it says itself that it does not.
 * d->reason is not looked at. -ENOENT: no such node; 1 (STORE_NOT_DRAINED): it is not drained.
 */
#define STORE_NOT_DRAINED 1
int store_resume(struct store *s, const struct store_drain *d, struct err *err);

typedef int (*store_drain_fn)(void *ctx, const struct store_drain *d, struct err *err);
int store_drains(struct store *s, store_drain_fn fn, void *ctx, struct err *err);
