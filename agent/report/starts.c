/* SPDX-License-Identifier: GPL-2.0-or-later */
/* starts.c - which signed submissions were started here, so that none starts twice; see starts.h. */
#include "agent/report/starts.h"
#include "common/db/db.h"

/* All rows of a nonce are of one submission (`base`), or of one step. STARTS_ANOTHER: this signature has
 * started another one, *ret. */
static int look_first(struct db *db, const struct start *s, int64_t *ret, struct err *err)
{
	struct db_row *st;
	int64_t base, step;
	int r = db_query(db, err, &st, "SELECT base, step FROM starts WHERE nonce = ?1 LIMIT 1",
			 "t", s->nonce);

	if (r >= 0)
		r = db_step(db, st, err);
	if (r <= 0)
		return r;
	base = db_int(st, 0);
	step = db_int(st, 1);
	db_done(st);
	if (base == s->base && step == s->step)
		return 0;
	*ret = step ? step : base;
	return STARTS_ANOTHER;
}

int starts_look(struct db *db, const struct start *s, int64_t *ret, struct err *err)
{
	struct db_row *st;
	int64_t attempt;
	int r = look_first(db, s, ret, err);

	if (r != 0)
		return r;
	r = db_query(db, err, &st,
		     "SELECT attempt FROM starts WHERE nonce = ?1 AND job = ?2 AND step = ?3",
		     "tii", s->nonce, s->job, s->step);
	if (r >= 0)
		r = db_step(db, st, err);
	if (r <= 0)
		return r;
	attempt = db_int(st, 0);
	db_done(st);
	if (attempt < s->attempt)
		return 0;
	*ret = attempt;
	return STARTS_AGAIN;
}

int starts_keep(struct db *db, const struct start *s, int64_t forget_s, struct err *err)
{
	int r = db_run(db, err, "DELETE FROM starts WHERE made_s < ?1", "i", forget_s);

	if (r >= 0)
		r = db_run(db, err,
			   "INSERT INTO starts(nonce, job, step, base, attempt, made_s)"
			   " VALUES(?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(nonce, job, step)"
			   " DO UPDATE SET attempt = excluded.attempt",
			   "tiiiii", s->nonce, s->job, s->step, s->base, (int64_t)s->attempt,
			   s->made_s);
	return r < 0 ? r : 0;
}
