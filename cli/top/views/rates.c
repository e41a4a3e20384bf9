/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rates.c - keeps the last report of each job and the rate since the one before; see rates.h. */
#include <stdlib.h>
#include "cli/top/views/rates.h"

#define LEAST_NS                                                                               \
	500000000 /* reports closer together give no rate: a report's times are rounded */

static int compare_jobs(const void *a, const void *b)
{
	const struct top_rate *x = a, *y = b;

	return (x->job > y->job) - (x->job < y->job);
}

static const struct top_rate *find_report(const struct top_rates *r, int64_t job)
{
	const struct top_rate key = { .job = job };

	return r->n ? bsearch(&key, r->of, r->n, sizeof(key), compare_jobs) : NULL;
}

void top_rates_done(struct top_rates *r)
{
	free(r->of);
	*r = (struct top_rates){ NULL, 0 };
}

/* A job that was queued again begins at 0: then there is no rate yet. */
static void rate_report(struct top_rate *now, const struct top_rate *before)
{
	now->hundredths = -1;
	if (!before || now->running_ns < before->running_ns || now->cpu_ns < before->cpu_ns)
		return;
	if (now->running_ns - before->running_ns < LEAST_NS) {
		*now = *before; /* until enough time has passed */
		return;
	}
	now->hundredths = (int64_t)((__int128)(now->cpu_ns - before->cpu_ns) * 100 /
				    (now->running_ns - before->running_ns));
}

void top_rates_update(struct top_rates *r, struct top_rate *reports, size_t n)
{
	for (size_t i = 0; i < n; i++)
		rate_report(&reports[i], find_report(r, reports[i].job));
	free(r->of);
	*r = (struct top_rates){ reports, n };
	if (n)
		qsort(reports, n, sizeof(*reports), compare_jobs);
}

void top_rates_put(struct top_rates *r, struct top_rate report)
{
	struct top_rate *known = (struct top_rate *)(uintptr_t)find_report(r, report.job),
			*more;

	rate_report(&report, known);
	if (known) {
		*known = report;
		return;
	}
	more = reallocarray(r->of, r->n + 1, sizeof(*more));
	if (!more)
		return; /* its rate is shown as "-" */
	r->of = more;
	more[r->n++] = report;
	qsort(more, r->n, sizeof(*more), compare_jobs);
}

int64_t top_rates_find(const struct top_rates *r, int64_t job)
{
	const struct top_rate *found = find_report(r, job);

	return found ? found->hundredths : -1;
}
