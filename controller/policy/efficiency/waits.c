/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits.c - buckets of waiting times, and quantiles of their counts. See waits.h. */
#include "controller/policy/efficiency/waits.h"

#define EXACT 16 /* buckets of one second each */
#define PARTS 8	 /* buckets of each doubling above */
#define EXACT_LOG 4

static const int64_t first_core[WAITS_SIZES] = { 1, 2, 16, 64, 256, 1024 };

int waits_size(int64_t ncpus)
{
	int size = WAITS_SIZES - 1;

	while (size > 0 && ncpus < first_core[size])
		size--;
	return size;
}

int64_t waits_first_core(int size)
{
	return first_core[size];
}

int waits_bucket(int64_t wait_s)
{
	int log, bucket;

	if (wait_s < EXACT)
		return wait_s < 0 ? 0 : (int)wait_s;
	log = 63 - __builtin_clzll((unsigned long long)wait_s);
	bucket = EXACT + (log - EXACT_LOG) * PARTS + (int)((wait_s >> (log - 3)) & (PARTS - 1));
	return bucket < WAITS_BUCKETS ? bucket : WAITS_BUCKETS - 1;
}

int64_t waits_bucket_end(int bucket)
{
	int log, part;

	if (bucket < EXACT)
		return bucket;
	log = (bucket - EXACT) / PARTS + EXACT_LOG;
	part = (bucket - EXACT) % PARTS;
	return ((int64_t)(PARTS + part + 1) << (log - 3)) - 1;
}

int64_t waits_quantile(const int64_t jobs[static WAITS_BUCKETS], int64_t permille)
{
	int64_t all = 0, below = 0, rank;

	for (int i = 0; i < WAITS_BUCKETS; i++)
		all += jobs[i];
	rank = (int64_t)(((__int128)all * permille + 999) / 1000);
	for (int i = 0; i < WAITS_BUCKETS && all; i++) {
		below += jobs[i];
		if (below >= rank && below > 0)
			return waits_bucket_end(i);
	}
	return -1;
}
