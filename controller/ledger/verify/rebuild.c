/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rebuild.c - replaces all rollups and months by what is recomputed from the jobs, in days of another
 * time zone where one is given. See verify/verify.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/usage/totals/totals.h"
#include "controller/ledger/verify/verify_impl.h"

static int write_days(struct verify *v, struct err *err)
{
	int r = db_run(v->s->db, err, "DELETE FROM rollups", "");

	for (size_t i = 0; i < rollup_set_size(v->sums) && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(v->sums, i);
		const struct rollup_set_association *a =
			rollup_set_association(v->sums, e->association);
		const struct rollup_key key = { a->cluster, a->account, a->user, e->pool,
						e->day };

		if (!rollup_is_zero(&e->rollup))
			r = rollup_write_day(v->s->db, &key, &e->rollup, err);
		v->n.rollups += !rollup_is_zero(&e->rollup);
	}
	return r;
}

static int write_months(struct verify *v, struct err *err)
{
	struct db *db = v->s->db;
	int r = db_run(db, err, "DELETE FROM months", "");

	for (size_t i = 0; i < rollup_set_size(v->months) && r >= 0; i++) {
		const struct rollup_set_entry *e = rollup_set_entry(v->months, i);
		struct rollup_set_association *a =
			rollup_set_association(v->months, e->association);
		const struct rollup_key key = { .cluster = a->cluster, a->account, a->user };
		struct rollup_month m = { .pool = e->pool, .month = e->day };

		if (rollup_is_zero(&e->rollup))
			continue;
		if (!a->id)
			r = rollup_association(db, &key, &a->id, err);
		m.association = a->id;
		if (r >= 0)
			r = rollup_write_month(db, &m, &e->rollup, err);
	}
	return r;
}

/* Records the new zone. A node reports the sum of what a job used between two reports. It was cut at
 * midnight once, when it came; at which moment it was used is not known, so it cannot be cut again. */
static int move_zone(struct store *s, const char *was, struct err *err)
{
	int r = db_has_row(s->db, err, "SELECT 1 FROM attempts LIMIT 1", "");

	if (r == 0)
		r = db_has_row(s->db, err, "SELECT 1 FROM rollups_base LIMIT 1", "");
	if (r > 0)
		return err_set(err, -ENOTSUP,
			       "jobs ran under this ledger, and what their nodes reported was "
			       "cut at the midnights of %.64s as it came: only a ledger of "
			       "imported jobs can be cut again",
			       was);
	if (r < 0)
		return r;
	return db_run(s->db, err, "UPDATE meta SET value = ?1 WHERE key = 'time_zone'", "t",
		      store_zone(s));
}

/* s->calendar is that of the new zone already; `was` is the zone before. */
static int rebuild_sums(struct verify *v, const struct store_rebuild *how, const char *was,
			struct err *err)
{
	int r = db_begin(v->s->db, err);

	if (r < 0)
		return r;
	if (strcmp(store_zone(v->s), was) != 0)
		r = move_zone(v->s, was, err);
	if (r >= 0 && how->before)
		r = how->before(how->before_ctx, err);
	if (r >= 0)
		r = store_verify_recompute(v, err);
	if (r >= 0)
		r = write_days(v, err);
	if (r >= 0)
		r = write_months(v, err);
	if (r >= 0)
		r = totals_fill(v->s, err);
	return db_end(v->s->db, r, err);
}

int store_rebuild(struct store *s, const struct store_rebuild *how, struct store_verified *ret,
		  struct err *err)
{
	_cleanup_(rollup_set_freep) struct rollup_set *sums = rollup_set_new(),
						      *months = rollup_set_new();
	_cleanup_(calendar_closep) struct calendar *other =
		NULL; /* at the end: the one not in use */
	struct verify v = {
		.s = s, .sums = sums, .months = months, .fn = how->fn, .ctx = how->ctx
	};
	struct calendar *was = s->calendar;
	int r = sums && months ? 0 : err_set(err, -ENOMEM, "out of memory");

	if (r >= 0)
		r = calendar_open(how->zone ? how->zone : calendar_zone(was), &other, err);
	if (r < 0)
		return r;
	s->calendar = TAKE_PTR(other);
	r = rebuild_sums(&v, how, calendar_zone(was), err);
	other = r < 0 ? s->calendar : was;
	if (r < 0)
		s->calendar = was;
	else
		*ret = v.n;
	return r < 0 ? r : 0;
}
