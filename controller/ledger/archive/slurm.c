/* SPDX-License-Identifier: GPL-2.0-or-later */
/* slurm.c - what stays in the ledger of archived jobs of Slurm: a row for each attempt, by which slurmdbd's row of it is
 * recognised (slurm/counted.h) and compared (slurm/list.h). See archive_impl.h. */
#include "controller/ledger/archive/archive_impl.h"
#include "controller/ledger/sql.h"

#define ID_OF(job) job " - (" job " / " SQL_SLURM_IDS ") * " SQL_SLURM_IDS
#define SOME "IN (" STORE_SOME_PARAMETERS ")"

/* The attempts that Slurm listed, then those that agents alone reported; the figures are those of slurm/list.c. */
static const char keep_sql[] =
	"INSERT INTO archived_slurm(job, attempt, submit_s, id, state, started_s, ended_s,"
	" suspended_s, slurm_end_s, ncpus, by_agent, has_run)"
	" SELECT a.job, a.attempt, a.submit_s, a.id, a.state,"
	" COALESCE(t.started_ns, 0) / 1000000000,"
	" CASE WHEN t.job IS NULL THEN j.ended_ns ELSE t.ended_ns END / 1000000000,"
	" COALESCE(t.suspended_ns, 0) / 1000000000, a.end_s, j.ncpus,"
	" CASE WHEN t.seq > 0 THEN 1 ELSE 0 END, CASE WHEN a.nodes <> '' THEN 1 ELSE 0 END"
	" FROM slurm_attempts a JOIN jobs j ON j.job = a.job"
	" LEFT JOIN attempts t ON t.job = a.job AND t.attempt = a.attempt WHERE a.job " SOME
	" UNION ALL SELECT t.job, t.attempt, 0, " ID_OF(
		"t.job") ", 0,"
			 " t.started_ns / 1000000000, t.ended_ns / 1000000000, t.suspended_ns / 1000000000,"
			 " t.ended_ns / 1000000000, j.ncpus, CASE WHEN t.seq > 0 THEN 1 ELSE 0 END, 1"
			 " FROM attempts t JOIN jobs j ON j.job = t.job WHERE t.job " SOME
			 " AND t.job >= " SQL_SLURM_FROM
			 " AND NOT EXISTS(SELECT 1 FROM slurm_attempts a"
			 " WHERE a.job = t.job AND a.attempt = t.attempt)";

int archive_keep_slurm(struct archive *a, const struct db_ints *some, struct err *err)
{
	return db_run_ints(a->s->db, keep_sql, some, err);
}
