/* chart - replays side by side as a picture: which part of the jobs had started within
 * which time, one line a profile, over a logarithmic axis; a legend with the figures.
 *
 * SVG that stands alone: its own background, readable where the reader's surroundings are dark
 * (prefers-color-scheme), lines told apart by dashes too. The same figures give the same bytes.
 */
#pragma once
#include "controller/simulate/summary.h"

struct err;

#define CHART_POINTS 161 /* 0 s, then 20 a decade from 1 s to 10^7.95 s, 2.8 years */

/* The waits at which the lines have their points, rising. */
void simulate_chart_bounds(int64_t ret[static CHART_POINTS]);

struct chart_line {
	const char *name;
	struct sim_summary sum;
	size_t counts[CHART_POINTS]; /* jobs that waited no longer */
};

struct chart {
	const char *trace;
	int64_t cores;
	const struct chart_line *lines;
	size_t n_lines;
};

/* -errno, with the file's name. */
int simulate_chart_write(const char *path, const struct chart *c, struct err *err);
