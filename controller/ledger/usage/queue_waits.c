/* SPDX-License-Identifier: GPL-2.0-or-later */
/* queue_waits.c - counts and reads how long jobs waited. See queue_waits.h. */
#include "common/err.h"
#include "controller/ledger/sql.h"
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

int store_wait_count(struct store *s, const struct store_wait *w, struct err *err)
{
	const struct store_wait_sum one = { w->day, waits_size(w->ncpus),
					    waits_bucket(w->wait_s), 1 };

	return store_wait_add(s, w->cluster, &one, err);
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
