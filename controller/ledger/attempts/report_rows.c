/* SPDX-License-Identifier: GPL-2.0-or-later */
/* report_rows.c - see report_rows.h. */
#include <errno.h>
#include <stdlib.h>
#include "common/err.h"
#include "controller/ledger/attempts/report_rows.h"
#include "controller/ledger/attempts/series.h"
#include "controller/ledger/store_sqlite.h"
#include "controller/ledger/usage/run_interval.h"

struct store_report_rows store_report_rows(void)
{
	return (struct store_report_rows){
		.attempts = { .sql = "UPDATE attempts SET seq = ?3, at_ns = ?4, shown = 1,"
				     " missing_ns = 0, running_ns = ?5, suspended_ns = ?6,"
				     " charge_requested_ms = ?7, charge_used_ms = ?8,"
				     " cpus = ?9, note = ?10, usage = ?11"
				     " WHERE job = ?1 AND attempt = ?2",
			      .format = "iiii"
					"iiii"
					"ttt" },
		.intervals = store_run_interval_rows(),
		.series = store_series_rows(),
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

int store_report_rows_attempt(struct store_report_rows *r, const struct store_report_case *c,
			      const struct tally *now, char *usage, struct err *err)
{
	const struct report *rep = c->report;
	int n = keep_usage(r, usage, err);

	return n < 0 ? n
		     : db_rows_add(&r->attempts, err, rep->job, (int64_t)rep->attempt, rep->seq,
				   rep->at_ns, now->running_ns, now->suspended_ns,
				   now->charge_requested_ms, now->charge_used_ms, rep->cpus,
				   rep->note, usage);
}

int store_report_rows_write(struct store *s, struct store_report_rows *r, struct err *err)
{
	struct db_rows *const all[] = { &r->attempts, &r->intervals, &r->series };
	int n = 0;

	for (size_t i = 0; i < ARRAY_LEN(all) && n >= 0; i++)
		n = db_rows_write(s->db, all[i], err);
	free_usages(r);
	return n;
}
