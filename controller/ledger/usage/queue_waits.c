/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_waits.c - counts and reads how long jobs waited. See queue_waits.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/queue_waits.h"

int store_wait_add(struct store *s, const char *cluster, const struct store_wait_sum *w,
		   struct err *err)
{
	int r = db_run_later(s->db, err,
			     "INSERT INTO waits(cluster, day, size, bucket, jobs)"
			     " VALUES(?1, ?2, ?3, ?4, ?5) ON CONFLICT(cluster, day, size,"
			     " bucket) DO UPDATE SET jobs = waits.jobs + excluded.jobs",
			     "tiiii", cluster, w->day, (int64_t)w->size, (int64_t)w->bucket,
			     w->jobs);

	return r < 0 ? r : 0;
}

/* ---- counted in a transaction ---- */

struct one_wait {
	char cluster[REQUEST_NAME_MAX];
	struct store_wait_sum sum;
};

struct store_counted_waits {
	struct one_wait *of;
	size_t n, size;
};

static bool is_same(const struct one_wait *a, const struct one_wait *b)
{
	return a->sum.day == b->sum.day && a->sum.size == b->sum.size &&
	       a->sum.bucket == b->sum.bucket && !strcmp(a->cluster, b->cluster);
}

/* Jobs that start together have waited about as long: there are few sums. */
static int add_wait(struct store_counted_waits *c, const struct one_wait *w, struct err *err)
{
	size_t larger = c->size ? 2 * c->size : 16;
	struct one_wait *more;

	for (size_t i = 0; i < c->n; i++)
		if (is_same(&c->of[i], w)) {
			c->of[i].sum.jobs++;
			return 0;
		}
	if (c->n == c->size) {
		more = reallocarray(c->of, larger, sizeof(*more));
		if (!more)
			return err_set(err, -ENOMEM, "out of memory");
		c->of = more;
		c->size = larger;
	}
	c->of[c->n++] = *w;
	return 0;
}

int store_wait_count(struct store *s, const struct store_wait *w, struct err *err)
{
	struct one_wait one = { .sum = { w->day, waits_size(w->ncpus), waits_bucket(w->wait_s),
					 1 } };

	if (!db_is_begun(s->db))
		return store_wait_add(s, w->cluster, &one.sum, err);
	if (!s->waits)
		s->waits = calloc(1, sizeof(*s->waits));
	if (!s->waits)
		return err_set(err, -ENOMEM, "out of memory");
	snprintf(one.cluster, sizeof(one.cluster), "%s", w->cluster);
	return add_wait(s->waits, &one, err);
}

int store_wait_write(struct store *s, struct err *err)
{
	size_t n = s->waits ? s->waits->n : 0;
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++)
		r = store_wait_add(s, s->waits->of[i].cluster, &s->waits->of[i].sum, err);
	if (r >= 0)
		store_wait_forget(s);
	return r;
}

void store_wait_forget(struct store *s)
{
	if (s->waits)
		free(s->waits->of);
	free(s->waits);
	s->waits = NULL;
}

enum wait_column { WAIT_SIZE, WAIT_BUCKET, WAIT_JOBS };

int store_waits(struct store *s, const struct store_waits_ask *ask, struct store_waits *ret,
		struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT size, bucket, jobs FROM waits WHERE day >= ?1 AND day < ?2"
			 " AND (?3 IS NULL OR cluster = ?3)",
			 "iit", ask->from_day, ask->to_day, ask->cluster);

	*ret = (struct store_waits){ .jobs = { { 0 } } };
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		int64_t size = db_int(st, WAIT_SIZE), bucket = db_int(st, WAIT_BUCKET);

		if (size >= 0 && size < WAITS_SIZES && bucket >= 0 && bucket < WAITS_BUCKETS)
			ret->jobs[size][bucket] += db_int(st, WAIT_JOBS);
	}
	return r;
}
