/* SPDX-License-Identifier: GPL-2.0-or-later */
/* array.c - gives array tasks their numbers, and their rows when their turn comes (expanding). The
 * tasks without a row are ranges of ordinals in arrays.waiting (ranges.h). See jobs/array.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/jobs/array.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/jobs/ranges.h"
#include "controller/ledger/sql.h"

#define AHEAD_LEAST 32 /* queued rows of an array at a time */
#define AHEAD_MOST 4096

/* ---- numbers ---- */

enum last_number_column { LAST_JOB, LAST_TASK, FIRST_JOB };

/* One more than the number of every job and of every task, also of those without a row. The rows with the
 * largest numbers are never deleted (archive/rows.c), so numbers are never used twice. Jobs of Slurm have
 * numbers above all of these (jobs/slurm.h). The number is at least first_job of identity.h. */
int store_new_numbers(struct store *s, int64_t *ret, struct err *err)
{
	struct db_row *st;
	int64_t job, task, first;
	int r = db_query_first(
		s->db, err, &st,
		"SELECT COALESCE((SELECT MAX(job) FROM jobs WHERE job < " SQL_SLURM_FROM
		"), 0),"
		" COALESCE((SELECT job + n FROM arrays"
		" WHERE job = (SELECT MAX(job) FROM arrays)), 0),"
		" COALESCE((SELECT CAST(value AS BIGINT) FROM meta WHERE key = 'first_job'), 1)",
		"");

	if (r < 0)
		return r;
	job = db_int(st, LAST_JOB);
	task = db_int(st, LAST_TASK);
	first = db_int(st, FIRST_JOB);
	db_done(st);
	*ret = (job > task ? job : task) + 1;
	if (*ret < first)
		*ret = first;
	return 0;
}

int store_array_add(struct store *s, int64_t job, const struct array *a, struct err *err)
{
	const struct ranges all = { &(struct range){ 0, a->n - 1 }, 1 };
	_cleanup_free_ char *waiting = ranges_format(&all);

	if (!waiting)
		return err_set(err, -ENOMEM, "out of memory");
	return db_run(s->db, err,
		      "INSERT INTO arrays(job, n, first, step, at_once, waiting, n_waiting)"
		      " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?2)",
		      "iiiiit", job, a->n, a->first, a->step, a->at_once, waiting);
}

/* clang-format off */
#define ARRAY_COLUMNS(X) \
	X(ARRAY_N,         "n") \
	X(ARRAY_FIRST,     ", first") \
	X(ARRAY_STEP,      ", step") \
	X(ARRAY_AT_ONCE,   ", at_once") \
	X(ARRAY_N_WAITING, ", n_waiting") \
	X(ARRAY_N_DROPPED, ", n_dropped") \
	X(ARRAY_N_ENDED,   ", n_ended") \
	X(ARRAY_N_WELL,    ", n_well") \
	X(ARRAY_N_QUEUED,  ", (SELECT COUNT(*) FROM jobs WHERE array_job = ?1 AND array_job >" \
		" 0 AND state = " SQL_JOB_QUEUED ")") \
	X(ARRAY_N_ACTIVE,  ", (SELECT COUNT(*) FROM jobs WHERE array_job = ?1 AND array_job >" \
		" 0 AND state > " SQL_JOB_QUEUED " AND state < " SQL_JOB_ENDED ")")
/* clang-format on */
enum { ARRAY_COLUMNS(SQL_NAME) };
#define ARRAY_SELECT "SELECT " ARRAY_COLUMNS(SQL_COLUMN)

/* ---- reading ---- */

int store_array(struct store *s, int64_t job, struct store_array *ret, struct err *err)
{
	struct db_row *st;
	struct array *a = &ret->array;
	int r = db_query_first(s->db, err, &st, ARRAY_SELECT " FROM arrays WHERE job = ?1", "i",
			       job);

	if (r <= 0)
		return r;
	*a = (struct array){ .n = db_int(st, ARRAY_N),
			     .first = db_int(st, ARRAY_FIRST),
			     .step = db_int(st, ARRAY_STEP),
			     .at_once = db_int(st, ARRAY_AT_ONCE) };
	a->last = array_index(a, a->n - 1);
	ret->n_waiting = db_int(st, ARRAY_N_WAITING);
	ret->n_dropped = db_int(st, ARRAY_N_DROPPED);
	ret->n_ended = db_int(st, ARRAY_N_ENDED);
	ret->n_well = db_int(st, ARRAY_N_WELL);
	ret->n_queued = db_int(st, ARRAY_N_QUEUED);
	ret->n_active = db_int(st, ARRAY_N_ACTIVE);
	db_done(st);
	return 1;
}

/* The tasks of an array that have no row yet. 1: there are some; 0: none, or no such array. */
static int load_waiting(struct store *s, int64_t job, struct ranges *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st, "SELECT waiting FROM arrays WHERE job = ?1",
			       "i", job);

	*ret = (struct ranges){ 0 };
	if (r <= 0)
		return r;
	r = ranges_parse(store_text(st, 0), ret);
	db_done(st);
	if (r < 0)
		return err_set(err, r == -EINVAL ? -EBADMSG : r,
			       "the elements of array %lld are not readable", (long long)job);
	return ret->n > 0;
}

static int save_waiting(struct store *s, int64_t job, const struct ranges *w, struct err *err)
{
	_cleanup_free_ char *text = ranges_format(w);

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	return db_run(s->db, err,
		      "UPDATE arrays SET waiting = ?2, n_waiting = ?3 WHERE job = ?1", "iti",
		      job, text, ranges_count(w));
}

static int has_row(struct store *s, int64_t job, struct err *err)
{
	return db_has_row(s->db, err, "SELECT 1 FROM jobs WHERE job = ?1", "i", job);
}

int store_array_element(struct store *s, struct job_id id, int64_t *ret_job, struct err *err)
{
	char text[JOB_ID_TEXT_MAX];
	struct ranges w = { 0 };
	struct store_array a;
	int64_t ordinal;
	int r = store_array(s, id.job, &a, err);

	if (r < 0)
		return r;
	ordinal = r > 0 ? array_ordinal(&a.array, id.index) : -1;
	if (ordinal < 0)
		return err_set(err, -ENOENT, "no job %s%s", job_id_format(id, text),
			       r > 0 ? ": the array has no such element"
				     : ": there is no such array");
	*ret_job = id.job + 1 + ordinal;
	r = has_row(s, *ret_job, err);
	if (r != 0)
		return r < 0 ? r : 0;
	r = load_waiting(s, id.job, &w, err);
	if (r >= 0)
		r = ranges_has(&w, ordinal) ? STORE_NOT_EXPANDED : STORE_DROPPED;
	ranges_done(&w);
	return r;
}

/* ---- expanding ---- */

/* ?1: the array, ?2: the task's number, ?3: its index. Also copies what was changed of the array since
 * its submission (nice, site, holds). */
static const char expand_sql[] =
	"INSERT INTO jobs(job, array_job, array_index, state, uid, user, account, cluster,"
	" queue, name, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
	" gpu_model, node_type, features, submitted_ns, pool, decided_by, rate_num, rate_den,"
	" bundle_gpus_num,"
	" bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num,"
	" bundle_memory_den, request, unit, rule, exclusive, chunks, scattered, nice, site,"
	" summed, eligible_ns, qos, withheld)"
	" SELECT ?2, ?1, ?3, " SQL_JOB_QUEUED ", uid, user, account, cluster,"
	" queue, name, ncpus, vmem_bytes, mem_bytes, jobfs_bytes, walltime_s, ngpus,"
	" gpu_model, node_type, features, submitted_ns, pool, decided_by, rate_num, rate_den,"
	" bundle_gpus_num,"
	" bundle_gpus_den, bundle_cores_num, bundle_cores_den, bundle_memory_num,"
	" bundle_memory_den, '', unit, rule, exclusive, chunks, scattered, nice, site,"
	" summed, eligible_ns, qos, withheld & " SQL_STORE_HELD_OR_DEPENDS
	" FROM jobs WHERE job = ?1";

/* Always 1, or < 0. */
static int expand_task(struct store *s, int64_t job, const struct array *a, int64_t ordinal,
		       struct err *err)
{
	int r = db_run_later(s->db, err, expand_sql, "iii", job, job + 1 + ordinal,
			     array_index(a, ordinal));

	store_announce_job(s, job + 1 + ordinal);
	return r < 0 ? r : 1;
}

/* An open array whose turn it may be. */
struct candidate {
	int64_t job, n_queued, n_active;
	struct array array;
};
struct candidates {
	struct candidate *at;
	size_t n;
};

/* clang-format off */
#define CANDIDATE_COLUMNS(X) \
	X(CANDIDATE_JOB,      "r.job") \
	X(CANDIDATE_N_QUEUED, ", (SELECT COUNT(*) FROM jobs e WHERE e.array_job = r.job AND" \
		" e.array_job > 0 AND e.state = " SQL_JOB_QUEUED " AND e.withheld = 0)") \
	X(CANDIDATE_N_ACTIVE, ", (SELECT COUNT(*) FROM jobs e WHERE e.array_job = r.job AND" \
		" e.array_job > 0 AND e.state > " SQL_JOB_QUEUED " AND e.state < " SQL_JOB_ENDED ")") \
	X(CANDIDATE_N,        ", r.n") \
	X(CANDIDATE_FIRST,    ", r.first") \
	X(CANDIDATE_STEP,     ", r.step") \
	X(CANDIDATE_AT_ONCE,  ", r.at_once")
/* clang-format on */
enum { CANDIDATE_COLUMNS(SQL_NAME) };
#define CANDIDATE_SELECT "SELECT " CANDIDATE_COLUMNS(SQL_COLUMN)

static int add_candidate(struct candidates *c, struct db_row *st, struct err *err)
{
	struct candidate *p = realloc(c->at, (c->n + 1) * sizeof(*p));

	if (!p)
		return err_set(err, -ENOMEM, "out of memory");
	c->at = p;
	c->at[c->n++] = (struct candidate){
		.job = db_int(st, CANDIDATE_JOB),
		.n_queued = db_int(st, CANDIDATE_N_QUEUED),
		.n_active = db_int(st, CANDIDATE_N_ACTIVE),
		.array = { .n = db_int(st, CANDIDATE_N),
			   .first = db_int(st, CANDIDATE_FIRST),
			   .step = db_int(st, CANDIDATE_STEP),
			   .at_once = db_int(st, CANDIDATE_AT_ONCE) },
	};
	return 0;
}

/* Arrays that nothing withholds and that have tasks without a row, or with one that waits for its
 * turn. Held tasks do not count as queued. */
static const char candidates_sql[] =
	CANDIDATE_SELECT " FROM arrays r JOIN jobs p ON p.job = r.job"
			 " WHERE r.is_open = 1 AND p.withheld = " SQL_STORE_IS_ARRAY
			 " AND p.state = " SQL_JOB_QUEUED " AND (r.n_waiting > 0 OR EXISTS"
			 " (SELECT 1 FROM jobs e WHERE e.array_job = r.job AND e.array_job > 0"
			 " AND e.state = " SQL_JOB_QUEUED " "
			 "AND e.withheld = " SQL_STORE_NOT_ITS_TURN "))"
			 " ORDER BY r.job";

static int find_candidates(struct store *s, struct candidates *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, candidates_sql, "");

	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = add_candidate(ret, st, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

static int64_t min_of(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* How many more rows: twice as many queued tasks as active ones, within bounds and the array's own
 * limit. */
static int64_t room_of(const struct candidate *c)
{
	int64_t ahead = min_of(2 * c->n_active, AHEAD_MOST), room;

	if (ahead < AHEAD_LEAST)
		ahead = AHEAD_LEAST;
	room = ahead - c->n_queued;
	if (c->array.at_once)
		room = min_of(room, c->array.at_once - c->n_active - c->n_queued);
	return room > 0 ? room : 0;
}

/* Tasks that have a row and only wait for their turn (released, or expanded alone) come first. Returns
 * how many. */
static int release_waiting(struct store *s, int64_t job, int64_t room, struct err *err)
{
	int r = db_run(s->db, err,
		       "UPDATE jobs SET withheld = 0 WHERE job IN (SELECT job FROM jobs"
		       " WHERE array_job = ?1 AND array_job > 0 AND state = " SQL_JOB_QUEUED
		       " AND withheld = " SQL_STORE_NOT_ITS_TURN " ORDER BY job LIMIT ?2)",
		       "ii", job, room);
	int n = (int)db_changes(s->db);

	if (r >= 0 && n > 0)
		r = store_announce_tasks(s, job, err);
	return r < 0 ? r : n;
}

/* At most `most` tasks. Returns how many were released or got a row. */
static int expand_some(struct store *s, const struct candidate *c, int64_t most,
		       struct err *err)
{
	size_t room = (size_t)min_of(room_of(c), most), n;
	_cleanup_free_ int64_t *ordinals = NULL;
	struct ranges w = { 0 };
	int r, let;

	if (room == 0)
		return 0;
	let = release_waiting(s, c->job, (int64_t)room, err);
	if (let < 0 || (size_t)let == room)
		return let;
	room -= (size_t)let;
	ordinals = malloc(room * sizeof(*ordinals));
	if (!ordinals)
		return err_set(err, -ENOMEM, "out of memory");
	r = load_waiting(s, c->job, &w, err);
	n = r > 0 ? ranges_take(&w, room, ordinals) : 0;
	for (size_t i = 0; i < n && r >= 0; i++)
		r = expand_task(s, c->job, &c->array, ordinals[i], err);
	if (r >= 0 && n > 0)
		r = save_waiting(s, c->job, &w, err);
	ranges_done(&w);
	return r < 0 ? r : (int)n + let;
}

/* 1: there may be more. */
static int expand_candidates(struct store *s, const struct candidates *c, struct err *err)
{
	int64_t left = STORE_EXPAND_MOST;
	int r = db_begin(s->db, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < c->n && r >= 0 && left > 0; i++) {
		r = expand_some(s, &c->at[i], left, err);
		left -= r;
	}
	r = db_end(s->db, r < 0 ? r : 0, err);
	return r < 0 ? r : left <= 0;
}

int store_arrays_expand(struct store *s, struct err *err)
{
	struct candidates c = { 0 };
	bool has_room = false;
	int r;

	/* No event was resolved since the last time. */
	if (s->settled && s->settled == s->unfolded)
		return s->has_folded;
	r = find_candidates(s, &c, err);
	for (size_t i = 0; i < c.n; i++)
		has_room |= room_of(&c.at[i]) > 0;
	if (r >= 0 && has_room)
		r = expand_candidates(s, &c, err);
	free(c.at);
	if (r < 0)
		return r;
	if (r > 0)
		return STORE_EXPAND_MORE;
	s->unfolded = s->settled;
	s->has_folded = c.n > 0;
	return s->has_folded;
}

static int expand_element(struct store *s, struct job_id id, struct err *err)
{
	struct ranges w = { 0 };
	struct store_array a;
	int64_t ordinal = -1;
	int r = store_array(s, id.job, &a, err);

	if (r <= 0)
		return r;
	ordinal = array_ordinal(&a.array, id.index);
	r = load_waiting(s, id.job, &w, err);
	if (r > 0)
		r = ranges_remove(&w, ordinal);
	if (r > 0)
		r = expand_task(s, id.job, &a.array, ordinal, err);
	if (r > 0)
		r = db_run(s->db, err,
			   "UPDATE jobs SET withheld = withheld | ?2 WHERE job = ?1", "ii",
			   id.job + 1 + ordinal, (int64_t)STORE_NOT_ITS_TURN);
	if (r >= 0 && w.at)
		r = save_waiting(s, id.job, &w, err);
	ranges_done(&w);
	return r;
}

int store_array_expand_one(struct store *s, struct job_id id, struct err *err)
{
	int r = db_begin(s->db, err);

	return r < 0 ? r : db_end(s->db, expand_element(s, id, err), err);
}

int store_array_expand_number(struct store *s, int64_t number, struct err *err)
{
	struct store_array a;
	int64_t job;
	int r = db_query_int(s->db, err, &job,
			     "SELECT job FROM arrays WHERE job < ?1 ORDER BY job DESC LIMIT 1",
			     "i", number);

	if (r > 0)
		r = store_array(s, job, &a, err);
	if (r <= 0 || number - job > a.array.n)
		return r < 0 ? r : 0;
	r = expand_element(s, (struct job_id){ job, array_index(&a.array, number - job - 1) },
			   err);
	return r < 0 ? r : has_row(s, number, err);
}
