/* SPDX-License-Identifier: GPL-2.0-or-later */
/* counted.c - reads archived_slurm and imported; see counted.h. */
#include "common/err.h"
#include "common/time_units.h"
#include "controller/ledger/import/import.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/slurm/counted.h"
#include "controller/ledger/sql.h"
#include "controller/ledger/store_sqlite.h"

#define FOR_EVER SLURM_BATCH_TIME_MAX

enum job_column { JOB_ATTEMPT, JOB_ENDED_S };

int counted_find_job(struct store *s, int64_t job, struct counted_job *ret, struct err *err)
{
	struct db_row *st;
	int r = db_query_first(s->db, err, &st,
			       "SELECT attempt, ended_s FROM archived_slurm WHERE job = ?1"
			       " ORDER BY attempt DESC LIMIT 1",
			       "i", job);

	if (r <= 0)
		return r;
	*ret = (struct counted_job){ (int32_t)db_int(st, JOB_ATTEMPT),
				     db_int(st, JOB_ENDED_S) * S_NS };
	db_done(st);
	return 1;
}

int counted_find_month(struct store *s, int64_t job, int64_t *ret_month, struct err *err)
{
	struct counted_job j;
	int r = counted_find_job(s, job, &j, err);

	if (r > 0)
		*ret_month = calendar_month(store_day(s, j.ended_ns));
	return r;
}

int counted_find_generations(struct store *s, int64_t origin, int32_t *ret, struct err *err)
{
	int64_t from = store_slurm_number(origin, 0, 0), last = 0;
	int r = db_query_int(
		s->db, err, &last,
		"SELECT COALESCE(MAX(l.job), 0) FROM (SELECT MAX(job) AS job FROM jobs"
		" WHERE job >= ?1 AND job < ?2 UNION ALL SELECT MAX(job) FROM archived_slurm"
		" WHERE job >= ?1 AND job < ?2) AS l",
		"ii", from, store_slurm_number(origin + 1, 0, 0));

	*ret = last ? (int32_t)((last - from) >> SYNC_SLURM_ID_BITS) + 1 : 0;
	return r < 0 ? r : 0;
}

/* ---- archived ---- */

enum archived_column {
	ARCHIVED_ID,
	ARCHIVED_SUBMIT_S,
	ARCHIVED_STATE,
	ARCHIVED_STARTED_S,
	ARCHIVED_ENDED_S,
	ARCHIVED_END_S
};

/* An attempt that only agents reported has no time of submission: it is known by when it ran. */
static bool is_same(struct db_row *st, const struct slurm_batch_job *row)
{
	int64_t from_s = db_int(st, ARCHIVED_STARTED_S) - COUNTED_AGENT_S,
		to_s = db_int(st, ARCHIVED_ENDED_S) + COUNTED_AGENT_S;

	if (db_int(st, ARCHIVED_SUBMIT_S))
		return db_int(st, ARCHIVED_ID) == row->job &&
		       db_int(st, ARCHIVED_SUBMIT_S) == row->submit_s;
	return row->start_s < to_s && (row->end_s ? row->end_s : FOR_EVER) > from_s;
}

static bool has_other_figures(struct db_row *st, const struct slurm_batch_job *row)
{
	return db_int(st, ARCHIVED_SUBMIT_S) && row->end_s &&
	       (db_int(st, ARCHIVED_STATE) != (int64_t)row->state ||
		db_int(st, ARCHIVED_END_S) != row->end_s);
}

struct search {
	int64_t job;
	const struct slurm_batch_job *row;
	bool is_any, differs; /* filled: the job is in the archive; as ret_differs */
};

/* Among the attempts of one archived job. 1: the row's is one of them. */
static int find_attempt(struct store *s, struct search *of, struct err *err)
{
	struct db_row *st;
	int r = db_query(s->db, err, &st,
			 "SELECT id, submit_s, state, started_s, ended_s, slurm_end_s"
			 " FROM archived_slurm WHERE job = ?1",
			 "i", of->job);

	of->is_any = false;
	while (r >= 0 && (r = db_step(s->db, st, err)) > 0) {
		of->is_any = true;
		if (!is_same(st, of->row))
			continue;
		of->differs = has_other_figures(st, of->row);
		db_done(st);
		return 1;
	}
	return r;
}

/* Generations are counted from 0 without a gap, in the ledger or in the archive. */
int counted_is_archived(struct store *s, int64_t origin, const struct slurm_batch_job *row,
			bool *ret_differs, struct err *err)
{
	struct search of = { .row = row };
	int r = 0;

	for (int32_t g = 0; g < STORE_SLURM_GENERATIONS && r == 0; g++) {
		of.job = store_slurm_number(origin, g, row->job & SYNC_SLURM_ID_MAX);
		r = find_attempt(s, &of, err);
		if (r == 0 && !of.is_any) {
			r = db_has_row(s->db, err, "SELECT 1 FROM jobs WHERE job = ?1", "i",
				       of.job);
			if (r <= 0)
				return r;
			r = 0;
		}
	}
	*ret_differs = r > 0 && of.differs;
	return r;
}

/* ---- imported ---- */

/* The first run of an id has its origin's number, others one of the cluster's in `reruns` (import/import.h). */
static const char imported_sql[] =
	"SELECT 1 FROM imported i WHERE (i.id = ?1 OR i.id IN (SELECT (u.id + ?2) *"
	" 1099511627776 + ?3 FROM reruns u JOIN origins o ON o.cluster = u.cluster"
	" WHERE o.id = ?4)) AND i.submit_s + i.wait_s < ?6"
	" AND i.submit_s + i.wait_s + i.run_s + COALESCE(i.suspended_s, 0) > ?5 LIMIT 1";

int counted_is_imported(struct store *s, const struct counted_run *run, struct err *err)
{
	return db_has_row(s->db, err, imported_sql, "iiiiii", run->origin << 40 | run->id,
			  STORE_RERUNS_FROM, run->id, run->origin, run->start_s,
			  run->end_s ? run->end_s : FOR_EVER);
}
