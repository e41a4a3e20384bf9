/* series.c - turns the usage of a job into samples of its series, and puts the series into reports; see job/series.h. */
#include <stdlib.h>
#include <string.h>
#include "agent/job/series.h"
#include "common/model/series/series.h"

#define KIB 1024

/* Where a point comes from: a member of struct usage, and how many of its units make one of the point's. `is_counted`: of the
 * whole job, else of this sample alone: a figure of an earlier sample is not measured now. `peak`: the largest so far, which
 * the kernel saw between samples too; 0: none. */
struct source {
	size_t offset, peak;
	int64_t unit;
	bool is_counted;
};
#define TOTAL(member)                                                                          \
	{                                                                                      \
		offsetof(struct usage, member), 0, MS_NS, true                                 \
	}
#define BYTES(member, top, is_counted)                                                         \
	{                                                                                      \
		offsetof(struct usage, member), offsetof(struct usage, top), KIB, is_counted   \
	}

static const struct source sources[_SERIES_METRIC_MAX] = {
	[SERIES_CPU_MS] = TOTAL(cpu_ns),
	[SERIES_MEM_KIB] = BYTES(rss_bytes, rss_peak_bytes, false),
	[SERIES_VMEM_KIB] = BYTES(vmem_bytes, vmem_peak_bytes, false),
	[SERIES_JOBFS_KIB] = BYTES(jobfs_bytes, jobfs_peak_bytes, false),
	/* The GPU sampler has its own pace: its last figures. */
	[SERIES_GPU_BUSY_MS] = TOTAL(gpu_busy_ns),
	[SERIES_GPU_MEM_KIB] = BYTES(gpu_mem_bytes, gpu_mem_peak_bytes, true),
};

static int64_t read_member(const struct usage *u, size_t offset, int64_t unit)
{
	const int64_t *value = (const int64_t *)((const char *)u + offset);

	if (!usage_has(u, value))
		return SERIES_NONE;
	return *value / unit + (unit == KIB && *value % KIB != 0);
}

/* A peak above every point so far was reached since the last sample: by a short job, or between two samples. */
static int64_t read_source(const struct series *s, int m, const struct usage *all,
			   const struct usage *sampled)
{
	const struct source *from = &sources[m];
	int64_t value, peak, most = 0;

	if (!from->unit)
		return SERIES_NONE;
	value = read_member(from->is_counted ? all : sampled, from->offset, from->unit);
	peak = from->peak ? read_member(all, from->peak, from->unit) : SERIES_NONE;
	for (int i = 0; s->of[m] && i < series_points(s); i++)
		most = s->of[m][i] > most ? s->of[m][i] : most;
	return peak > most && peak > value ? peak : value;
}

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
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		x.value[m] = read_source(s, m, &all, sampled);
	if (suspended_ns > 0)
		x.value[SERIES_SUSPENDED_MS] = suspended_ns / MS_NS;
	(void)series_add(s, &x);
}

/* Of a job of days a new point comes each hour: its series is not sent each minute. */
static bool is_due(const struct job *j, int64_t now)
{
	int64_t every = j->s.series->interval_ms * MS_NS;

	if (every < SERIES_SEND_NS)
		every = SERIES_SEND_NS;
	return !j->series_sent_ns || now - j->series_sent_ns >= every;
}

void job_series_report(struct job *j, struct report *r)
{
	uint8_t buf[SERIES_BYTES_MAX];
	int64_t now = node_now_ns();

	if (!j->s.series || !series_points(j->s.series) ||
	    (r->state != JOB_ENDED && !is_due(j, now)))
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
