/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.c - turns the usage of a job into samples of its series, and puts the series into reports; see job/series/series.h. */
#include <stdlib.h>
#include <string.h>
#include "agent/job/series/series.h"
#include "agent/job/series/sample.h"
#include "common/model/series/series.h"
#include "common/time_units.h"

/* The series of the job, made with its first sample. NULL: no memory. */
static struct series *series_of(struct node *n, struct job *j)
{
	if (!j->s.series) {
		j->s.series = malloc(sizeof(*j->s.series));
		if (j->s.series)
			series_init(j->s.series, n->conf->sample_interval_s * (S_NS / MS_NS));
	}
	return j->s.series;
}

void job_series_add(struct node *n, struct job *j, const struct usage *sampled)
{
	int64_t now = node_now_ns(), suspended_ns = clock_suspended_ns(&j->clock, now);
	struct series *s = j->clock.start_ns ? series_of(n, j) : NULL;
	struct series_sample x;
	struct usage all;

	if (!s)
		return;
	state_usage_get(&j->s, &all);
	x.elapsed_ms = (clock_running_ns(&j->clock, now) + suspended_ns) / MS_NS;
	series_sample_fill(s, &all, sampled, &x);
	if (suspended_ns > 0)
		x.value[SERIES_SUSPENDED_MS] = suspended_ns / MS_NS;
	x.gpus = __builtin_popcountll(j->gpus);
	(void)series_add(s, &x);
}

void job_series_report(struct job *j, struct report *r)
{
	uint8_t buf[SERIES_BYTES_MAX];
	int64_t now = node_now_ns();

	if (!j->s.series || !series_points(j->s.series) ||
	    (r->state != JOB_ENDED && j->series_sent_ns &&
	     now - j->series_sent_ns < series_sample_send_ns(j->s.series)))
		return;
	r->series_size = series_encode(j->s.series, buf);
	r->series = malloc(r->series_size);
	if (!r->series) {
		r->series_size = 0;
		return;
	}
	memcpy(r->series, buf, r->series_size);
	j->series_sent_ns = now;
}
