/* SPDX-License-Identifier: GPL-2.0-or-later */
/* depend.c - resolves dependencies when jobs have ended: a list of ended jobs, to which the jobs that
 * fail because of them are added until it is worked off, in one transaction. See jobs/depend.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/jobs/depend.h"
#include "controller/ledger/jobs/credential.h"
#include "controller/ledger/jobs/stored.h"
#include "controller/ledger/jobs/texts.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/sql.h"

/* ---- submission ---- */

static int decode_end(const char *text, struct job_end *ret, struct err *err)
{
	_cleanup_json_ json_t *doc = *text ? wire_load(text, 0, NULL) : NULL;

	*ret = (struct job_end){ .kind = END_NONE };
	if (!*text)
		return 0;
	if (!doc)
		return err_set(err, -EBADMSG, "an end in the ledger is not readable");
	return wire_decode_end(doc, "end", ret, err);
}

enum prospect_column { PROSPECT_UID, PROSPECT_ACCOUNT, PROSPECT_STATE, PROSPECT_END };

/* 1: there is such a row. */
static int load_prospect(struct store *s, int64_t job, struct store_prospect *ret,
			 struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT uid, account, state, end FROM jobs WHERE job = ?1", "i",
			       job);

	if (r <= 0)
		return r;
	ret->uid = (uint32_t)db_int(st, PROSPECT_UID);
	snprintf(ret->account, sizeof(ret->account), "%s", store_text(st, PROSPECT_ACCOUNT));
	r = decode_end(db_int(st, PROSPECT_STATE) == JOB_ENDED ? store_text(st, PROSPECT_END)
							       : "",
		       &ret->end, err);
	db_done(st);
	return r < 0 ? r : 1;
}

int store_depend_look(struct store *s, struct after a, struct store_prospect *ret,
		      struct err *err)
{
	char id[JOB_ID_TEXT_MAX];
	int64_t job = a.id.job;
	bool is_dropped;
	int r = 0;

	*ret = (struct store_prospect){ .target = { job, a.kind } };
	if (a.id.index != JOB_ID_NO_INDEX)
		r = store_array_element(s, a.id, &job, err);
	if (r < 0)
		return r;
	ret->target.job = job;
	is_dropped = r == STORE_DROPPED;
	/* A task without a row has all but the end from its array. */
	r = load_prospect(s, r > 0 ? a.id.job : job, ret, err);
	if (r == 0)
		return err_set(err, -ENOENT, "no job %s", job_id_format(a.id, id));
	if (is_dropped)
		ret->end = (struct job_end){ .kind = END_CANCELLED };
	return r < 0 ? r : 0;
}

int store_depends_add(struct store *s, int64_t job, const struct store_new *n, struct err *err)
{
	int64_t n_rows = 0;
	int r;

	for (size_t i = 0; i < n->n_targets; i++) {
		r = db_run(s->db, err,
			   "INSERT INTO depends(job, target, kind) VALUES(?1, ?2, ?3)"
			   " ON CONFLICT(job, target, kind) DO NOTHING",
			   "iii", job, n->targets[i].job, (int64_t)n->targets[i].kind);
		if (r < 0)
			return r;
		n_rows += db_changes(s->db);
	}
	return store_stored_add(s, job, n_rows * STORE_DEPEND_BYTES, err);
}

/* ---- resolving ---- */

/* Jobs that have ended and whose dependents are to be resolved; grows meanwhile. */
struct work {
	struct store *s;
	const struct store_resolve *how;
	int64_t *jobs;
	size_t n, room;
	int64_t until_ns; /* CLOCK_MONOTONIC; 0: no limit */
};

static bool is_over(const struct work *w)
{
	return w->until_ns && clock_ns(CLOCK_MONOTONIC) >= w->until_ns;
}

static int add_work(struct work *w, int64_t job, struct err *err)
{
	if (w->n == w->room) {
		size_t room = w->room ? w->room * 2 : 64;
		int64_t *p = realloc(w->jobs, room * sizeof(*p));

		if (!p)
			return err_set(err, -ENOMEM, "out of memory");
		w->jobs = p;
		w->room = room;
	}
	w->jobs[w->n++] = job;
	return 0;
}

static int add_rows(struct work *w, struct db_row *st, struct err *err)
{
	int r;

	while ((r = db_step(w->s->db, st, err)) > 0) {
		r = add_work(w, db_int(st, 0), err);
		if (r < 0) {
			db_done(st);
			return r;
		}
	}
	return r;
}

static int newest_event(struct store *s, int64_t *ret, struct err *err)
{
	int r = db_query_int(s->db, err, ret, "SELECT COALESCE(MAX(id), 0) FROM events", "");

	return r < 0 ? r : 0;
}

/* The + changes no value: it keeps SQLite from reading all events in the order of jobs. */
static const char since_sql[] =
	"SELECT DISTINCT +e.job FROM events e CROSS JOIN jobs j"
	" ON j.job = e.job WHERE e.id > ?1 AND j.state = " SQL_JOB_ENDED " ORDER BY 1";
/* The first time after a start: ended jobs with open dependents, and ended array tasks that were not
 * counted. */
static const char open_sql[] =
	"SELECT d.target FROM depends d CROSS JOIN jobs j ON j.job = d.target"
	" WHERE d.met = " SQL_STORE_DEPEND_OPEN " AND j.state = " SQL_JOB_ENDED
	" UNION SELECT j.job FROM arrays r CROSS JOIN jobs j ON j.array_job = r.job AND "
	"j.array_job "
	"> 0"
	" WHERE r.is_open = 1 AND j.state = " SQL_JOB_ENDED
	" AND (j.withheld & " SQL_STORE_COUNTED ") = 0 ORDER BY 1";

static int find_ended(struct work *w, struct err *err)
{
	struct db_row *st;
	int r = w->s->settled ? db_query(w->s->db, err, &st, since_sql, "i", w->s->settled)
			      : db_query(w->s->db, err, &st, open_sql, "");

	return r < 0 ? r : add_rows(w, st, err);
}

/* How a job that others wait for has ended. */
struct ended {
	struct after after; /* its id; kind: of the dependency that is resolved */
	int64_t job;
	struct job_end end;
};

static void announce_resolved(const struct work *w, int64_t job, const char *text)
{
	const struct store_resolved what = { job, text };

	if (w->how->fn)
		w->how->fn(w->how->ctx, &what);
}

/* Where it was the job's last open dependency, the job and its tasks may start. */
static int meet_dependency(struct work *w, int64_t job, const struct ended *e, struct err *err)
{
	struct db *d = w->s->db;
	int r = db_run(d, err,
		       "UPDATE depends SET met = " SQL_STORE_DEPEND_MET
		       " WHERE job = ?1 AND target = ?2 AND kind = ?3",
		       "iii", job, e->job, (int64_t)e->after.kind);

	if (r >= 0)
		r = db_run(
			d, err,
			"UPDATE jobs SET withheld = withheld - " SQL_STORE_DEPENDS
			", eligible_ns = ?2"
			" WHERE job = ?1"
			" AND (withheld & " SQL_STORE_DEPENDS ") <> 0 AND NOT EXISTS"
			" (SELECT 1 FROM depends WHERE job = ?1 AND met = " SQL_STORE_DEPEND_OPEN
			")",
			"ii", job, w->how->now_ns);
	if (r < 0 || db_changes(d) == 0)
		return r;
	store_announce_job(w->s, job);
	r = store_announce_tasks(w->s, job, err);
	if (r < 0)
		return r;
	announce_resolved(w, job, NULL);
	return db_run(
		d, err,
		"UPDATE jobs SET withheld = withheld - " SQL_STORE_DEPENDS ", eligible_ns = ?2"
		" WHERE array_job = ?1 AND array_job > 0"
		" AND state = " SQL_JOB_QUEUED " AND (withheld & " SQL_STORE_DEPENDS ") <> 0",
		"ii", job, w->how->now_ns);
}

/* Ends a queued job, and the tasks of an array. */
static int end_rows(struct work *w, int64_t job, const char *end, struct err *err)
{
	int r = store_announce_tasks(w->s, job, err);

	store_announce_job(w->s, job);
	if (r >= 0)
		r = db_run(w->s->db, err,
			   "UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?2, end = ?3"
			   " WHERE job = ?1 AND state = " SQL_JOB_QUEUED,
			   "iit", job, w->how->now_ns, end);
	if (r >= 0)
		r = db_run(
			w->s->db, err,
			"UPDATE jobs SET state = " SQL_JOB_ENDED ", ended_ns = ?2, end = ?3"
			" WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED,
			"iit", job, w->how->now_ns, end);
	if (r >= 0)
		r = store_array_drop(w->s, job, err);
	if (r >= 0)
		r = store_credential_drop(w->s, job, err);
	if (r >= 0)
		r = db_run(w->s->db, err, "UPDATE arrays SET is_open = 0 WHERE job = ?1", "i",
			   job);
	/* Its other dependencies need no answer any more. */
	return r < 0 ? r
		     : db_run(w->s->db, err,
			      "UPDATE depends SET met = " SQL_STORE_DEPEND_MOOT
			      " WHERE job = ?1",
			      "i", job);
}

/* Tasks of an ended array have ended like it; another job may wait for one of them. */
static int fail_dependents(struct work *w, int64_t job, const struct ended *e, struct err *err)
{
	char words[DEPEND_WORDS_MAX];
	const struct store_end how = { END_DEPENDENCY, depend_words(e->after, &e->end, words),
				       w->how->now_ns };
	const struct store_event event = { w->how->now_ns, job, NULL, "ended", words };
	_cleanup_free_ char *end = NULL;
	struct db_row *st;
	int r = store_end_encode(&how, &end, err);

	if (r >= 0)
		r = end_rows(w, job, end, err);
	if (r >= 0)
		r = store_event(w->s, &event, err);
	if (r >= 0)
		r = add_work(w, job, err);
	if (r >= 0)
		r = db_query(w->s->db, err, &st,
			     "SELECT job FROM jobs WHERE array_job = ?1 AND array_job > 0", "i",
			     job);
	if (r >= 0)
		r = add_rows(w, st, err);
	if (r >= 0)
		announce_resolved(w, job, words);
	return r;
}

struct dependent {
	int64_t job;
	enum after_kind kind;
};
struct dependents {
	struct dependent *at;
	size_t n;
};

enum dependent_column { DEPENDENT_JOB, DEPENDENT_KIND };

/* The jobs whose dependency on `target` is open. The caller frees ret->at, also after an error. */
static int find_dependents(struct store *s, int64_t target, struct dependents *ret,
			   struct err *err)
{
	struct db_row *st;
	int r = db_query(
		s->db, err, &st,
		"SELECT job, kind FROM depends WHERE target = ?1 AND met = " SQL_STORE_DEPEND_OPEN
		" ORDER BY job",
		"i", target);

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		struct dependent *p = realloc(ret->at, (ret->n + 1) * sizeof(*p));

		if (!p) {
			db_done(st);
			return err_set(err, -ENOMEM, "out of memory");
		}
		ret->at = p;
		ret->at[ret->n++] =
			(struct dependent){ db_int(st, DEPENDENT_JOB),
					    (enum after_kind)(int)db_int(st, DEPENDENT_KIND) };
	}
	return r;
}

/* Whose dependents are resolved by an end. is_part: the end is that of one task of the array `target`,
 * which has not ended; then only a failure is final. */
struct resolving {
	int64_t target;
	bool is_part;
};

/* 1: the budget is used up, and some may be left. */
static int resolve_dependents(struct work *w, struct resolving t, const struct ended *e,
			      struct err *err)
{
	struct dependents d = { 0 };
	int r = find_dependents(w->s, t.target, &d, err);

	for (size_t i = 0; i < d.n && r == 0; i++) {
		struct ended one = *e;
		enum depend_verdict v;

		one.after.kind = d.at[i].kind;
		one.job = t.target;
		v = depend_judge(one.after.kind, &one.end);
		if (v == DEPEND_FAILED)
			r = fail_dependents(w, d.at[i].job, &one, err);
		else if (v == DEPEND_MET && !t.is_part)
			r = meet_dependency(w, d.at[i].job, &one, err);
		if (r >= 0)
			r = v != DEPEND_WAITS && is_over(w);
	}
	free(d.at);
	return r;
}

struct ended_row {
	int64_t array_job;
	bool is_array;
	struct ended ended;
};

enum ended_column { ENDED_ARRAY_JOB, ENDED_ARRAY_INDEX, ENDED_WITHHELD, ENDED_END };

/* 1: it has ended. */
static int load_ended(struct store *s, int64_t job, struct ended_row *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT array_job, array_index, withheld, end FROM jobs"
			       " WHERE job = ?1 AND state = " SQL_JOB_ENDED,
			       "i", job);

	if (r <= 0)
		return r;
	*ret = (struct ended_row){ .array_job = db_int(st, ENDED_ARRAY_JOB),
				   .is_array =
					   (db_int(st, ENDED_WITHHELD) & STORE_IS_ARRAY) != 0 };
	ret->ended.job = job;
	ret->ended.after.id = (struct job_id){ ret->array_job ? ret->array_job : job,
					       ret->array_job ? db_int(st, ENDED_ARRAY_INDEX)
							      : JOB_ID_NO_INDEX };
	r = decode_end(store_text(st, ENDED_END), &ret->ended.end, err);
	db_done(st);
	return r < 0 ? r : 1;
}

static int settle_element(struct work *w, const struct ended_row *e, struct err *err)
{
	const struct store_element element = { .job = e->ended.job,
					       .array = e->array_job,
					       .now_ns = w->how->now_ns,
					       .is_well = depend_is_well(&e->ended.end) };
	int r = store_array_count(w->s, &element, err);

	if (r > 0)
		return add_work(w, e->array_job, err);
	if (r < 0 || element.is_well)
		return r;
	return resolve_dependents(w, (struct resolving){ e->array_job, true }, &e->ended, err);
}

/* A job that waits for a task which never had a row is resolved by the end of the array. */
static int settle_dropped(struct work *w, const struct ended_row *e, struct err *err)
{
	struct ended one = e->ended;
	struct work targets = { .s = w->s };
	struct store_array a;
	struct db_row *st;
	int r = db_query(w->s->db, err, &st,
			 "SELECT DISTINCT d.target FROM depends d JOIN arrays r ON r.job = ?1"
			 " WHERE d.met = " SQL_STORE_DEPEND_OPEN
			 " AND d.target > r.job AND d.target <= r.job + r.n"
			 " AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.job = d.target)",
			 "i", e->ended.job);

	if (r >= 0)
		r = add_rows(&targets, st, err);
	if (r >= 0)
		r = store_array(w->s, e->ended.job, &a, err);
	if (r > 0)
		r = 0;
	for (size_t i = 0; i < targets.n && r == 0; i++) {
		one.after.id.index = array_index(&a.array, targets.jobs[i] - e->ended.job - 1);
		r = resolve_dependents(w, (struct resolving){ targets.jobs[i], false }, &one,
				       err);
	}
	free(targets.jobs);
	return r;
}

static int settle_one(struct work *w, int64_t job, struct err *err)
{
	struct ended_row e;
	int r = load_ended(w->s, job, &e, err);

	if (r <= 0)
		return r;
	r = resolve_dependents(w, (struct resolving){ job, false }, &e.ended, err);
	if (r == 0 && e.array_job)
		r = settle_element(w, &e, err);
	if (r == 0 && e.is_array)
		r = settle_dropped(w, &e, err);
	return r;
}

/* Each job of the list may be settled again: what is resolved is not resolved twice. 1: the budget is used up. */
static int settle_some(struct work *w, size_t *at, struct err *err)
{
	int r = db_begin(w->s->db, err), more = 0;

	if (r < 0)
		return r;
	while (r >= 0 && !more && *at < w->n) {
		r = settle_one(w, w->jobs[*at], err);
		more = r > 0;
		*at += r == 0;
		more |= is_over(w) && *at < w->n;
	}
	r = db_end(w->s->db, r < 0 ? r : 0, err);
	return r < 0 ? r : more;
}

static void forget_resolving(struct store *s)
{
	free(s->resolving);
	s->resolving = NULL;
	s->n_resolving = s->resolved = 0;
}

/* A list that is in memory is continued; else the ends since the last list are a new one. */
static int take_list(struct work *w, struct err *err)
{
	struct store *s = w->s;
	int64_t newest;
	int r;

	if (s->resolving) {
		w->jobs = s->resolving;
		w->n = w->room = s->n_resolving;
		s->resolving = NULL;
		return 0;
	}
	r = newest_event(s, &newest, err);
	if (r < 0 || (s->settled && newest == s->settled))
		return r;
	s->resolved = 0;
	r = find_ended(w, err);
	if (r >= 0)
		s->settled = newest;
	return r < 0 ? r : 0;
}

int store_resolve(struct store *s, const struct store_resolve *how, struct err *err)
{
	int64_t until_ns = how->budget_ns ? clock_ns(CLOCK_MONOTONIC) + how->budget_ns : 0;
	bool has_time;
	int r;

	do {
		struct work w = { .s = s, .how = how, .until_ns = until_ns };

		r = take_list(&w, err);
		if (r >= 0 && w.n > 0)
			r = settle_some(&w, &s->resolved, err);
		if (w.n > 0)
			s->unfolded = 0;
		s->resolving = w.jobs;
		s->n_resolving = w.n;
		if (r > 0)
			return 1;
		forget_resolving(s);
		/* The first call after a failure looks at all open dependencies, as after a start. */
		if (r < 0) {
			s->settled = 0;
			return r;
		}
		if (w.n == 0)
			return 0;
		/* Jobs that this ended itself have events, which are a list too. */
		has_time = !is_over(&w);
	} while (has_time);
	return 1;
}

enum task_column { TASK_ARRAY, TASK_INDEX };

/* 1: *ret is the id of the array task that has that number; 0: it is no task's. */
static int load_element(struct store *s, int64_t number, struct job_id *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT job, first + step * (?1 - job - 1) FROM arrays"
			       " WHERE job = (SELECT MAX(job) FROM arrays WHERE job < ?1)"
			       " AND job + n >= ?1",
			       "i", number);

	if (r <= 0)
		return r;
	*ret = (struct job_id){ db_int(st, TASK_ARRAY), db_int(st, TASK_INDEX) };
	db_done(st);
	return 1;
}

enum first_open_column { FIRST_OPEN_TARGET, FIRST_OPEN_KIND };

int store_depend_words(struct store *s, int64_t job, char buf[static DEPEND_WORDS_MAX],
		       struct err *err)
{
	static const struct job_end none = { .kind = END_NONE };
	struct after a = { .id = { 0, JOB_ID_NO_INDEX } };
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT d.target, d.kind"
			       " FROM jobs j JOIN depends d ON d.job IN (j.job, j.array_job)"
			       " WHERE j.job = ?1 AND d.met = " SQL_STORE_DEPEND_OPEN
			       " ORDER BY d.target LIMIT 1",
			       "i", job);

	if (r <= 0)
		return r;
	a.id.job = db_int(st, FIRST_OPEN_TARGET);
	a.kind = (enum after_kind)(int)db_int(st, FIRST_OPEN_KIND);
	db_done(st);
	r = load_element(s, a.id.job, &a.id, err);
	if (r < 0)
		return r;
	depend_words(a, &none, buf);
	return 1;
}
