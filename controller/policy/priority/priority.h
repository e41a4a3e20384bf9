/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priority - the priority of a queued job: one number, the exact sum of the products shown.
 *
 * Pure. The multifactor priority of docs/fairshare.md (the algorithm of Slurm's
 * priority/multifactor): sum of weight x factor, plus site, minus nice; cut to an integer at
 * the end only, then clamped to 1 ... 4294967295. 0 = held.
 *
 * Arithmetic: each product is rounded to the nearest micro-point (a millionth), once; the sum
 * of these integers is exact, so the products as shown (six decimals) add up to the sum as
 * shown, and the priority is that sum rounded down. (A binary 28.999999999999996 is thus the 29
 * that its decimals say.)
 *
 * Factors are 0 ... 1; the own priority of a queue, QoS or association where the profile says
 * "not normalised" is taken as it is.
 */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PRIORITY_MAX INT64_C(4294967295) /* of a priority, a weight, site and nice */
#define PRIORITY_UNIT INT64_C(1000000)	 /* micro-points in a point */
#define PRIORITY_TRES_MAX 8

enum priority_factor {
	PRIORITY_AGE,	      /* min(1, time eligible / max age) */
	PRIORITY_FAIRSHARE,   /* of the association */
	PRIORITY_SIZE,	      /* see enum priority_size */
	PRIORITY_PARTITION,   /* own priority / the highest there is */
	PRIORITY_QOS,	      /* likewise */
	PRIORITY_ASSOCIATION, /* likewise */
	_PRIORITY_FACTOR_MAX,
};
const char *priority_factor_name(enum priority_factor f);

enum priority_size {
	PRIORITY_LARGE,		/* (nodes / all nodes + cores / all cores) / 2 */
	PRIORITY_SMALL,		/* (the nodes and cores it leaves, likewise) / 2 */
	PRIORITY_SMALL_TO_TIME, /* cores per minute of time limit / all cores */
	_PRIORITY_SIZE_MAX,
};

struct priority_rule {
	int64_t weight[_PRIORITY_FACTOR_MAX]; /* 0 to PRIORITY_MAX */
	int64_t max_age_s;		      /* 0: age does not count */
	enum priority_size size;
	/* The highest own priority of its kind, for PARTITION, QOS and ASSOCIATION (the others
	 * are not read); 0: not normalised. */
	int64_t highest[_PRIORITY_FACTOR_MAX];
};

/* weight x requested / what the partition has */
struct priority_tres {
	const char *name;
	int64_t weight, requested, partition_has;
};

struct priority_job {
	bool held;
	int64_t eligible_s; /* time in which it could have started; below 0 counts as 0 */
	double fairshare;   /* 0 ... 1 */
	int64_t nodes, cores, all_nodes, all_cores;
	int64_t limit_s; /* walltime requested; below a minute counts as one */
	int64_t own[_PRIORITY_FACTOR_MAX]; /* as `highest` */
	const struct priority_tres *tres;
	size_t n_tres;
	int64_t site, nice;
};

/* weight x factor = product; of site and nice the factor is the value, the weight 1 and -1. */
struct priority_row {
	const char *name;
	double factor;
	int64_t weight;
	int64_t product_micro;
};

struct priority {
	int64_t value;	   /* 0 ... PRIORITY_MAX */
	int64_t sum_micro; /* of all rows' products */
	bool held;	   /* value is 0 whatever the sum */
	bool clamped;	   /* the sum, rounded down, is not within 1 ... PRIORITY_MAX */
	struct priority_row rows[_PRIORITY_FACTOR_MAX + PRIORITY_TRES_MAX + 2];
	size_t n_rows; /* the factors, the TRES, site, nice: all, also where the weight is 0 */
};

/* -EINVAL: a negative size, weight or own priority, a fairshare outside 0 ... 1 or no number,
 * an unknown size rule, too many TRES; -ERANGE: a weight, site or nice beyond PRIORITY_MAX, or
 * a product that cannot be shown. */
int priority_explain(const struct priority_rule *rule, const struct priority_job *job,
		     struct priority *ret);

#define PRIORITY_TEXT_MAX 32
/* "12.500000", "-3.000000" */
const char *priority_format_micro(int64_t micro, char buf[static PRIORITY_TEXT_MAX]);
