/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series - how the use of a job went over its time on one node: at most 120 points a metric.
 *
 * Pure. Time is elapsed time since the job's start, suspended time included, in milliseconds. Point i is
 * the interval (i * interval_ms, (i + 1) * interval_ms]. The interval begins at the agent's sample interval; when the
 * job has lasted longer than 120 of them, pairs of points are merged and the interval doubles: 60 to 120 points
 * remain. The last point may be an interval that has not ended.
 *
 * A point that was not measured is SERIES_NONE, never 0. Where no sample was taken for more than two intervals (the
 * agent was away), the points of memory are missing; a counter's growth over that time is spread evenly over its points, so
 * that the sum of the points is always the counter: CPU time is neither lost nor counted twice.
 *
 * Memory: 960 bytes for each metric that was measured, and struct series; at most 6.8 KB. Encoded: at most
 * SERIES_BYTES_MAX, of which a long job with the four metrics of a node without GPUs needs about 1 KB.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "common/cleanup.h"

#define SERIES_POINTS_MAX 120
#define SERIES_NONE (-1)
/* of a point, and of milliseconds; larger ones are cut to it */
#define SERIES_VALUE_MAX ((INT64_C(1) << 53) - 1)

/* The numbers are stored and sent: append. Older controllers skip metrics that they do not know. */
enum series_metric {
	SERIES_CPU_MS,	 /* CPU time within the interval: cores in use are this / its length */
	SERIES_MEM_KIB,	 /* resident memory, the largest sample of the interval */
	SERIES_VMEM_KIB, /* the same of address space */
	SERIES_JOBFS_KIB,
	SERIES_GPU_BUSY_MS, /* of all GPUs together, as CPU time */
	SERIES_GPU_MEM_KIB,
	SERIES_SUSPENDED_MS, /* of the interval; not there: the job was never suspended */
	_SERIES_METRIC_MAX,
};

/* What is written at most: version, interval, elapsed, bits of the metrics; a point has at most 8 bytes. */
#define SERIES_BYTES_MAX (1 + 8 + 8 + 1 + _SERIES_METRIC_MAX * SERIES_POINTS_MAX * 8)
/* What is read at most: a newer agent may send metrics that are not known here, up to SERIES_METRICS_ACCEPTED in all. */
#define SERIES_METRICS_ACCEPTED 16
#define SERIES_BYTES_ACCEPTED (1 + 8 + 8 + 3 + SERIES_METRICS_ACCEPTED * SERIES_POINTS_MAX * 8)

struct series {
	int64_t interval_ms, elapsed_ms; /* elapsed 0: nothing was added yet */
	int64_t *of
		[_SERIES_METRIC_MAX]; /* owned, SERIES_POINTS_MAX each; NULL: never measured */
};

/* All zero is a valid struct of no points, for series_decode() and series_sum(). */
void series_init(struct series *s, int64_t interval_ms);
void series_done(struct series *s);

/* True for metrics that add up over time: the points of the others are the largest of the interval. */
bool series_is_total(enum series_metric m);
int series_points(const struct series *s);
/* The sum of the points of a metric that adds up; 0 where it was never measured. */
int64_t series_total(const struct series *s, enum series_metric m);
/* How much of point i has passed: interval_ms, or less of the last one. */
int64_t series_length_ms(const struct series *s, int i);

/* SERIES_NONE: not measured. Of metrics that add up, the total since the job's start; one that is less than before
 * counts as the same. A time before that of the last sample counts as that. */
struct series_sample {
	int64_t elapsed_ms;
	int64_t value[_SERIES_METRIC_MAX];
	/* GPUs that the job has; 0: unknown. No point has more busy time than these GPUs have in its length, except the
	 * first: what a meter reports late is put into the points before. */
	int gpus;
};
/* -ENOMEM leaves the points as they were. */
int series_add(struct series *s, const struct series_sample *x);

/* One more node of the same job onto *sum: values add up (also the largest ones: their sum is a bound of what was used at
 * one time), suspended time is the longest. A node whose job has ended counts as 0 from there on. A metric is missing where no
 * node has it; a point, where a node that has the metric did not measure it. Both are taken as begun at
 * the same time. -EDOM: the intervals are no power of 2 apart; -ENOMEM; *sum is as it was. */
int series_sum(struct series *sum, const struct series *more);

/* Bytes written: varints, each point as the difference to the one before that was measured. */
size_t series_encode(const struct series *s, uint8_t buf[static SERIES_BYTES_MAX]);
/* -EINVAL: no series, of another version, or not exactly `size` bytes; -ENOMEM. *ret is to be given to series_done(). */
int series_decode(const void *data, size_t size, struct series *ret);
