/* SPDX-License-Identifier: GPL-2.0-or-later */
/* archive.c - finds the jobs of whole months, and archives them month by month in batches. See archive.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "controller/ledger/archive/archive_impl.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/sql.h"

struct candidate {
	int64_t month, job;
};
struct candidates {
	struct candidate *of;
	size_t n, size;
};

/* ---- which jobs ---- */

static int add_candidate(struct candidates *c, struct candidate one, struct err *err)
{
	if (c->n == c->size) {
		size_t size = c->size ? c->size * 2 : 1024;
		struct candidate *larger = reallocarray(c->of, size, sizeof(*larger));

		if (!larger)
			return err_set(err, -ENOMEM, "out of memory");
		c->of = larger;
		c->size = size;
	}
	c->of[c->n++] = one;
	return 0;
}

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->month != y->month)
		return x->month < y->month ? -1 : 1;
	return (x->job > y->job) - (x->job < y->job);
}

enum ended_column { ENDED_JOB, ENDED_NS };

/* 16 bytes for each job, in the order of month and number. Whether a job may be archived is decided when
 * its batch is: archive_select(). */
static int find_candidates(struct store *s, int64_t before_ns, int64_t now_ns,
			   struct candidates *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT job, ended_ns FROM jobs WHERE state = " SQL_JOB_ENDED
			 " AND kept = " SQL_STORE_KEPT_NOTHING
			 " AND ended_ns > 0 AND ended_ns < ?1"
			 " AND (job < " SQL_SLURM_FROM " OR ended_ns < ?2)",
			 "ii", before_ns, now_ns - ARCHIVE_SLURM_SETTLED_NS);

	if (r >= 0)
		db_scan(st);
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		const struct candidate one = { calendar_month(
						       store_day(s, db_int(st, ENDED_NS))),
					       db_int(st, ENDED_JOB) };

		r = add_candidate(ret, one, err);
		if (r < 0)
			db_done(st);
	}
	if (r >= 0 && ret->n)
		qsort(ret->of, ret->n, sizeof(*ret->of), compare_candidates);
	return r;
}

/* Jobs that ended before and could be archived, but for output, steps or events that are still kept. */
static int count_staying(struct store *s, int64_t before_ns, int64_t *ret, struct err *err)
{
	int r = db_query_int(s->db, err, ret,
			     "SELECT COUNT(*) FROM jobs WHERE state = " SQL_JOB_ENDED
			     " AND kept > " SQL_STORE_KEPT_NOTHING " AND ended_ns < ?1",
			     "i", before_ns);

	return r < 0 ? r : 0;
}

/* ---- the row of an archive ---- */

enum begun_column { BEGUN_ID, BEGUN_PART, BEGUN_DIR, BEGUN_JOBS, BEGUN_FIRST, BEGUN_LAST };

/* 1: an earlier run has begun this month; 0: none has. */
static int load_begun(struct archive *a, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(a->s->db, err, &st,
			       "SELECT id, part, dir, jobs, first_job, last_job FROM archives"
			       " WHERE month = ?1 AND is_done = 0",
			       "i", a->m.month);

	if (r <= 0)
		return r;
	a->id = db_int(st, BEGUN_ID);
	a->m.part = db_int(st, BEGUN_PART);
	a->m.jobs = db_int(st, BEGUN_JOBS);
	a->first_job = db_int(st, BEGUN_FIRST);
	a->last_job = db_int(st, BEGUN_LAST);
	a->m.has_continued = true;
	if (strcmp(store_text(st, BEGUN_DIR), a->how->dir) != 0)
		r = err_set(err, -EEXIST,
			    "the archive of this month was begun in %.200s: finish it there",
			    store_text(st, BEGUN_DIR));
	db_done(st);
	return r;
}

/* _ARCHIVE_MAX: no such table. */
static int find_table(const char *name)
{
	int t = 0;

	while (t < _ARCHIVE_MAX && strcmp(archive_names[t], name) != 0)
		t++;
	return t;
}

enum file_column { FILE_NAME, FILE_ROWS, FILE_BYTES };

/* The lengths up to which an interrupted run has archived. */
static int load_files(struct archive *a, struct err *err)
{
	struct db_row *st;
	int r = db_query(a->s->db, err, &st,
			 "SELECT name, rows, bytes FROM archive_files WHERE archive = ?1", "i",
			 a->id);

	while (r >= 0 && (r = db_step(a->s->db, st, err)) > 0) {
		int t = find_table(store_text(st, FILE_NAME));

		if (t == _ARCHIVE_MAX)
			continue;
		a->files[t].rows = db_int(st, FILE_ROWS);
		a->files[t].bytes = db_int(st, FILE_BYTES);
	}
	return r;
}

static int insert_archive(struct archive *a, struct err *err)
{
	struct db *db = a->s->db;
	int r = db_query_int(db, err, &a->m.part,
			     "SELECT COALESCE(MAX(part), 0) + 1 FROM archives WHERE month = ?1",
			     "i", a->m.month);

	if (r >= 0)
		r = db_run(db, err,
			   "INSERT INTO archives(month, part, dir, begun_ns)"
			   " VALUES(?1, ?2, ?3, ?4)",
			   "iiti", a->m.month, a->m.part, a->how->dir, a->how->now_ns);
	if (r < 0)
		return r;
	a->id = db_last_id(db);
	return r;
}

/* Also of a month that an older version began, which had fewer files. */
static int insert_files(struct archive *a, struct err *err)
{
	int r = 0;

	for (int t = 0; t < _ARCHIVE_MAX && r >= 0; t++)
		r = db_run(a->s->db, err,
			   "INSERT INTO archive_files(archive, name, rows, bytes, digest)"
			   " VALUES(?1, ?2, 0, 0, '') ON CONFLICT DO NOTHING",
			   "it", a->id, archive_names[t]);
	return r;
}

/* The row of the archive is committed before any file is made. */
static int begin_month(struct archive *a, struct err *err)
{
	int r = db_begin(a->s->db, err);

	if (r < 0)
		return r;
	r = load_begun(a, err);
	if (r > 0)
		r = load_files(a, err);
	else if (r == 0)
		r = insert_archive(a, err);
	if (r >= 0)
		r = insert_files(a, err);
	return db_end(a->s->db, r, err);
}

/* Of Reeve's own numbers: those of Slurm's jobs are in archived_slurm. */
static void note_range(struct archive *a, const struct store_these *jobs)
{
	for (size_t i = 0; i < jobs->n && !store_is_slurm(jobs->jobs[i]); i++) {
		if (!a->first_job || jobs->jobs[i] < a->first_job)
			a->first_job = jobs->jobs[i];
		if (jobs->jobs[i] > a->last_job)
			a->last_job = jobs->jobs[i];
	}
}

/* Length of the files and numbers of jobs, in the transaction that deletes the jobs. */
static int record_batch(struct archive *a, const struct store_these *jobs, struct err *err)
{
	struct db *db = a->s->db;
	int r;

	note_range(a, jobs);
	a->m.jobs += (int64_t)jobs->n;
	r = db_run(db, err,
		   "UPDATE archives SET jobs = ?2, first_job = ?3, last_job = ?4 WHERE id = ?1",
		   "iiii", a->id, a->m.jobs, a->first_job, a->last_job);
	for (int t = 0; t < _ARCHIVE_MAX && r >= 0; t++)
		r = db_run(db, err,
			   "UPDATE archive_files SET rows = ?3, bytes = ?4"
			   " WHERE archive = ?1 AND name = ?2",
			   "itii", a->id, archive_names[t], a->files[t].rows,
			   a->files[t].bytes);
	return r;
}

/* ---- batches ---- */

/* In one transaction. The files are synced before its commit: whatever is deleted from the ledger is in a file, and after a crash
 * lines beyond the recorded length are of jobs that the ledger still has. */
static int move_batch(struct archive *a, const int64_t *jobs, size_t n, struct err *err)
{
	int64_t chosen[ARCHIVE_BATCH];
	int found = archive_select(a, jobs, n, chosen, err), r = found;
	const struct store_these these = { .jobs = chosen, .n = found > 0 ? (size_t)found : 0 };

	if (r <= 0)
		return r;
	r = archive_write_rows(a, &these, err);
	if (r >= 0)
		r = archive_files_append(a, err);
	if (r >= 0)
		r = archive_keep_sums(a, &these, err);
	if (r >= 0)
		r = archive_delete(a, &these, err);
	return r < 0 ? r : record_batch(a, &these, err);
}

static int archive_batch(struct archive *a, const struct candidate *of, size_t n,
			 struct err *err)
{
	int64_t jobs[ARCHIVE_BATCH];
	int r = db_begin(a->s->db, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		jobs[i] = of[i].job;
	return db_end(a->s->db, move_batch(a, jobs, n, err), err);
}

static int archive_batches(struct archive *a, const struct candidate *of, size_t n,
			   struct err *err)
{
	int r = 0;

	for (size_t at = 0; at < n && r >= 0; at += ARCHIVE_BATCH) {
		r = archive_batch(a, of + at, n - at < ARCHIVE_BATCH ? n - at : ARCHIVE_BATCH,
				  err);
		if (r >= 0 && a->how->on_progress)
			a->how->on_progress(a->how->ctx, &a->m);
	}
	return r;
}

/* ---- the end of a month ---- */

/* Reads the whole file once more: the digest is of what is on the disk. */
static int record_digest(struct archive *a, enum archive_table t, struct err *err)
{
	char digest[ARCHIVE_DIGEST_MAX];
	int64_t bytes;
	int r = archive_digest(a->files[t].path, digest, &bytes, err);

	if (r >= 0 && bytes != a->files[t].bytes)
		r = err_set(err, -EBADMSG,
			    "%.200s has %" PRId64 " bytes, %" PRId64 " are recorded",
			    a->files[t].path, bytes, a->files[t].bytes);
	a->m.bytes += a->files[t].bytes;
	return r < 0 ? r
		     : db_run(a->s->db, err,
			      "UPDATE archive_files SET digest = ?3"
			      " WHERE archive = ?1 AND name = ?2",
			      "itt", a->id, archive_names[t], digest);
}

/* A month none of whose jobs could be archived leaves nothing: its files are empty. */
static int forget_month(struct archive *a, struct err *err)
{
	int r = db_begin(a->s->db, err);

	if (r < 0)
		return r;
	for (int t = 0; t < _ARCHIVE_MAX; t++)
		unlink(a->files[t].part);
	r = db_run(a->s->db, err, "DELETE FROM archive_files WHERE archive = ?1", "i", a->id);
	if (r >= 0)
		r = db_run(a->s->db, err, "DELETE FROM archives WHERE id = ?1", "i", a->id);
	return db_end(a->s->db, r, err);
}

/* Digests and is_done in one transaction. */
static int record_month(struct archive *a, struct err *err)
{
	int r = 0;

	for (enum archive_table t = 0; t < _ARCHIVE_MAX && r >= 0; t++)
		r = record_digest(a, t, err);
	return r < 0 ? r
		     : db_run(a->s->db, err, "UPDATE archives SET is_done = 1 WHERE id = ?1",
			      "i", a->id);
}

/* The files get their names before the archive is recorded as complete: archive_files_open() finds out which
 * happened. */
static int end_month(struct archive *a, struct err *err)
{
	int r;

	if (!a->m.jobs)
		return forget_month(a, err);
	r = archive_files_name(a, err);
	if (r >= 0)
		r = db_begin(a->s->db, err);
	if (r < 0)
		return r;
	r = db_end(a->s->db, record_month(a, err), err);
	return r < 0 || !a->how->on_month ? r : a->how->on_month(a->how->ctx, &a->m, err);
}

/* ---- months ---- */

/* 1: the files of an unfinished archive had their names already: these jobs are of the next part. */
static int archive_month(struct archive *a, const struct candidate *of, size_t n,
			 struct err *err)
{
	bool is_named = false;
	int r = begin_month(a, err);

	if (r >= 0)
		r = archive_files_open(a, &is_named, err);
	if (r >= 0 && !is_named)
		r = archive_batches(a, of, n, err);
	if (r >= 0)
		r = end_month(a, err);
	return r < 0 ? r : is_named;
}

/* The candidates of one month. */
static int try_month(struct store *s, const struct store_archive *how,
		     const struct candidates *c, struct store_archived *ret, struct err *err)
{
	_cleanup_(rollup_set_freep) struct rollup_set *sums = rollup_set_new();
	struct archive a = { .s = s, .how = how, .m.month = c->of[0].month, .sums = sums };
	int r;

	for (int t = 0; t < _ARCHIVE_MAX; t++)
		a.files[t].fd = -1;
	r = sums ? archive_month(&a, c->of, c->n, err) : err_set(err, -ENOMEM, "out of memory");
	archive_files_close(&a);
	if (r < 0) {
		char month[CALENDAR_DAY_MAX];

		return err_prefix(err, r, "month %s",
				  calendar_format_month(c->of[0].month, month));
	}
	ret->months += a.m.jobs > 0;
	ret->jobs += a.m.jobs;
	ret->bytes += a.m.bytes;
	return r;
}

static int count_month(const struct store_archive *how, int64_t month, size_t n,
		       struct store_archived *ret, struct err *err)
{
	const struct store_archive_month m = { .month = month, .jobs = (int64_t)n };

	ret->months++;
	ret->jobs += m.jobs;
	return how->on_month ? how->on_month(how->ctx, &m, err) : 0;
}

/* Candidates are sorted by month. A month is tried again while its unfinished part had to be closed first. */
static int each_month(struct store *s, const struct store_archive *how,
		      const struct candidates *c, struct store_archived *ret, struct err *err)
{
	int r = 0;

	for (size_t at = 0, n = 1; at < c->n && r >= 0; at += n) {
		for (n = 1; at + n < c->n && c->of[at + n].month == c->of[at].month;)
			n++;
		if (how->is_dry_run) {
			r = count_month(how, c->of[at].month, n, ret, err);
			continue;
		}
		do
			r = try_month(s, how, &(struct candidates){ .of = c->of + at, .n = n },
				      ret, err);
		while (r > 0);
	}
	return r;
}

/* Unfinished months that have no jobs left to move: only their names and digests are missing. */
static int add_begun(struct store *s, struct candidates *c, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st, "SELECT month FROM archives WHERE is_done = 0", "");

	/* Job 0: there is none. */
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		r = add_candidate(c, (struct candidate){ db_int(st, 0), 0 }, err);
		if (r < 0)
			db_done(st);
	}
	return r;
}

int store_archive(struct store *s, const struct store_archive *how, struct store_archived *ret,
		  struct err *err)
{
	struct candidates c = { .n = 0 };
	int64_t this_month = calendar_month(store_day(s, how->now_ns));
	int64_t before_ns = store_first_ns(s, calendar_month_first(how->before));
	char month[CALENDAR_DAY_MAX];
	int r = 0;

	*ret = (struct store_archived){ .months = 0 };
	if (how->before > this_month)
		return err_set(err, -EINVAL,
			       "only whole months are archived: the latest is before %s",
			       calendar_format_month(this_month, month));
	if (!how->is_dry_run)
		r = add_begun(s, &c, err);
	if (r >= 0)
		r = find_candidates(s, before_ns, how->now_ns, &c, err);
	if (r >= 0)
		r = count_staying(s, before_ns, &ret->staying, err);
	if (r >= 0)
		r = each_month(s, how, &c, ret, err);
	free(c.of);
	return r < 0 ? r : 0;
}
