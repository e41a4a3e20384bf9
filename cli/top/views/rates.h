/* SPDX-License-Identifier: GPL-2.0-or-later */
/* rates - how many cores each job keeps busy now, from two reports of it. Pure.
 *
 * A report has the CPU time since the start of the job, so it alone gives an average. The difference between two gives
 * what the job does at present; it stays until a later report of the job comes.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct top_rate {
	int64_t job, cpu_ns, running_ns;
	int64_t hundredths; /* of cores; -1: there was one report only */
};

struct top_rates {
	struct top_rate *of; /* sorted by job */
	size_t n;
};

void top_rates_done(struct top_rates *r);
/* Takes the place of *r by `n` reports of jobs (any order; `hundredths` is written). Jobs that are not among them are
 * forgotten. Takes over `reports`, which is malloc()ed. */
void top_rates_update(struct top_rates *r, struct top_rate *reports, size_t n);
/* A report of one job; the others stay. */
void top_rates_put(struct top_rates *r, struct top_rate report);
/* Hundredths of cores, or -1. */
int64_t top_rates_find(const struct top_rates *r, int64_t job);
