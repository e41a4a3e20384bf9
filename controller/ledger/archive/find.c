/* SPDX-License-Identifier: GPL-2.0-or-later */
/* find.c - which archives may have a job that is not in the ledger. See archive.h. */
#include <errno.h>
#include <inttypes.h>
#include "common/err.h"
#include "controller/ledger/archive/archive_impl.h"
#include "controller/ledger/jobs/slurm.h"
#include "controller/ledger/slurm/counted.h"

enum archive_column { ARCHIVE_MONTH, ARCHIVE_DIR };

/* Of Slurm's jobs it is known which are archived. */
static int no_slurm_job(struct store *s, int64_t job, struct err *err)
{
	char month[CALENDAR_DAY_MAX];
	struct db_row *st;
	int64_t number = 0;
	int r = counted_find_month(s, job, &number, err);

	if (r > 0)
		r = db_query_first(s->db, err, &st,
				   "SELECT month, dir FROM archives WHERE month = ?1"
				   " ORDER BY part LIMIT 1",
				   "i", number);
	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no job %" PRId64, job);
	calendar_format_month(number, month);
	err_set(err, -ENOENT,
		"job %" PRId64 " was archived in %.200s (slurm-%s.csv, jobs-%s.csv)",
		store_slurm_id(job), store_text(st, ARCHIVE_DIR), month, month);
	db_done(st);
	return -ENOENT;
}

int store_no_job(struct store *s, int64_t job, struct err *err)
{
	char month[CALENDAR_DAY_MAX];
	struct db_row *st;
	int r;

	if (store_is_slurm(job))
		return no_slurm_job(s, job, err);
	/* The first that has jobs around this number; jobs of a month have numbers near each other. */
	r = db_query_first(s->db, err, &st,
			   "SELECT month, dir FROM archives WHERE first_job <= ?1"
			   " AND last_job >= ?1 ORDER BY month, part LIMIT 1",
			   "i", job);

	if (r < 0)
		return r;
	if (r == 0)
		return err_set(err, -ENOENT, "no job %" PRId64, job);
	calendar_format_month(db_int(st, ARCHIVE_MONTH), month);
	err_set(err, -ENOENT,
		"no job %" PRId64
		" in the ledger; jobs around this number that had ended were archived in "
		"%.200s, from %s on (jobs-%s.csv)",
		job, store_text(st, ARCHIVE_DIR), month, month);
	db_done(st);
	return -ENOENT;
}
