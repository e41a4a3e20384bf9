/* SPDX-License-Identifier: GPL-2.0-or-later */
/* days.c - on which days the figures of an attempt fall, so that the rollups can be
 * recomputed from the attempts. See store_sqlite.h.
 *
 * Most attempts begin and end on one day: for them the day is kept, and nothing else. From the
 * second day on, each day has its own slice of the figures.
 */
#include "common/err.h"
#include "controller/ledger/store_sqlite.h"

static const char slice_sql[] =
	"INSERT INTO slices(job, attempt, day, running_ms, suspended_ms, cpu_ms,"
	" charge_requested_ms, charge_used_ms, core_ms, gpu_ms)"
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
	" ON CONFLICT(job, attempt, day) DO UPDATE SET running_ms = "
	"slices.running_ms + excluded.running_ms,"
	" suspended_ms = slices.suspended_ms + excluded.suspended_ms,"
	" cpu_ms = slices.cpu_ms + excluded.cpu_ms, charge_requested_ms ="
	" slices.charge_requested_ms + excluded.charge_requested_ms,"
	" charge_used_ms = slices.charge_used_ms + excluded.charge_used_ms,"
	" core_ms = slices.core_ms + excluded.core_ms, gpu_ms = slices.gpu_ms + "
	"excluded.gpu_ms";
#define SLICE_FORMAT                                                                           \
	"iii"                                                                                  \
	"iiiiiii"

struct db_rows store_slice_rows(void)
{
	return (struct db_rows){ .sql = slice_sql, .format = SLICE_FORMAT };
}

#define SLICE_VALUES(d, day, f)                                                                \
	(d)->job, (int64_t)(d)->attempt, day, (f)[ROLLUP_RUNNING_MS],                          \
		(f)[ROLLUP_SUSPENDED_MS], (f)[ROLLUP_CPU_MS], (f)[ROLLUP_CHARGE_REQUESTED_MS], \
		(f)[ROLLUP_CHARGE_USED_MS], (f)[ROLLUP_CORE_MS], (f)[ROLLUP_GPU_MS]

/* A report adds to a day of its attempt once, so no two rows that are gathered are of the same slice. */
static int write_slice(struct store *s, const struct store_days *d, int64_t day,
		       const struct rollup *r, struct err *err)
{
	if (d->slices)
		return db_rows_add(d->slices, err, SLICE_VALUES(d, day, r->figure));
	return db_run_later(s->db, err, slice_sql, SLICE_FORMAT,
			    SLICE_VALUES(d, day, r->figure));
}

/* The second day of an attempt: its first day becomes a slice of what there was so far. */
static int add_slice(struct store *s, struct store_days *d, int64_t day,
		     const struct rollup *gained, struct err *err)
{
	int r = 0;

	if (rollup_is_zero(gained) || (!d->is_sliced && d->usage_day == day))
		return 0;
	if (d->is_sliced)
		return write_slice(s, d, day, gained, err);
	d->is_sliced = d->usage_day != STORE_NO_DAY;
	if (d->is_sliced)
		r = write_slice(s, d, d->usage_day, &d->so_far, err);
	if (r >= 0 && d->is_sliced)
		r = write_slice(s, d, day, gained, err);
	if (r < 0)
		return r;
	d->usage_day = day;
	d->has_moved = true;
	return 0;
}

int store_slice(struct store *s, struct store_days *d, int64_t day, const struct rollup *gained,
		struct err *err)
{
	int r = add_slice(s, d, day, gained, err);

	rollup_add(&d->so_far, gained);
	return r;
}

int store_usage_day(struct store *s, const struct store_days *d, struct err *err)
{
	if (!d->has_moved || d->slices)
		return 0;
	return db_run_later(s->db, err,
			    "UPDATE attempts SET usage_day = ?3, sliced = ?4"
			    " WHERE job = ?1 AND attempt = ?2",
			    "iiii", d->job, (int64_t)d->attempt, d->usage_day,
			    (int64_t)d->is_sliced);
}

int store_mark(struct store *s, struct store_days *d, enum store_mark which, int64_t day,
	       struct err *err)
{
	static const char *const sql[] = {
		[STORE_MARK_STARTED] = "UPDATE attempts SET started_day = ?3"
				       " WHERE job = ?1 AND attempt = ?2",
		[STORE_MARK_ENDED] = "UPDATE attempts SET ended_day = ?3"
				     " WHERE job = ?1 AND attempt = ?2",
	};

	if (which == STORE_MARK_STARTED && d->slices) {
		d->has_started = true;
		d->started_day = day;
		return 0;
	}
	return db_run_later(s->db, err, sql[which], "iii", d->job, (int64_t)d->attempt, day);
}
