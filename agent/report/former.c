/* SPDX-License-Identifier: GPL-2.0-or-later */
/* former.c - see former.h. */
#include <errno.h>
#include <stdlib.h>
#include "agent/report/former.h"
#include "common/db/db.h"
#include "common/err.h"
#include "common/wire/json/load.h"
#include "common/wire/sync.h"

#define OLDEST                                                                                 \
	" FROM former WHERE id IN (SELECT MIN(id) FROM former GROUP BY job, attempt) ORDER BY id"

int former_keep(struct db *db, const struct sync_slurm_job *told, struct err *err)
{
	_cleanup_free_ char *text = sync_format_slurm_job(told);
	int r;

	if (!text)
		return err_set(err, -ENOMEM, "out of memory");
	r = db_run(db, err,
		   "INSERT INTO former(job, attempt, seq, at_ns, body, told)"
		   " SELECT job, attempt, seq, at_ns, body, ?3 FROM outbox"
		   " WHERE job = ?1 AND attempt = ?2 AND final = 1 AND body IS NOT NULL",
		   "iit", told->job, (int64_t)told->attempt, text);
	if (r < 0)
		return r;
	return db_run(db, err, "DELETE FROM outbox WHERE job = ?1 AND attempt = ?2", "ii",
		      told->job, (int64_t)told->attempt);
}

static int put_job(struct former_lists *to, const struct sync_slurm_job *told)
{
	struct sync_job *list;
	size_t i = 0;

	while (i < to->n_jobs &&
	       (to->jobs[i].job != told->job || to->jobs[i].attempt != told->attempt))
		i++;
	if (i == to->n_jobs) {
		list = reallocarray(to->jobs, i + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		to->jobs = list;
		to->n_jobs++;
	}
	to->jobs[i] = (struct sync_job){ told->job, told->attempt, JOB_ENDED };
	return 0;
}

static int put_told(struct former_lists *to, const struct sync_slurm_job *told)
{
	struct sync_slurm_job *list;
	size_t i = 0;

	while (i < to->n_told &&
	       (to->told[i].job != told->job || to->told[i].attempt != told->attempt))
		i++;
	if (i == to->n_told) {
		list = reallocarray(to->told, i + 1, sizeof(*list));
		if (!list)
			return -ENOMEM;
		to->told = list;
		to->n_told++;
	}
	to->told[i] = *told;
	return 0;
}

/* One that cannot be read back holds up no other. */
static int put_row(struct former_lists *to, const char *text)
{
	struct sync_slurm_job told = { 0 };
	int r = text ? sync_parse_slurm_job(text, &told, NULL) : -ENOMEM;

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	r = put_job(to, &told);
	return r < 0 ? r : put_told(to, &told);
}

int former_describe(struct db *db, struct former_lists *to, struct err *err)
{
	struct db_row *st;
	int r = db_query(db, err, &st, "SELECT told" OLDEST, "");

	if (r < 0)
		return r;
	while ((r = db_step(db, st, err)) > 0) {
		r = put_row(to, db_text(st, 0));
		if (r < 0)
			break;
	}
	db_done(st);
	return r;
}

int former_has(struct db *db, int64_t job, int32_t attempt, struct err *err)
{
	return db_has_row(db, err, "SELECT 1 FROM former WHERE job = ?1 AND attempt = ?2", "ii",
			  job, (int64_t)attempt);
}

int former_fill(struct db *db, int max, json_t *to, struct err *err)
{
	struct db_row *st;
	int n = 0, r;

	r = db_query(db, err, &st, "SELECT body" OLDEST, "");
	if (r < 0)
		return r;
	while (n < max && (r = db_step(db, st, err)) > 0) {
		const char *body = db_text(st, 0);
		json_t *j = body ? wire_load(body, 0, NULL) : NULL;

		if (j && json_array_append_new(to, j) == 0)
			n++;
	}
	db_done(st);
	return r < 0 ? r : n;
}

int former_ack(struct db *db, int64_t job, int32_t attempt, int64_t seq, struct err *err)
{
	int r = former_has(db, job, attempt, err);

	if (r <= 0)
		return r;
	r = db_run(db, err,
		   "DELETE FROM former WHERE seq <= ?3"
		   " AND id = (SELECT MIN(id) FROM former WHERE job = ?1 AND attempt = ?2)",
		   "iii", job, (int64_t)attempt, seq);
	return r < 0 ? r : 1;
}

int former_forget(struct db *db, int64_t job, int32_t attempt, struct err *err)
{
	return db_run(db, err, "DELETE FROM former WHERE job = ?1 AND attempt = ?2", "ii", job,
		      (int64_t)attempt);
}

int former_count(struct db *db, struct former_totals *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(
		db, err, &st,
		"SELECT COUNT(*), COALESCE(SUM(LENGTH(CAST(body AS BLOB))), 0) FROM former",
		"");

	*ret = (struct former_totals){ 0 };
	if (r <= 0)
		return r;
	*ret = (struct former_totals){ db_int(st, 0), db_int(st, 1) };
	db_done(st);
	return 0;
}
