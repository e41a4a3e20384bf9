/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series_bench.c - what the series of a job costs the agent: a sample added to the points of each of 1,000 jobs, beside reading one
 * small file of /proc (the least that a sampler does for a job), and the whole series encoded for a report; bytes of memory and of the
 * report. Medians of nine rounds, processor time. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "common/clock.h"
#include "common/model/series/series.h"

#define JOBS 1000
#define ROUNDS 9
#define METRICS 4
#define INTERVAL_MS 30000
#define DAY_MS (24 * 3600 * INT64_C(1000))

static struct series jobs[JOBS];
static int64_t cpu_ms[JOBS];
static size_t encoded;

static void add_samples(int64_t at_ms)
{
	for (int k = 0; k < JOBS; k++) {
		struct series_sample x = { .elapsed_ms = at_ms };

		cpu_ms[k] += (at_ms / INTERVAL_MS * 7919 + k) % INTERVAL_MS;
		for (int m = 0; m < _SERIES_METRIC_MAX; m++)
			x.value[m] =
				m < METRICS ? (at_ms / 600000 * 37 + k) % 4000000 : SERIES_NONE;
		x.value[SERIES_CPU_MS] = cpu_ms[k];
		if (series_add(&jobs[k], &x) < 0)
			exit(1);
	}
}

static void read_files(int64_t unused)
{
	char text[4096];

	(void)unused;
	for (int k = 0; k < JOBS; k++) {
		int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

		if (fd < 0 || read(fd, text, sizeof(text)) < 1)
			exit(1);
		close(fd);
	}
}

static void encode_all(int64_t unused)
{
	static uint8_t buf[SERIES_BYTES_MAX];

	(void)unused;
	encoded = 0;
	for (int k = 0; k < JOBS; k++)
		encoded += series_encode(&jobs[k], buf);
}

static int compare_numbers(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Microseconds for all jobs once. */
static double time_rounds(void (*fn)(int64_t), int64_t *at_ms)
{
	double us[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		int64_t from = clock_ns(CLOCK_PROCESS_CPUTIME_ID);

		*at_ms += INTERVAL_MS;
		fn(*at_ms);
		us[i] = (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - from) / 1e3;
	}
	qsort(us, ROUNDS, sizeof(*us), compare_numbers);
	return us[ROUNDS / 2];
}

int main(void)
{
	int64_t at_ms = 0, none = 0;
	double add, file, encode;

	for (int k = 0; k < JOBS; k++)
		series_init(&jobs[k], INTERVAL_MS);
	while (at_ms < DAY_MS)
		add_samples(at_ms += INTERVAL_MS);
	add = time_rounds(add_samples, &at_ms);
	file = time_rounds(read_files, &none);
	encode = time_rounds(encode_all, &none);
	printf("a job: a sample added %.2f us, one file of /proc opened and read %.2f us: x%.2f; "
	       "encoded for a report %.2f us\n",
	       add / JOBS, file / JOBS, add / file, encode / JOBS);
	printf("after a day: %zu bytes of memory, %.0f bytes in the report\n",
	       sizeof(struct series) + METRICS * SERIES_POINTS_MAX * sizeof(int64_t),
	       (double)encoded / JOBS);
	return 0;
}
