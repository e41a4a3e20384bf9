/* SPDX-License-Identifier: GPL-2.0-or-later */
/* prune.c - deletes what is kept for a time only (jobs/stored.h): output, steps, scripts and
 * environments of ended jobs, later their events and series. jobs.kept says how much of an ended job is still
 * there; an index of the jobs that have some finds the next ones. One call deletes one small batch. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/sql.h"

/* Rows of a batch. Fewer chunks than other rows: a chunk of output may have tens of KB. */
#define JOBS_MAX 20
#define CHUNKS_MAX 100
#define ROWS_MAX 500

struct batch {
	struct store *s;
	int64_t jobs[JOBS_MAX];
	size_t n;
	int64_t rows; /* that this batch may still delete */
};

static int find_jobs(struct batch *b, enum store_kept kept, int64_t before_ns, struct err *err)
{
	struct db_row *st;
	int r = db_query(b->s->db, err, &st,
			 "SELECT job FROM jobs WHERE state = " SQL_JOB_ENDED
			 " AND kept > " SQL_STORE_KEPT_NOTHING " AND kept = ?1"
			 " AND ended_ns < ?2 ORDER BY ended_ns LIMIT ?3",
			 "iii", (int64_t)kept, before_ns, (int64_t)JOBS_MAX);

	b->n = 0;
	while (r >= 0 && (r = db_step(b->s->db, st, err)) > 0)
		b->jobs[b->n++] = db_int(st, 0);
	return r;
}

enum chunks_column { CHUNKS_BYTES, CHUNKS_LAST };

/* The job's oldest CHUNKS_MAX chunks: their bytes, and the id of the last; 0: there are none. */
static int count_chunks(struct batch *b, int64_t job, int64_t *ret_bytes, int64_t *ret_last,
			struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		b->s->db, err, &st,
		"SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT), COALESCE(MAX(id), 0)"
		" FROM (SELECT id, size FROM chunks WHERE job = ?1 ORDER BY id LIMIT ?2)"
		" AS x",
		"ii", job, (int64_t)CHUNKS_MAX);

	if (r < 0)
		return r;
	*ret_bytes = db_int(st, CHUNKS_BYTES);
	*ret_last = db_int(st, CHUNKS_LAST);
	db_done(st);
	return 0;
}

/* 1: the job has no output any more; 0: a later batch goes on. */
static int prune_output(struct batch *b, int64_t job, struct err *err)
{
	int64_t bytes = 0, last = 0, n;
	int r = count_chunks(b, job, &bytes, &last, err);

	if (r >= 0 && last)
		r = db_run(b->s->db, err, "DELETE FROM chunks WHERE job = ?1 AND id <= ?2",
			   "ii", job, last);
	n = last ? db_changes(b->s->db) : 0;
	b->rows -= n * (ROWS_MAX / CHUNKS_MAX);
	if (r >= 0)
		r = store_stored_add(b->s, job, -bytes, err);
	if (r < 0 || n >= CHUNKS_MAX)
		return r;
	r = db_run(b->s->db, err, "DELETE FROM streams WHERE job = ?1", "i", job);
	return r < 0 ? r : 1;
}

/* Texts (jobs/texts.h), and how many of the steps have each as their command. */
struct uses {
	struct use {
		int64_t text, n;
	} of[ROWS_MAX];
	size_t n;
};

enum use_column { USE_COMMAND, USE_N };

/* The commands of the job's steps up to `last`. */
static int find_uses(struct batch *b, int64_t job, int64_t last, struct uses *ret,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query(b->s->db, err, &st,
			 "SELECT command, COUNT(*) FROM steps WHERE job = ?1 AND step <= ?2"
			 " GROUP BY command",
			 "ii", job, last);

	ret->n = 0;
	while (r >= 0 && (r = db_step(b->s->db, st, err)) > 0)
		ret->of[ret->n++] = (struct use){ db_int(st, USE_COMMAND), db_int(st, USE_N) };
	return r;
}

/* The number of the last step of this batch; 0: the job has no steps. */
static int last_of_batch(struct batch *b, int64_t job, int64_t *ret, struct err *err)
{
	int r = db_query_int(b->s->db, err, ret,
			     "SELECT COALESCE(MAX(step), 0) FROM (SELECT step FROM steps"
			     " WHERE job = ?1 ORDER BY step LIMIT ?2) AS x",
			     "ii", job, (int64_t)ROWS_MAX);

	return r < 0 ? r : 0;
}

/* 1: the job has no steps any more. */
static int prune_steps(struct batch *b, int64_t job, struct err *err)
{
	struct uses uses;
	int64_t last = 0, n = 0;
	int r = last_of_batch(b, job, &last, err);

	if (r < 0 || !last)
		return r < 0 ? r : 1;
	r = find_uses(b, job, last, &uses, err);
	for (size_t i = 0; i < uses.n && r >= 0; i++) {
		n += uses.of[i].n;
		if (uses.of[i].text)
			r = store_text_release(b->s, uses.of[i].text, uses.of[i].n, err);
	}
	if (r >= 0)
		r = db_run(b->s->db, err, "DELETE FROM steps WHERE job = ?1 AND step <= ?2",
			   "ii", job, last);
	if (r >= 0)
		r = store_stored_add(b->s, job, -n * STORE_STEP_BYTES, err);
	b->rows -= n;
	return r < 0 ? r : n < ROWS_MAX;
}

enum piece_column { PIECE_ENV, PIECE_SCRIPT };

/* The texts that the job's environment and script are stored in; 0: none. */
static int load_pieces(struct batch *b, int64_t job, int64_t ret[2], struct err *err)
{
	struct db_row *st;
	int r = db_query_first(b->s->db, err, &st,
			       "SELECT env, script FROM jobs WHERE job = ?1", "i", job);

	ret[0] = ret[1] = 0;
	if (r <= 0)
		return r;
	ret[0] = db_int(st, PIECE_ENV);
	ret[1] = db_int(st, PIECE_SCRIPT);
	db_done(st);
	return 0;
}

/* Its dependencies: at most AFTER_MAX rows. */
static int drop_dependencies(struct batch *b, int64_t job, struct err *err)
{
	int r = db_run(b->s->db, err, "DELETE FROM depends WHERE job = ?1", "i", job);
	int64_t n = r < 0 ? 0 : db_changes(b->s->db);

	if (r < 0)
		return r;
	b->rows -= n;
	return store_stored_add(b->s, job, -n * STORE_DEPEND_BYTES, err);
}

/* The request in the row gets its closing bracket back (jobs/texts.h). */
static int drop_pieces(struct batch *b, int64_t job, struct err *err)
{
	int64_t pieces[2];
	int r = load_pieces(b, job, pieces, err);

	if (r < 0)
		return r;
	for (int i = 0; i < 2; i++) {
		if (pieces[i])
			r = store_text_release(b->s, pieces[i], 1, err);
		if (r < 0)
			return r;
	}
	r = drop_dependencies(b, job, err);
	if (r < 0)
		return r;
	return db_run(b->s->db, err,
		      "UPDATE jobs SET kept = " SQL_STORE_KEPT_EVENTS
		      ", env = 0, script = 0, request = request ||"
		      " CASE WHEN env + script > 0 THEN '}' ELSE '' END WHERE job = ?1",
		      "i", job);
}

/* 1: nothing of the job but its events is left to delete. */
static int prune_job(struct batch *b, int64_t job, struct err *err)
{
	int r = prune_output(b, job, err);

	if (r > 0)
		r = prune_steps(b, job, err);
	if (r <= 0)
		return r;
	r = drop_pieces(b, job, err);
	b->rows--;
	return r < 0 ? r : 1;
}

/* The newest event stays, because readers of the journal compare its number; so do events that the
 * hooks have not read. */
#define MAY_DELETE                                                                             \
	" AND id < (SELECT MAX(id) FROM events) AND NOT EXISTS(SELECT 1 FROM meta WHERE"       \
	" key = 'hooks_place' AND CAST(value AS BIGINT) < events.id)"

/* 1: nothing of the job is left to delete. */
static int prune_events(struct batch *b, int64_t job, struct err *err)
{
	int64_t n;
	int r = db_run(b->s->db, err,
		       "DELETE FROM events WHERE id IN (SELECT id FROM events"
		       " WHERE job = ?1" MAY_DELETE " ORDER BY id LIMIT ?2)",
		       "ii", job, (int64_t)ROWS_MAX);

	if (r < 0)
		return r;
	n = db_changes(b->s->db);
	b->rows -= n + 1;
	if (n >= ROWS_MAX)
		return 0;
	r = db_run(b->s->db, err, "DELETE FROM series WHERE job = ?1", "i", job);
	if (r < 0)
		return r;
	b->rows -= db_changes(b->s->db);
	r = db_run(b->s->db, err,
		   "UPDATE jobs SET kept = " SQL_STORE_KEPT_NOTHING " WHERE job = ?1", "i",
		   job);
	return r < 0 ? r : 1;
}

static int prune_node_events(struct batch *b, int64_t before_ns, struct err *err)
{
	int r = db_run(b->s->db, err,
		       "DELETE FROM events WHERE id IN (SELECT id FROM events"
		       " WHERE job IS NULL AND at_ns < ?1" MAY_DELETE
		       " ORDER BY at_ns LIMIT ?2)",
		       "ii", before_ns, (int64_t)ROWS_MAX);

	if (r >= 0)
		b->rows -= db_changes(b->s->db);
	return r;
}

/* 1: a later batch has more of this kind to delete. */
static int prune_kind(struct batch *b, enum store_kept kept, int64_t before_ns, struct err *err)
{
	int r = find_jobs(b, kept, before_ns, err);
	size_t i;

	for (i = 0; i < b->n && r >= 0 && b->rows > 0; i++) {
		r = (kept == STORE_KEPT_ALL ? prune_job : prune_events)(b, b->jobs[i], err);
		if (r == 0)
			return 1;
	}
	return r < 0 ? r : b->n == JOBS_MAX || i < b->n;
}

static int prune_batch(struct batch *b, const struct store_retention *keep, struct err *err)
{
	int64_t output_ns = keep->now_ns - keep->output_ns;
	int64_t events_ns = keep->now_ns - keep->events_ns;
	int more = prune_kind(b, STORE_KEPT_ALL, output_ns, err), r = more;

	if (r >= 0 && b->rows > 0) {
		r = prune_kind(b, STORE_KEPT_EVENTS, events_ns, err);
		more |= r > 0;
	}
	if (r >= 0 && b->rows > 0)
		r = prune_node_events(b, events_ns, err);
	return r < 0 ? r : more || b->rows <= 0;
}

int store_prune(struct store *s, const struct store_retention *keep, struct err *err)
{
	struct batch b = { .s = s, .rows = ROWS_MAX };
	int r = db_forget_statistics(s->db, err);

	if (r >= 0)
		r = db_begin(s->db, err);
	return r < 0 ? r : db_end(s->db, prune_batch(&b, keep, err), err);
}
