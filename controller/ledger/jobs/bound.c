/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bound.c - turns filters of jobs that have no index into a range of job numbers, so that a list reads few rows of a large
 * ledger. See store_jobs_bound() in store.h, and segments.h. */
#include "common/err.h"
#include "controller/ledger/segments.h"
#include "controller/ledger/sql.h"

enum probe_column { PROBE_JOB, PROBE_SUBMITTED };

/* The first job from `job` on. 1: there is one. */
static int probe_job(struct store *s, int64_t job, int64_t *ret_job, int64_t *ret_submitted,
		     struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT job, submitted_ns FROM jobs WHERE job >= ?1"
			       " ORDER BY job LIMIT 1",
			       "i", job);

	if (r <= 0)
		return r;
	*ret_job = db_int(st, PROBE_JOB);
	*ret_submitted = db_int(st, PROBE_SUBMITTED);
	db_done(st);
	return 1;
}

/* By halves: the first number in [from, to) whose jobs were submitted at `at_ns` or later; `to`: there is none. Numbers rise with
 * the time of submission, but for what a clock that was set back mixed up. */
static int find_submitted(struct store *s, int64_t *from, int64_t to, int64_t at_ns,
			  struct err *err)
{
	int64_t lo = *from, hi = to, job, submitted;

	while (lo < hi) {
		int64_t mid = lo + (hi - lo) / 2;
		int r = probe_job(s, mid, &job, &submitted, err);

		if (r < 0)
			return r;
		if (r == 0 || job >= hi || submitted >= at_ns)
			hi = mid;
		else
			lo = job + 1;
	}
	*from = lo;
	return 0;
}

static int find_last(struct store *s, int64_t before, int64_t *ret, struct err *err)
{
	return db_query_int(s->db, err, ret,
			    "SELECT job FROM jobs WHERE job < ?1 ORDER BY job DESC LIMIT 1",
			    "i", before);
}

/* The range of numbers of the filter's time among jobs that share a range of numbers with the newest one before
 * f->before: Reeve's own, or those of one Slurm cluster, since their numbers are not in one order of time. 1: some are in
 * it; 0: none, and f->before stands below that range. */
static int bound_by_time(struct store *s, struct store_filter *f, int64_t last, struct err *err)
{
	int64_t first = last - last % STORE_SLURM_FROM;
	int64_t from = first, to = first;
	int r = find_submitted(s, &from, last + 1, f->submitted_ns, err);

	if (r >= 0 && f->before_ns)
		r = find_submitted(s, &to, last + 1, f->before_ns, err);
	else
		to = last + 1;
	if (r < 0)
		return r;
	f->from = from;
	f->before = from < to ? to : first;
	return from < to;
}

static int find_period(struct store *s, struct store_filter *f, int64_t *ret_next,
		       struct err *err)
{
	int64_t last;
	int r;

	if (!f->before)
		f->before = INT64_MAX;
	while ((r = find_last(s, f->before, &last, err)) > 0) {
		int64_t first = last - last % STORE_SLURM_FROM;

		r = bound_by_time(s, f, last, err);
		if (r == 0 && first > 0)
			continue;
		if (r > 0 && first > 0)
			*ret_next = first;
		return r < 0 ? r : 0;
	}
	return r;
}

/* ---- segments ---- */

/* The first segment below ?1, from ?2 on, in which ?3 is the node of a job, of the user or account ?4. All that are skipped are
 * skipped by one statement. */
#define SEGMENT_OF(jobs, parts)                                                                \
	"WITH RECURSIVE segments(segment) AS (SELECT MAX(job) >> " SQL_SEGMENT_BITS            \
	" FROM jobs WHERE job < ?1 AND job >= ?2 UNION ALL"                                    \
	" SELECT (SELECT MAX(j.job) >> " SQL_SEGMENT_BITS " FROM jobs j"                       \
	" WHERE j.job < (segment << " SQL_SEGMENT_BITS ") AND j.job >= ?2) FROM segments"      \
	" WHERE segment IS NOT NULL)"                                                          \
	" SELECT segment FROM segments WHERE segment IS NOT NULL AND COALESCE("                \
	"(SELECT 1 FROM jobs j WHERE (j.job >> " SQL_SEGMENT_BITS ") = segment" jobs           \
	" AND j.node = ?3 AND j.node IS NOT NULL LIMIT 1),"                                    \
	" (SELECT 1 FROM parts p WHERE p.node = ?3 AND p.part > 0" parts                       \
	" AND p.job >= (segment << " SQL_SEGMENT_BITS ")"                                      \
	" AND p.job < ((segment + 1) << " SQL_SEGMENT_BITS ") LIMIT 1)) = 1 LIMIT 1"

/* 1: found. */
static int find_segment(struct store *s, const struct store_filter *f, int64_t *ret,
			struct err *err)
{
	static const char of_node[] = SEGMENT_OF("", ""),
			  of_user[] = SEGMENT_OF(" AND j.user = ?4", " AND p.user = ?4"),
			  of_account[] = SEGMENT_OF(" AND j.account = ?4", "");

	if (!f->user && !f->account)
		return db_query_int(s->db, err, ret, of_node, "iit", f->before, f->from,
				    f->node);
	return db_query_int(s->db, err, ret, f->user ? of_user : of_account, "iitt", f->before,
			    f->from, f->node, f->user ? f->user : f->account);
}

int store_next_segment(struct store *s, struct store_filter *f,
		       struct store_segment_range *ret_behind, struct err *err)
{
	int64_t segment, first, last;
	int r = f->from < f->before ? find_segment(s, f, &segment, err) : 0;

	if (r <= 0)
		return r;
	first = segment * STORE_SEGMENT;
	last = first + (STORE_SEGMENT - 1);
	*ret_behind = (struct store_segment_range){ first, f->from };
	if (f->from < first)
		f->from = first;
	if (f->before - 1 > last)
		f->before = last + 1;
	return 1;
}

enum floor_column { FLOOR_JOBS, FLOOR_JOB };

/* As find_floor(), of the jobs of a node. */
static int find_floor_of_node(struct store *s, struct store_filter f, int64_t *ret,
			      struct err *err)
{
	struct store_segment_range behind;
	int64_t left = STORE_SCAN_MAX;
	struct db_row *st;
	int r;

	f.user = f.account = NULL;
	if (!f.before)
		f.before = INT64_MAX;
	while ((r = store_next_segment(s, &f, &behind, err)) > 0) {
		r = db_query_first(
			s->db, err, &st,
			"SELECT COUNT(*), COALESCE(MIN(job), 0) FROM (SELECT job FROM jobs"
			" WHERE " SQL_IN_SEGMENT(
				"job",
				"?1") " AND node = ?2 AND job >= ?1 AND job < ?3"
				      " AND node IS NOT NULL ORDER BY job DESC LIMIT ?4) AS x",
			"itii", f.from, f.node, f.before, left);
		if (r <= 0)
			return r;
		left -= db_int(st, FLOOR_JOBS);
		*ret = db_int(st, FLOOR_JOB);
		db_done(st);
		if (left <= 0)
			return 1;
		f.before = behind.before;
		f.from = behind.from;
	}
	return r;
}

/* ---- jobs whose other filters have no index ---- */

/* The number behind which STORE_SCAN_MAX jobs of the filter's index follow up to f->before. 1: there are as many. */
static int find_floor(struct store *s, const struct store_filter *f, int64_t *ret,
		      struct err *err)
{
/* As in views.c: PostgreSQL would otherwise read jobs of others by their numbers. */
#define FLOOR(c)                                                                               \
	"SELECT job FROM jobs WHERE (" c ", job) < (?1, ?2) AND " c " >= ?1"                   \
	" ORDER BY " c " DESC, job DESC LIMIT 1 OFFSET ?3"
	static const char any[] =
		"SELECT job FROM jobs WHERE job < ?1 ORDER BY job DESC LIMIT 1 OFFSET ?2";
	static const char of_user[] = FLOOR("user"), of_account[] = FLOOR("account");
	const int64_t before = f->before ? f->before : INT64_MAX, n = STORE_SCAN_MAX - 1;
	const char *name = f->user ? f->user : f->account;

	if (f->node)
		return find_floor_of_node(s, *f, ret, err);
	if (!name)
		return db_query_int(s->db, err, ret, any, "ii", before, n);
	return db_query_int(s->db, err, ret, f->user ? of_user : of_account, "tii", name,
			    before, n);
#undef FLOOR
}

int store_jobs_bound(struct store *s, struct store_filter *f, int64_t *ret_next,
		     struct err *err)
{
	bool is_active = f->state == STORE_ACTIVE || f->state == STORE_STARTED ||
			 (f->state >= 0 && f->state < JOB_ENDED);
	int64_t lowest = 0;
	int r = 0;

	*ret_next = 0;
	if (is_active || f->array)
		return 0; /* these have an index of their own */
	if (f->submitted_ns || f->before_ns)
		r = find_period(s, f, ret_next, err);
	if (r >= 0 && (f->queue || f->name))
		r = find_floor(s, f, &lowest, err);
	if (r > 0 && lowest > f->from) {
		f->from = lowest;
		*ret_next = lowest;
	}
	return r < 0 ? r : 0;
}
