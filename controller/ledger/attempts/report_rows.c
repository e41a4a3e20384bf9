/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_rows.c - see report_rows.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/known.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/series.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/run_interval.h"

#define ATTEMPT_SET                                                                            \
	"UPDATE attempts SET seq = ?3, at_ns = ?4, shown = 1, missing_ns = 0,"                 \
	" running_ns = ?5, suspended_ns = ?6, charge_requested_ms = ?7, charge_used_ms = ?8,"  \
	" cpus = ?9, note = ?10, usage = ?11"
#define ATTEMPT_WHERE " WHERE job = ?1 AND attempt = ?2"
#define ATTEMPT_FORMAT                                                                         \
	"iiii"                                                                                 \
	"iiii"                                                                                 \
	"ttt"
#define ATTEMPT_VALUES(rep, now, usage)                                                        \
	(rep)->job, (int64_t)(rep)->attempt, (rep)->seq, (rep)->at_ns, (now)->running_ns,      \
		(now)->suspended_ns, (now)->charge_requested_ms, (now)->charge_used_ms,        \
		(rep)->cpus, (rep)->note, usage

struct store_report_rows store_report_rows(void)
{
	return (struct store_report_rows){
		.attempts = { .sql = ATTEMPT_SET ATTEMPT_WHERE, .format = ATTEMPT_FORMAT },
		.firsts = { .sql = ATTEMPT_SET
			    ", state = ?12, started_ns = ?13, usage_day = ?14, sliced = ?15,"
			    " started_day = CASE WHEN ?16 <> 0 THEN ?17 ELSE started_day END" ATTEMPT_WHERE,
			    .format = ATTEMPT_FORMAT "iiiiii" },
		.jobs = { .sql = "UPDATE jobs SET state = ?2, started_ns = ?3, ended_ns = ?4"
				 " WHERE job = ?1",
			  .format = "iiii" },
		.events = store_event_rows(),
		.intervals = store_run_interval_rows(),
		.series = store_series_rows(),
		.slices = store_slice_rows(),
	};
}

static void free_usages(struct store_report_rows *r)
{
	while (r->n_usages)
		free(r->usages[--r->n_usages]);
}

void store_report_rows_done(struct store_report_rows *r)
{
	free_usages(r);
	free(r->usages);
	db_rows_done(&r->attempts);
	db_rows_done(&r->firsts);
	db_rows_done(&r->jobs);
	db_rows_done(&r->events);
	db_rows_done(&r->slices);
	db_rows_done(&r->intervals);
	db_rows_done(&r->series);
}

static int keep_usage(struct store_report_rows *r, char *usage, struct err *err)
{
	size_t larger = r->size_usages ? 2 * r->size_usages : 16;
	char **more;

	if (r->n_usages == r->size_usages) {
		more = realloc(r->usages, larger * sizeof(*more));
		if (!more) {
			free(usage);
			return err_set(err, -ENOMEM, "out of memory");
		}
		r->usages = more;
		r->size_usages = larger;
	}
	r->usages[r->n_usages++] = usage;
	return 0;
}

int store_report_rows_attempt(const struct store_report_case *c, const struct store_known *k,
			      const struct tally *now, char *usage, struct err *err)
{
	const struct report *rep = c->report;
	const struct store_days *d = &k->days;
	int n = keep_usage(c->rows, usage, err);

	if (n < 0)
		return n;
	if (c->is_plain && !d->has_moved && !d->has_started)
		return db_rows_add(&c->rows->attempts, err, ATTEMPT_VALUES(rep, now, usage));
	return db_rows_add(&c->rows->firsts, err, ATTEMPT_VALUES(rep, now, usage),
			   (int64_t)k->state, k->started_ns, d->usage_day,
			   (int64_t)d->is_sliced, (int64_t)d->has_started, d->started_day);
}

int store_report_rows_job(const struct store_report_case *c, const struct store_known *k,
			  struct err *err)
{
	return db_rows_add(&c->rows->jobs, err, c->report->job, (int64_t)k->state,
			   k->started_ns, k->ended_ns);
}

int store_report_event(struct store *s, const struct store_report_case *c,
		       const struct store_event *e, struct err *err)
{
	return c->rows ? store_event_add(&c->rows->events, e, err) : store_event(s, e, err);
}

int store_report_rows_write(struct store *s, struct store_report_rows *r, struct err *err)
{
	struct db_rows *const all[] = { &r->attempts, &r->firsts,    &r->jobs,	&r->events,
					&r->slices,   &r->intervals, &r->series };
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all) && n >= 0; i++)
		n = db_rows_write(s->db, all[i], err);
	free_usages(r);
	return n;
}
