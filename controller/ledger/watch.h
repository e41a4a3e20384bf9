/* watch - which jobs have changed, so that the queue can be kept in memory; part of the
 * contract of store.h.
 *
 * SQLite tells it, of what this process writes; what others write (`reeve admin` beside a
 * controller) is found out by store_version(). PostgreSQL does not: then all is read anew.
 */
#pragma once
#include "controller/ledger/usage/charges.h"

typedef void (*store_watch_fn)(void *ctx, int64_t job);
/* Told of each job whose row is written from now on, before that is committed and also where it
 * is taken back. fn must not call the ledger; NULL: tells no more. -EBUSY: somebody is told
 * already; -EOPNOTSUPP. */
int store_watch(struct store *s, store_watch_fn fn, void *ctx);
/* Another number once another process has written to the ledger. -EOPNOTSUPP. */
int store_version(struct store *s, int64_t *ret, struct err *err);

/* One of those that store_waiting() tells; 1: it is not among them. */
struct store_waiting_ask {
	const char *cluster;
	int64_t job;
};
int store_waiting_one(struct store *s, const struct store_waiting_ask *a, store_waiting_fn fn,
		      void *ctx, struct err *err);
