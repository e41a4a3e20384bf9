/* SPDX-License-Identifier: GPL-2.0-or-later */
/* steps_output.c - reads the output of several steps in the order in which it came: chunks are numbered
 * as they are stored (chunks.id). See steps/steps.h. */
#include <errno.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/steps/steps.h"
#include "controller/ledger/sql.h"

#define READ_MAX (256 << 10)

enum steps_column { STEPS_N, STEPS_N_ENDED };

/* 1: all have ended. */
static int count_open(struct store *s, const struct store_steps_span *span, struct err *err)
{
	struct db_row *st;
	int64_t n, n_ended;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT COUNT(*), COALESCE(SUM(CASE WHEN state = " SQL_STORE_STEP_ENDED
		" THEN 1 ELSE 0 END),"
		" 0) FROM steps WHERE job = ?1 AND step >= ?2 AND step <= ?3",
		"iii", span->job, span->first, span->last);

	if (r <= 0)
		return r;
	n = db_int(st, STEPS_N);
	n_ended = db_int(st, STEPS_N_ENDED);
	db_done(st);
	if (n != span->last - span->first + 1)
		return err_set(err, -ENOENT, "job %lld has no steps %lld to %lld",
			       (long long)span->job, (long long)span->first,
			       (long long)span->last);
	return n == n_ended;
}

enum chunk_column { CHUNK_ID, CHUNK_STREAM, CHUNK_DATA };

/* 1: there is more. Output of step N is stored as streams 2 N (standard output) and 2 N + 1 (error); streams
 * 0 and 1 are the job's own. `since` becomes the id of the last chunk that was passed to fn. */
static int read_some(struct store *s, struct store_steps_span *span, store_steps_chunk_fn fn,
		     void *ctx, struct err *err)
{
	struct db_row *st;
	size_t n_bytes = 0;
	int r = db_query(s->db, err, &st,
			 "SELECT id, stream, data FROM chunks"
			 " WHERE job = ?1 AND stream > 1 AND id > ?2"
			 " AND stream >= ?3 AND stream <= ?4 ORDER BY id LIMIT 256",
			 "iiii", span->job, span->since, 2 * span->first, 2 * span->last + 1);

	while (r >= 0 && n_bytes < READ_MAX && (r = db_step(s->db, st, err)) > 0) {
		int64_t stream = db_int(st, CHUNK_STREAM);
		struct store_steps_chunk c = { .step = stream / 2,
					       .stream = (enum sync_stream)(int)(stream % 2) };

		c.data = db_blob(st, CHUNK_DATA, &c.size);
		span->since = db_int(st, CHUNK_ID);
		n_bytes += c.size;
		r = fn(ctx, &c, err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	if (r > 0)
		db_done(st);
	return r < 0 ? r : n_bytes > 0;
}

/* The next read begins after the chunks of other steps, too. */
static int skip_others(struct store *s, struct store_steps_span *span, struct err *err)
{
	int64_t newest = 0;
	int r = db_query_int(s->db, err, &newest,
			     "SELECT COALESCE(MAX(id), 0) FROM chunks"
			     " WHERE job = ?1 AND stream > 1",
			     "i", span->job);

	if (newest > span->since)
		span->since = newest;
	return r < 0 ? r : 0;
}

int store_steps_output(struct store *s, struct store_steps_span *span, store_steps_chunk_fn fn,
		       void *ctx, struct err *err)
{
	int have_ended = count_open(s, span, err);
	int r = have_ended < 0 ? have_ended : read_some(s, span, fn, ctx, err);

	if (r != 0)
		return r < 0 ? r : 0;
	r = skip_others(s, span, err);
	return r < 0 ? r : have_ended;
}
