/* SPDX-License-Identifier: GPL-2.0-or-later */
/* priority.c - the factors of the multifactor priority and their sum in micro-points; see
 * priority.h. Factors are doubles in 0 ... 1; only products are stored, as integers. */
#include <errno.h>
#include <stdio.h>
#include "common/cleanup.h"
#include "controller/policy/priority/priority.h"

/* A product up to here is exact in a double, and all rows together fit int64. */
#define PRODUCT_MAX 9007199254740992.0

static const char *const factor_names[] = { "age",	 "fairshare", "size",
					    "partition", "qos",	      "association" };
_Static_assert(ARRAY_LEN(factor_names) == _PRIORITY_FACTOR_MAX, "a name a factor");

const char *priority_factor_name(enum priority_factor f)
{
	return f < _PRIORITY_FACTOR_MAX ? factor_names[f] : "none";
}

const char *priority_format_micro(int64_t micro, char buf[static PRIORITY_TEXT_MAX])
{
	uint64_t v = micro < 0 ? -(uint64_t)micro : (uint64_t)micro;

	snprintf(buf, PRIORITY_TEXT_MAX, "%s%llu.%06llu", micro < 0 ? "-" : "",
		 (unsigned long long)(v / (uint64_t)PRIORITY_UNIT),
		 (unsigned long long)(v % (uint64_t)PRIORITY_UNIT));
	return buf;
}

/* part / whole within 0 ... 1; 0 where there is no whole. */
static double clamped_ratio(double part, double whole)
{
	if (whole <= 0 || part <= 0)
		return 0;
	return part < whole ? part / whole : 1;
}

/* See enum priority_size. A limit below a minute counts as one, so that nothing is divided by
 * 0. */
static double size_factor(enum priority_size how, const struct priority_job *j)
{
	double minutes = j->limit_s > 60 ? (double)j->limit_s / 60 : 1;
	double large = (clamped_ratio((double)j->nodes, (double)j->all_nodes) +
			clamped_ratio((double)j->cores, (double)j->all_cores)) /
		       2;

	switch (how) {
	case PRIORITY_LARGE:
		return large;
	case PRIORITY_SMALL:
		return (clamped_ratio((double)(j->all_nodes - j->nodes), (double)j->all_nodes) +
			clamped_ratio((double)(j->all_cores - j->cores),
				      (double)j->all_cores)) /
		       2;
	default:
		return clamped_ratio((double)j->cores / minutes, (double)j->all_cores);
	}
}

static double factor_of(const struct priority_rule *rule, const struct priority_job *j,
			enum priority_factor f)
{
	switch (f) {
	case PRIORITY_AGE:
		return clamped_ratio((double)j->eligible_s, (double)rule->max_age_s);
	case PRIORITY_FAIRSHARE:
		return j->fairshare;
	case PRIORITY_SIZE:
		return size_factor(rule->size, j);
	default:
		return rule->highest[f]
			       ? clamped_ratio((double)j->own[f], (double)rule->highest[f])
			       : (double)j->own[f];
	}
}

static int check_inputs(const struct priority_rule *rule, const struct priority_job *j)
{
	if (!(j->fairshare >= 0 && j->fairshare <= 1) || rule->size >= _PRIORITY_SIZE_MAX ||
	    j->nodes < 0 || j->cores < 0 || j->all_nodes < 0 || j->all_cores < 0 ||
	    rule->max_age_s < 0 || j->n_tres > PRIORITY_TRES_MAX)
		return -EINVAL;
	for (enum priority_factor f = 0; f < _PRIORITY_FACTOR_MAX; f++)
		if (rule->weight[f] < 0 || rule->highest[f] < 0 || j->own[f] < 0)
			return -EINVAL;
	for (size_t i = 0; i < j->n_tres; i++)
		if (j->tres[i].weight < 0 || j->tres[i].requested < 0 ||
		    j->tres[i].partition_has < 0)
			return -EINVAL;
	if (j->site > PRIORITY_MAX || j->site < -PRIORITY_MAX || j->nice > PRIORITY_MAX ||
	    j->nice < -PRIORITY_MAX)
		return -ERANGE;
	return 0;
}

/* Adds a row: weight x factor to the nearest micro-point. */
static int add_row(struct priority *p, const char *name, double factor, int64_t weight)
{
	double micro = (double)weight * factor * (double)PRIORITY_UNIT;

	if (weight > PRIORITY_MAX || micro > PRODUCT_MAX || micro < -PRODUCT_MAX)
		return -ERANGE;
	p->rows[p->n_rows] =
		(struct priority_row){ name, factor, weight,
				       (int64_t)(micro + (micro < 0 ? -0.5 : 0.5)) };
	p->sum_micro += p->rows[p->n_rows++].product_micro;
	return 0;
}

static void set_value(struct priority *p)
{
	int64_t points = p->sum_micro / PRIORITY_UNIT;

	p->clamped = points < 1 || points > PRIORITY_MAX;
	if (p->held)
		return;
	p->value = points > PRIORITY_MAX ? PRIORITY_MAX : points < 1 ? 1 : points;
}

int priority_explain(const struct priority_rule *rule, const struct priority_job *job,
		     struct priority *ret)
{
	struct priority p = { .held = job->held };
	int r = check_inputs(rule, job);

	for (enum priority_factor f = 0; f < _PRIORITY_FACTOR_MAX && r == 0; f++)
		r = add_row(&p, factor_names[f], factor_of(rule, job, f), rule->weight[f]);
	for (size_t i = 0; i < job->n_tres && r == 0; i++)
		r = add_row(&p, job->tres[i].name,
			    clamped_ratio((double)job->tres[i].requested,
					  (double)job->tres[i].partition_has),
			    job->tres[i].weight);
	if (r == 0)
		r = add_row(&p, "site", (double)job->site, 1);
	if (r == 0)
		r = add_row(&p, "nice", (double)job->nice, -1);
	if (r < 0)
		return r;
	set_value(&p);
	*ret = p;
	return 0;
}
