/* SPDX-License-Identifier: GPL-2.0-or-later */
/* reprice.c - prices all imported jobs again, and reads by which profiles they were priced. See
 * import/import.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/import/imported.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/verify/verify.h"

enum priced_column { PRICED_PROFILE, PRICED_JOBS };

int store_imports_priced(struct store *s, store_priced_fn fn, void *ctx, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT COALESCE(profile, '?'), SUM(jobs) FROM imports WHERE jobs > 0"
			 " GROUP BY 1 ORDER BY 1",
			 "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = fn(ctx, store_text(st, PRICED_PROFILE), db_int(st, PRICED_JOBS), err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

/* Rows that are read at a time; their changes are written before more are read. */
#define TOGETHER 1024

struct repricing {
	struct store *s;
	const struct store_reprice *how;
	struct store_repriced n;
	struct changed {
		int64_t id, pool, rate_num, rate_den, requested_ms, used_ms;
	} changed[TOGETHER];
	size_t n_changed;
};

/* STORE_IMPORTED_COLUMNS begin with the id. */
enum column {
	ID = 0,
	POOL = STORE_IMPORTED_N,
	RATE_NUM,
	RATE_DEN,
	CHARGE_REQUESTED_MS,
	CHARGE_USED_MS
};
static const char read_sql[] =
	"SELECT" STORE_IMPORTED_COLUMNS ", i.pool, i.rate_num, i.rate_den,"
	" i.charge_requested_ms, i.charge_used_ms FROM" STORE_IMPORTED_TABLES
	" WHERE i.id > ?1 ORDER BY i.id LIMIT ?2";

/* The rate is as before. An import stores none for a job that is charged one unit a core. */
static bool has_rate(struct db_row *st, const struct changed *c, int64_t ncpus)
{
	if (db_is_null(st, RATE_NUM))
		return c->rate_num == ncpus && c->rate_den == 1;
	return c->rate_num == db_int(st, RATE_NUM) && c->rate_den == db_int(st, RATE_DEN);
}

/* Adds the job to p->changed where its price is another one. */
static int reprice_row(struct repricing *p, struct db_row *st, struct err *err)
{
	struct changed *c = &p->changed[p->n_changed];
	struct store_import_job priced;
	struct history_job j;
	struct tally t;
	int r = store_imported_read(st, &j, err);

	p->n.jobs++;
	priced = (struct store_import_job){ .job = &j };
	if (r >= 0)
		r = p->how->price(p->how->ctx, &j, &priced, err);
	if (r != 0 || store_import_tally(&priced, &t) < 0) {
		p->n.no_price += r >= 0;
		return r < 0 ? r : 0;
	}
	*c = (struct changed){ db_int(st, ID),	      priced.pool,
			       priced.terms.rate.num, priced.terms.rate.den,
			       t.charge_requested_ms, t.charge_used_ms };
	if (c->pool == db_int(st, POOL) && c->requested_ms == db_int(st, CHARGE_REQUESTED_MS) &&
	    c->used_ms == db_int(st, CHARGE_USED_MS) && has_rate(st, c, j.ncpus))
		return 0;
	if (c->rate_num == j.ncpus && c->rate_den == 1) /* stored as NULL */
		c->rate_num = c->rate_den = 0;
	p->n_changed++;
	return 0;
}

static int write_changed(struct repricing *p, struct err *err)
{
	int r = 0;

	for (size_t i = 0; i < p->n_changed && r >= 0; i++) {
		const struct changed *c = &p->changed[i];

		r = db_run_later(p->s->db, err,
				 "UPDATE imported SET pool = ?2, rate_num = NULLIF(?3, 0),"
				 " rate_den = NULLIF(?4, 0), charge_requested_ms = ?5, "
				 "charge_used_ms = ?6 WHERE id = ?1",
				 "iiiiii", c->id, c->pool, c->rate_num, c->rate_den,
				 c->requested_ms, c->used_ms);
	}
	p->n.changed += (int64_t)p->n_changed;
	p->n_changed = 0;
	return r;
}

/* store_rebuild.before: runs in the transaction of the rebuild, before it sums up the jobs. */
static int reprice_all(void *ctx, struct err *err)
{
	struct repricing *p = ctx;
	int64_t last = -1;
	int n, r = 0;

	do {
		struct db_row *st;

		n = 0;
		r = db_query(p->s->db, err, &st, read_sql, "ii", last, (int64_t)TOGETHER);
		while (r >= 0 && (r = db_step(p->s->db, st, err)) > 0) {
			last = db_int(st, ID);
			n++;
			r = reprice_row(p, st, err);
			if (r < 0)
				db_done(st);
		}
		if (r >= 0)
			r = write_changed(p, err);
	} while (r >= 0 && n == TOGETHER);
	if (r >= 0)
		r = db_run(p->s->db, err, "UPDATE imports SET profile = ?1", "t",
			   p->how->profile);
	return r;
}

int store_reprice(struct store *s, const struct store_reprice *how, struct store_repriced *ret,
		  struct err *err)
{
	struct repricing *p = calloc(1, sizeof(*p));
	struct store_rebuild rebuild = { .before = reprice_all, .before_ctx = p };
	struct store_verified unused;
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	p->s = s;
	p->how = how;
	r = store_rebuild(s, &rebuild, &unused, err);
	if (r >= 0)
		*ret = p->n;
	free(p);
	return r;
}
