/* SPDX-License-Identifier: GPL-2.0-or-later */
/* chart - draws the waits under several profiles as SVG: one line a profile has the part of jobs
 * that started within a time, over a logarithmic axis; and a legend with figures.
 *
 * The SVG has its own background, dark where the viewer prefers it (prefers-color-scheme), and
 * lines differ by dashes too. The same figures give the same bytes.
 */
#pragma once
#include "controller/simulate/summary.h"

struct err;

#define CHART_POINTS 161 /* 0 s, then 20 a decade from 1 s to 10^7.95 s, 2.8 years */

/* The waits in seconds, ascending, at which lines have points. */
void simulate_chart_bounds(int64_t ret[static CHART_POINTS]);

struct chart_line {
	const char *name;
	struct sim_summary sum;
	size_t counts[CHART_POINTS]; /* jobs that waited at most as long */
};

struct chart {
	const char *trace;
	int64_t cores;
	const struct chart_line *lines;
	size_t n_lines;
};

/* -errno, with the file's name. */
int simulate_chart_write(const char *path, const struct chart *c, struct err *err);
