/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample.c - which figures of a job's usage become the points of its series; see job/series/sample.h. */
#include "agent/job/series/sample.h"
#include "common/time_units.h"

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

void series_sample_fill(const struct series *s, const struct usage *all,
			const struct usage *sampled, struct series_sample *ret)
{
	for (int m = 0; m < _SERIES_METRIC_MAX; m++)
		ret->value[m] = read_source(s, m, all, sampled);
}

int64_t series_sample_send_ns(int64_t interval_ms)
{
	int64_t interval_ns = interval_ms * MS_NS;

	return interval_ns > SERIES_SEND_NS ? interval_ns : SERIES_SEND_NS;
}
