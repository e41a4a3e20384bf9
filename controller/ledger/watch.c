/* watch.c - see ledger/watch.h. */
#include "controller/ledger/watch.h"
#include "controller/ledger/store_sqlite.h"

int store_watch(struct store *s, store_watch_fn fn, void *ctx)
{
	const struct db_watch w = { "jobs", fn, ctx };

	return db_watch(s->db, fn ? &w : NULL);
}

int store_version(struct store *s, int64_t *ret, struct err *err)
{
	return db_version(s->db, ret, err);
}
