/* SPDX-License-Identifier: GPL-2.0-or-later */
/* top.c - the rows of a projection that count most, where the ledger finds them without reading the others; see
 * projection_impl.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/usage/totals/top.h"
#include "controller/quota/projection/projection_impl.h"

static enum charge_pool pool_of(const struct store_usage *u)
{
	return strcmp(u->pool, charge_pool_name(CHARGE_POOL_GPU)) ? CHARGE_POOL_CPU
								  : CHARGE_POOL_GPU;
}

static int add_total(void *ctx, const struct store_usage *u, struct err *err)
{
	struct projection_total *to = &((struct projection_state *)ctx)->totals[pool_of(u)];

	(void)err;
	projection_add_usage(&to->usage, u);
	to->counts_ms += projection_counted_ms(u);
	return 0;
}

static int add_recent_total(void *ctx, const struct store_usage *u, struct err *err)
{
	(void)err;
	((struct projection_state *)ctx)->totals[pool_of(u)].recent_ms +=
		projection_counted_ms(u);
	return 0;
}

static int compare_row(const void *key, const void *entry)
{
	const struct store_usage *u = key;
	const struct projection_entry *k = entry;
	int names = strcmp(u->key, k->key);

	return names ? names : strcmp(u->pool, k->pool);
}

/* A name has a row in each pool: the one that is not among those that count most is not shown. */
static int add_recent(void *ctx, const struct store_usage *u, struct err *err)
{
	struct projection_state *g = ctx;
	struct projection_entry *k = bsearch(u, g->rows, g->n, sizeof(*g->rows), compare_row);

	(void)err;
	if (k)
		k->below_recent_ms = k->recent_ms += projection_counted_ms(u);
	return 0;
}

static int read_recent(struct projection_state *g, struct store_period *p, struct err *err)
{
	const char **names = calloc(g->n + 1, sizeof(*names));
	const struct store_usage_each each = { add_recent, g };
	struct store_names some = { names, 0 };
	int r = names ? 0 : err_set(err, -ENOMEM, "out of memory");

	for (size_t i = 0; names && i < g->n; i++)
		if (i == 0 || strcmp(g->rows[i].key, g->rows[i - 1].key) != 0)
			names[some.n++] = g->rows[i].key;
	if (r >= 0)
		r = store_usage_named(g->site->store, p, &some, &each, err);
	free(names);
	p->by = STORE_BY_NONE;
	return r < 0 ? r : store_usage(g->site->store, p, add_recent_total, g, err);
}

/* An account in a tree counts with those below it: all of them are read. */
static bool may_be_top(const struct projection_state *g)
{
	size_t limit = g->ask->limit;

	return limit > 0 && limit <= STORE_TOP_MAX &&
	       (!g->is_tree || g->site->accounts->n_accounts == 0);
}

int projection_read_top(struct projection_state *g, const struct store_period *asked,
			struct err *err)
{
	const struct store_usage_each each = { projection_keep_row, g };
	struct store_top top = { .limit = g->ask->limit };
	struct store_period p = *asked;
	int r = may_be_top(g) ? store_usage_top(g->site->store, &p, &top, &each, err) : 0;

	if (r <= 0)
		return r;
	g->is_top = true;
	for (int pool = 0; pool < _CHARGE_POOL_MAX; pool++)
		g->totals[pool].n = top.n_rows[pool];
	p.by = STORE_BY_NONE;
	r = store_usage(g->site->store, &p, add_total, g, err);
	if (r < 0 || g->passed_ns <= 0)
		return r < 0 ? r : 1;
	p = *asked;
	p.from_day = g->recent_from;
	r = read_recent(g, &p, err);
	return r < 0 ? r : 1;
}
