/* SPDX-License-Identifier: GPL-2.0-or-later */
/* waits - how long jobs wait in the queue, by their size: counts in buckets, from which median and 90 % are read.
 *
 * Pure. A bucket is exact below 16 s; above, eight buckets share each doubling, so that a figure read from the counts is at most
 * one eighth above the true one.
 */
#pragma once
#include <stdint.h>

/* Jobs by cores: 1, 2 to 15, 16 to 63, 64 to 255, 256 to 1,023, more. */
#define WAITS_SIZES 6
#define WAITS_BUCKETS 256

int waits_size(int64_t ncpus);
/* The cores of the smallest job of a size. */
int64_t waits_first_core(int size);
int waits_bucket(int64_t wait_s); /* below 0 counts as 0 */
/* The longest wait of a bucket, in seconds. */
int64_t waits_bucket_end(int bucket);
/* The longest wait of the shortest `permille` of the jobs; -1: there are no jobs. */
int64_t waits_quantile(const int64_t jobs[static WAITS_BUCKETS], int64_t permille);
