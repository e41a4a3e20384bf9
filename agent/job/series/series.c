/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.c - turns the usage of a job into samples of its series, and puts the series into reports; see job/series/series.h. */
#include <stdlib.h>
#include <string.h>
#include "agent/job/series/series.h"
#include "agent/job/series/sample.h"
#include "common/model/series/series.h"
#include "common/time_units.h"

void job_series_add(struct node *n, struct job *j, const struct usage *sampled)
{
	int64_t now = node_now_ns(), suspended_ns = clock_suspended_ns(&j->clock, now);
	_cleanup_(series_done) struct series s = { 0 };
	struct series_sample x;
	struct usage all;

	if (!j->clock.start_ns || state_series_get(&j->s, &s) < 0)
		return;
	if (!s.interval_ms)
		series_init(&s, n->conf->sample_interval_s * (S_NS / MS_NS));
	state_usage_get(&j->s, &all);
	x.elapsed_ms = (clock_running_ns(&j->clock, now) + suspended_ns) / MS_NS;
	series_sample_fill(&s, &all, sampled, &x);
	if (suspended_ns > 0)
		x.value[SERIES_SUSPENDED_MS] = suspended_ns / MS_NS;
	x.gpus = __builtin_popcountll(j->gpus);
	if (series_add(&s, &x) < 0 || !series_points(&s))
		return;
	(void)state_series_set(&j->s, &s);
	j->series_interval_ms = s.interval_ms;
}

void job_series_report(struct job *j, struct report *r)
{
	const uint8_t *bytes;
	size_t size = state_series_bytes(&j->s, &bytes);
	int64_t now = node_now_ns();

	if (!size || (r->state != JOB_ENDED && j->series_sent_ns &&
		      now - j->series_sent_ns < series_sample_send_ns(j->series_interval_ms)))
		return;
	r->series = malloc(size);
	if (!r->series)
		return;
	r->series_size = size;
	memcpy(r->series, bytes, size);
	j->series_sent_ns = now;
}
