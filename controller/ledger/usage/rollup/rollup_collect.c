/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rollup_collect.c - a set of sums for the transaction under way; see rollup_collect.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/ledger/nodes/heard.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/queue_waits.h"
#include "controller/ledger/usage/rollup/rollup_collect.h"
#include "controller/ledger/usage/rollup/rollup_write.h"
#include "controller/ledger/usage/totals/totals.h"

int rollup_collect(struct store *s, const struct rollup_key *k, const struct rollup *r,
		   struct err *err)
{
	struct rollup *sum;
	int at;

	if (!db_is_begun(s->db))
		return err_set(err, -EINVAL, "usage is written in a transaction alone");
	if (!s->totals.days)
		s->totals.days = rollup_set_new();
	at = s->totals.days ? rollup_set_find(s->totals.days, k->cluster, k->account, k->user)
			    : -ENOMEM;
	sum = at < 0 ? NULL : rollup_set_at(s->totals.days, at, (int)k->pool, k->day);
	if (!sum)
		return err_set(err, at < 0 ? at : -ENOMEM,
			       "cannot sum up the usage of account '%s'", k->account);
	rollup_add(sum, r);
	return 0;
}

/* The days add to the totals. */
static int write_collected(void *ctx, struct err *err)
{
	struct store *s = ctx;
	int r = s->totals.days ? rollup_write_set(s, s->totals.days, err) : 0;

	if (r >= 0)
		r = totals_write(s, err);
	if (r >= 0)
		r = store_wait_write(s, err);
	return r < 0 ? r : store_heard_write(s, err);
}

void rollup_collect_start(struct store *s)
{
	db_before_commit(s->db, write_collected, s);
}

/* Its associations may have been made by a transaction that was rolled back: they are looked up in each. */
void rollup_collect_forget(struct store *s)
{
	s->totals.days = rollup_set_free(s->totals.days);
	totals_forget(s);
	store_wait_forget(s);
}
