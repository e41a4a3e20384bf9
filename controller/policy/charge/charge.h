/* SPDX-License-Identifier: GPL-2.0-or-later */
/* charge - what a job costs: the core-equivalent and GPU-equivalent of its request.
 *
 * Source: Alliance, "Allocations and compute scheduling" (core equivalent, GPU equivalent).
 *
 * Pure: no clock, file, allocation or floating point. A cluster's *bundle* says how much of
 * each thing one equivalent is ("1 core and 4 GB"). A job is charged for what others were
 * prevented from using, so its rate is the largest of the ratios request / bundle.
 * The GPU bundle measures a GPU job, the core bundle a CPU job.
 *
 * Units: charges are milli-equivalent-seconds in int64 (292 million equivalent-years); time is
 * nanoseconds in the running state; memory is bytes. Rates are exact fractions.
 *
 * Rounding, the only one there is: a charge is computed from the *cumulative* running time of
 * an attempt and rounded half up to a whole milli-equivalent-second. What is added to a ledger
 * is the difference of two such charges; so whatever the sequence of reports, the parts sum to
 * the charge of the whole.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

struct fraction {
	int64_t num, den; /* lowest terms, num >= 0, den > 0 */
};

/* "1", "3.5", "0.25", "1/7": at most 18 digits a number. -EINVAL: anything else, zero included.
 */
int fraction_parse(const char *text, struct fraction *ret, struct err *err);
/* The same, where "0" is an amount too. */
int fraction_parse_or_zero(const char *text, struct fraction *ret, struct err *err);
/* num/den in lowest terms. -EINVAL: num < 0 or den <= 0. */
int fraction_make(int64_t num, int64_t den, struct fraction *ret);
/* a x b and a / b, exact. -ERANGE: more than int64 can hold; -EINVAL: b is 0. */
int fraction_multiply(struct fraction a, struct fraction b, struct fraction *ret);
int fraction_divide(struct fraction a, struct fraction b, struct fraction *ret);
/* a + b, exact. -ERANGE. */
int fraction_add(struct fraction a, struct fraction b, struct fraction *ret);

#define FRACTION_ZERO ((struct fraction){ 0, 1 })
#define FRACTION_ONE ((struct fraction){ 1, 1 })
#define FRACTION_TEXT_MAX 96
/* Exact: "2.5" where the decimals end within 18 places; otherwise the fraction with its value
 * cut after six places in front: "2.666666... (8/3)". */
const char *fraction_format(struct fraction f, char buf[static FRACTION_TEXT_MAX]);
/* For programs: a plain decimal; exact where the decimals end within 18 places, otherwise cut
 * there. */
const char *fraction_format_decimal(struct fraction f, char buf[static FRACTION_TEXT_MAX]);

/* The order is the order of ties: with all ratios equal, a GPU job is decided by its GPUs. */
enum charge_side {
	CHARGE_GPUS,
	CHARGE_CORES,
	CHARGE_MEMORY,
	_CHARGE_SIDE_MAX,
};
const char *charge_side_name(enum charge_side s); /* "gpus" "cores" "memory" */

enum charge_pool {
	CHARGE_POOL_CPU,
	CHARGE_POOL_GPU,
	_CHARGE_POOL_MAX,
};
const char *charge_pool_name(enum charge_pool p); /* "cpu" "gpu" */
const char *charge_pool_unit(enum charge_pool p); /* "core-equivalent" "gpu-equivalent" */

/* How much of each side one equivalent has; num 0: the bundle has no such side. */
struct charge_bundle {
	struct fraction side[_CHARGE_SIDE_MAX];
	bool is_sum; /* the rate is the sum of the ratios, not the largest */
};

/* What the job occupies: whole cores, bytes, whole GPUs. */
struct charge_amounts {
	int64_t side[_CHARGE_SIDE_MAX];
};

struct charge_rate {
	struct fraction rate;	     /* equivalents */
	enum charge_side decided_by; /* of a sum: its largest term */
};

/* Ratio of one side; 0/1 when the bundle has none. -ERANGE: more than int64 can hold. */
int charge_ratio(const struct charge_bundle *b, const struct charge_amounts *a,
		 enum charge_side side, struct fraction *ret);
/* The largest ratio, or the sum of all where the bundle has is_sum. -EINVAL: a bundle without
 * sides or a negative amount; -ERANGE. */
int charge_rate_of(const struct charge_bundle *b, const struct charge_amounts *a,
		   struct charge_rate *ret);

/* rate x cumulative running time, in milli-equivalent-seconds, rounded half up.
 * -EINVAL: negative time; -ERANGE: more than int64 can hold. */
int charge_requested(struct fraction rate, int64_t running_ns, int64_t *ret_ms);

/* Charge as used: what the smallest request that would have served this attempt would have
 * cost for the same running time. Cores: the cpu time that was used, as if spread evenly.
 * Memory: the peak times the running time, since a request is a peak held all along (the
 * caller gives the resident peak, without page cache, which the kernel takes back at need).
 * GPUs: those that did anything at all for it, each as held all along, since a GPU that is held
 * is of no use to others, however little it does; one that did nothing could have been left
 * out. Of a bundle that sums, the sides are added, each rounded down. Not measured: all that
 * were held. A side that was not measured (-1) is left out. It tells the user how much smaller
 * a request could have been; nothing is billed by it. */
struct charge_use {
	int64_t running_ns, cpu_ns, mem_peak_bytes, ngpus;
};
int charge_used(const struct charge_bundle *b, const struct charge_use *u, int64_t *ret_ms);

/* Splits a cumulative charge at a moment: how much of `total_ms` belongs to the first
 * `part_ns` of `whole_ns` (0 <= part <= whole, else everything). Rounded down, so that
 * successive moments give a rising sequence which ends with the total. */
int64_t charge_part(int64_t total_ms, int64_t part_ns, int64_t whole_ns);
