/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tsc_khz.c - prints the rate of this machine's time stamp counter in kHz. An emulated CPU passes the host's counter through, so
 * this is the rate of the guest's as well. Prints nothing where there is no such counter.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#ifdef __x86_64__
#include <x86intrin.h>

struct reading {
	int64_t ns;
	uint64_t ticks;
};

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

/* Reads both clocks at one time: of many tries the one that took least, which nothing has interrupted. */
static struct reading read_clocks(void)
{
	struct reading best = { 0 };
	int64_t least = INT64_MAX;

	for (int i = 0; i < 2000; i++) {
		int64_t before = now_ns();
		uint64_t ticks = __rdtsc();
		int64_t took = now_ns() - before;

		if (took >= least)
			continue;
		least = took;
		best = (struct reading){ before + took / 2, ticks };
	}
	return best;
}

int main(void)
{
	struct reading a = read_clocks(), b;
	double khz;

	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
	b = read_clocks();
	khz = (double)(b.ticks - a.ticks) * 1e6 / (double)(b.ns - a.ns);
	printf("%.0f\n", khz);
	return 0;
}
#else
int main(void)
{
	return 0;
}
#endif
