/* SPDX-License-Identifier: GPL-2.0-or-later */
/* hold.c - holds and releases queued jobs: a row in holds, and a bit in jobs.withheld that the queue is
 * read by. See jobs/hold.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

_Static_assert(STORE_HELD_USER == 1 << STORE_HOLD_USER &&
		       STORE_HELD_OPERATOR == 1 << STORE_HOLD_OPERATOR,
	       "a bit for each holder");
#define HELD (STORE_HELD_USER | STORE_HELD_OPERATOR)

int store_hold_add(struct store *s, const struct store_hold *h, struct err *err)
{
	struct store_event e = { h->now_ns, h->job, NULL, "hold", h->author };
	int64_t bit = 1LL << h->kind;
	int r = db_run(s->db, err,
		       "INSERT INTO holds(job, kind, author, at_ns) VALUES(?1, ?2, ?3, ?4)"
		       " ON CONFLICT(job, kind) DO NOTHING",
		       "iiti", h->job, (int64_t)h->kind, h->author, h->now_ns);

	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET withheld = withheld | ?2 WHERE job = ?1", "ii",
			   h->job, bit);
	store_announce_job(s, h->job);
	if (r >= 0)
		r = store_announce_tasks(s, h->job, err);
	if (r >= 0)
		r = db_run(
			s->db, err,
			"UPDATE jobs SET withheld = withheld | ?2"
			" WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED,
			"ii", h->job, bit);
	return r < 0 ? r : store_event(s, &e, err);
}

enum hold_column { HOLD_STATE, HOLD_WITHHELD };

/* -ENOENT: no such job. */
static int load_hold(struct store *s, int64_t job, enum job_state *ret_state,
		     int64_t *ret_withheld, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT state, withheld FROM jobs WHERE job = ?1", "i", job);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no job %lld", (long long)job);
	*ret_state = (enum job_state)(int)db_int(st, HOLD_STATE);
	*ret_withheld = db_int(st, HOLD_WITHHELD);
	db_done(st);
	return 0;
}

/* Commits only where nothing stood against it: an outcome > 0 is rolled back too. */
static int finish_transaction(struct store *s, int r, struct err *err)
{
	if (r == 0)
		return db_commit(s->db, err);
	db_rollback(s->db);
	return r;
}

int store_hold(struct store *s, const struct store_hold *h, struct err *err)
{
	enum job_state state = JOB_ENDED;
	int64_t withheld;
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	r = load_hold(s, h->job, &state, &withheld, err);
	if (r >= 0 && state != JOB_QUEUED)
		r = STORE_TOO_LATE;
	if (r == 0)
		r = store_hold_add(s, h, err);
	return finish_transaction(s, r, err);
}

/* A task waits for its turn again: while it was held, another one took its place. */
static int release_hold(struct store *s, const struct store_hold *h, struct err *err)
{
	struct store_event e = { h->now_ns, h->job, NULL, "release", h->author };
	int64_t others = ~(int64_t)HELD;
	int r = db_run(s->db, err,
		       "DELETE FROM holds WHERE job IN (SELECT job FROM jobs"
		       " WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED
		       ")",
		       "i", h->job);

	store_announce_job(s, h->job);
	if (r >= 0)
		r = store_announce_tasks(s, h->job, err);
	if (r >= 0)
		r = db_run(s->db, err, "DELETE FROM holds WHERE job = ?1", "i", h->job);
	if (r >= 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET eligible_ns = ?4, withheld = (withheld & ?2)"
			   " | CASE WHEN array_job > 0 THEN ?3 ELSE 0 END WHERE job = ?1",
			   "iiii", h->job, others, (int64_t)STORE_NOT_ITS_TURN, h->now_ns);
	if (r >= 0)
		r = db_run(
			s->db, err,
			"UPDATE jobs SET eligible_ns = ?4, withheld = (withheld & ?2) | ?3"
			" WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED,
			"iiii", h->job, others, (int64_t)STORE_NOT_ITS_TURN, h->now_ns);
	return r < 0 ? r : store_event(s, &e, err);
}

int store_release(struct store *s, const struct store_hold *h, struct err *err)
{
	enum job_state state = JOB_ENDED;
	int64_t withheld = 0;
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	r = load_hold(s, h->job, &state, &withheld, err);
	if (r >= 0 && state != JOB_QUEUED)
		r = STORE_TOO_LATE;
	else if (r >= 0 && !(withheld & HELD))
		r = STORE_NOT_HELD;
	else if (r >= 0 && (withheld & STORE_HELD_OPERATOR) && h->kind != STORE_HOLD_OPERATOR)
		r = STORE_HELD_ABOVE;
	if (r == 0)
		r = release_hold(s, h, err);
	return finish_transaction(s, r, err);
}

enum held_column { HELD_KIND, HELD_AUTHOR, HELD_AT_NS };

bool store_hold_parse(const char *text, struct store_held *ret)
{
	char *end;
	long kind = strtol(text, &end, 10);

	if (end == text || *end != ' ' || kind < 0 || kind >= _STORE_HOLDER_MAX)
		return false;
	ret->kind = (enum store_holder)kind;
	text = end + 1;
	ret->at_ns = strtoll(text, &end, 10);
	if (end == text || *end != ' ')
		return false;
	snprintf(ret->author, sizeof(ret->author), "%s", end + 1);
	return true;
}

int store_held(struct store *s, int64_t job, struct store_held *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT h.kind, h.author, h.at_ns FROM jobs j"
			       " JOIN holds h ON h.job IN (j.job, j.array_job)"
			       " WHERE j.job = ?1 ORDER BY h.kind DESC LIMIT 1",
			       "i", job);

	if (r <= 0)
		return r;
	ret->kind = (enum store_holder)(int)db_int(st, HELD_KIND);
	snprintf(ret->author, sizeof(ret->author), "%s", store_text(st, HELD_AUTHOR));
	ret->at_ns = db_int(st, HELD_AT_NS);
	db_done(st);
	return 1;
}
