/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tariff.c - the rate of a request under a tariff, and the sentence that explains it; see
 * tariff.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "common/cleanup.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/policy/charge/tariff.h"

const char *const tariff_unit_words[] = { "core-equivalents", "service-units", "core-hours",
					  NULL };
static const char *const unit_names[_TARIFF_UNIT_MAX][_CHARGE_POOL_MAX] = {
	[TARIFF_EQUIVALENTS] = { "core-equivalent", "gpu-equivalent" },
	[TARIFF_SERVICE_UNITS] = { "service-unit", "service-unit" },
	[TARIFF_CORE_HOURS] = { "core-hour", "core-hour" },
};
static const char *const amount_names[_TARIFF_UNIT_MAX][_CHARGE_POOL_MAX] = {
	[TARIFF_EQUIVALENTS] = { "core-equivalent hours", "GPU-equivalent hours" },
	[TARIFF_SERVICE_UNITS] = { "SU", "SU" },
	[TARIFF_CORE_HOURS] = { "core-h", "core-h" },
};
static const char *const charge_unit_names[_CHARGE_POOL_MAX] = { "core-equivalent-second",
								 "gpu-equivalent-second" };

_Static_assert(ARRAY_LEN(tariff_unit_words) == _TARIFF_UNIT_MAX + 1, "a word a unit");

const char *tariff_unit_name(enum tariff_unit u, enum charge_pool p)
{
	return u < _TARIFF_UNIT_MAX && p < _CHARGE_POOL_MAX ? unit_names[u][p] : "none";
}

const char *tariff_amount_name(enum tariff_unit u, enum charge_pool p)
{
	return u < _TARIFF_UNIT_MAX && p < _CHARGE_POOL_MAX ? amount_names[u][p] : "none";
}

const char *tariff_amount_of(const char *unit_name)
{
	for (int u = 0; u < _TARIFF_UNIT_MAX; u++)
		for (int p = 0; p < _CHARGE_POOL_MAX; p++)
			if (!strcmp(unit_name, unit_names[u][p]))
				return amount_names[u][p];
	return unit_name;
}

const char *tariff_charge_name(enum tariff_unit u, enum charge_pool p)
{
	return u == TARIFF_EQUIVALENTS && p < _CHARGE_POOL_MAX ? charge_unit_names[p]
							       : tariff_unit_name(u, p);
}

/* ---- what the job occupies ---- */

static int64_t count_nodes(const struct tariff *t, const struct tariff_request *ask)
{
	if (ask->nodes || t->cores_per_node < 1)
		return ask->nodes;
	return (ask->ncpus - 1) / t->cores_per_node + 1;
}

/* On an exclusive queue all cores of the nodes count, requested or not. */
static int count_cores(const struct tariff *t, const struct tariff_request *ask, int64_t *ret,
		       struct err *err)
{
	int64_t nodes = count_nodes(t, ask), cores;

	if (ask->ncpus < 1)
		return err_set(err, -EINVAL, "the request has no cores; add -l ncpus=N");
	*ret = ask->ncpus;
	if (t->exclusive && ask->node_cores > ask->ncpus)
		*ret = ask->node_cores;
	if (!t->exclusive || ask->node_cores)
		return 0;
	if (t->cores_per_node < 1)
		return err_set(err, -EINVAL,
			       "the queue holds whole nodes, but how many cores a node has is "
			       "not known; set CoresPerNode=");
	if (__builtin_mul_overflow(nodes, t->cores_per_node, &cores))
		return err_set(err, -ERANGE, "more nodes than can be counted");
	if (cores < ask->ncpus)
		return err_set(err, -EINVAL,
			       "%" PRId64 " cores are more than %" PRId64 " nodes of %" PRId64
			       " have",
			       ask->ncpus, nodes, t->cores_per_node);
	*ret = cores;
	return 0;
}

static int fill_amounts(const struct tariff *t, const struct tariff_request *ask,
			struct tariff_price *p, struct err *err)
{
	if (ask->ngpus < 0 || ask->memory_bytes < 0 || ask->nodes < 0)
		return err_set(err, -EINVAL, "an amount below zero is asked for");
	p->amounts.side[CHARGE_GPUS] = ask->ngpus;
	p->amounts.side[CHARGE_MEMORY] = ask->memory_bytes;
	return count_cores(t, ask, &p->amounts.side[CHARGE_CORES], err);
}

/* ---- what one unit is ---- */

static void choose_bundle(const struct tariff *t, struct tariff_price *p)
{
	p->kind = t->unit == TARIFF_EQUIVALENTS && p->amounts.side[CHARGE_GPUS] > 0
			  ? CHARGE_POOL_GPU
			  : CHARGE_POOL_CPU;
	p->pool = t->has_one_pool ? CHARGE_POOL_CPU : p->kind;
	p->has_weights = t->has_weights;
	if (t->has_weights) {
		p->bundle = t->weights;
	} else if (t->unit == TARIFF_EQUIVALENTS) {
		p->bundle = t->bundle[p->kind];
	} else {
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			p->bundle.side[s] = FRACTION_ZERO;
		p->bundle.side[CHARGE_CORES] = FRACTION_ONE;
	}
	p->bundle.is_sum = t->is_sum;
}

/* Folds the GPU weight into the bundle: w / g = 1 / (g / w). */
static int weigh_gpus(const struct tariff_price *p, struct charge_bundle *ret)
{
	*ret = p->bundle;
	return fraction_divide(p->bundle.side[CHARGE_GPUS], p->gpu_weight,
			       &ret->side[CHARGE_GPUS]);
}

/* Folds the factor into every side in the same way. A factor of 0 leaves a bundle without
 * sides: the job is free of charge. */
static int fold_factor(const struct charge_bundle *weighed, struct fraction factor,
		       struct charge_bundle *ret)
{
	int r = 0;

	ret->is_sum = weighed->is_sum;
	for (int s = 0; s < _CHARGE_SIDE_MAX && r == 0; s++) {
		ret->side[s] = FRACTION_ZERO;
		if (factor.num)
			r = fraction_divide(weighed->side[s], factor, &ret->side[s]);
	}
	return r;
}

static int find_rate(const struct charge_bundle *weighed, struct tariff_price *p)
{
	struct charge_rate largest;
	int r = charge_rate_of(weighed, &p->amounts, &largest);

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX && r == 0; s++)
		r = charge_ratio(weighed, &p->amounts, s, &p->ratio[s]);
	if (r == 0)
		r = fraction_multiply(largest.rate, p->factor, &p->rate);
	if (r == 0)
		p->decided_by = largest.decided_by;
	return r;
}

/* ---- in words ---- */

static const char *amount_text(enum charge_side s, struct fraction f, char *buf)
{
	if (s == CHARGE_MEMORY && f.den == 1)
		return amount_format_bytes_exact(f.num, buf);
	return fraction_format(f, buf);
}

static bool is_one(struct fraction f)
{
	return f.num == f.den;
}

static void say_factor(const struct tariff_price *p, char *buf, size_t size)
{
	char factor[FRACTION_TEXT_MAX], result[FRACTION_TEXT_MAX];
	size_t n = 0;

	if (!is_one(p->queue_factor))
		n += (size_t)snprintf(buf, size, "; x queue factor %.20s",
				      fraction_format(p->queue_factor, factor));
	if (!is_one(p->qos_factor) && n < size)
		n += (size_t)snprintf(buf + n, size - n, "%sx QOS factor %.20s", n ? " " : "; ",
				      fraction_format(p->qos_factor, factor));
	if (n && n < size)
		snprintf(buf + n, size - n, " = %.60s", fraction_format(p->rate, result));
}

/* "gpus 2 + cores 1 + memory 1.5 = 4.5" */
static void say_sum(struct tariff_price *p)
{
	char text[FRACTION_TEXT_MAX];
	struct fraction sum = FRACTION_ZERO;
	int n = snprintf(p->rule, sizeof(p->rule), "the sum of the shares of one %s:",
			 tariff_unit_name(p->unit, p->kind));
	const char *between = " ";

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++) {
		if (!p->bundle.side[s].num || fraction_add(sum, p->ratio[s], &sum) < 0)
			continue;
		n += snprintf(p->rule + n, sizeof(p->rule) - (size_t)n, "%s%s %.30s", between,
			      charge_side_name(s), fraction_format(p->ratio[s], text));
		between = " + ";
	}
	snprintf(p->rule + n, sizeof(p->rule) - (size_t)n, " = %.40s",
		 fraction_format(sum, text));
}

static void say_equivalents(struct tariff_price *p)
{
	char asked[FRACTION_TEXT_MAX], per[FRACTION_TEXT_MAX], ratio[FRACTION_TEXT_MAX],
		weight[FRACTION_TEXT_MAX];
	enum charge_side s = p->decided_by;
	bool weighed = s == CHARGE_GPUS && !is_one(p->gpu_weight);
	const struct fraction amount = { p->amounts.side[s], 1 };

	snprintf(p->rule, sizeof(p->rule),
		 "the largest share of one %s: %s, %.30s%s%.30s / %.30s = %.60s",
		 tariff_unit_name(p->unit, p->kind), charge_side_name(s),
		 amount_text(s, amount, asked), weighed ? " x weight " : "",
		 weighed ? fraction_format(p->gpu_weight, weight) : "",
		 amount_text(s, p->bundle.side[s], per), fraction_format(p->ratio[s], ratio));
}

static void say_amounts(struct tariff_price *p, const char *whose_cores)
{
	if (p->bundle.is_sum && (p->has_weights || p->unit == TARIFF_EQUIVALENTS))
		say_sum(p);
	else if (p->has_weights || p->unit == TARIFF_EQUIVALENTS)
		say_equivalents(p);
	else
		snprintf(p->rule, sizeof(p->rule), "%s, %" PRId64 ", an hour of running%s",
			 whose_cores, p->amounts.side[CHARGE_CORES],
			 p->unit == TARIFF_CORE_HOURS ? " by the wall clock" : "");
}

/* Before nodes are allocated it is not known how many cores they have. */
static void say_rule(const struct tariff *t, const struct tariff_request *ask,
		     struct tariff_price *p)
{
	size_t n;

	say_amounts(p, t->exclusive ? "all cores of the nodes held" : "cores requested");
	n = strlen(p->rule);
	say_factor(p, p->rule + n, sizeof(p->rule) - n);
	n = strlen(p->rule);
	if (t->exclusive && !ask->node_cores)
		snprintf(p->rule + n, sizeof(p->rule) - n,
			 "; counted as %" PRId64 " x CoresPerNode=%" PRId64
			 " until nodes are allocated",
			 count_nodes(t, ask), t->cores_per_node);
}

/* ---- the whole ---- */

/* decided_by and ratio[] come before the factors, so that the sentence shows the request
 * against the bundle that the site publishes. */
int tariff_price(const struct tariff *t, const struct tariff_request *ask,
		 struct tariff_price *ret, struct err *err)
{
	struct tariff_price p = { .unit = t->unit,
				  .gpu_weight = t->gpu_weight,
				  .queue_factor = t->factor,
				  .qos_factor =
					  t->qos_factor.den ? t->qos_factor : FRACTION_ONE };
	struct charge_bundle weighed;
	int r = fill_amounts(t, ask, &p, err);

	if (r < 0)
		return r;
	choose_bundle(t, &p);
	r = fraction_multiply(p.queue_factor, p.qos_factor, &p.factor);
	if (r == 0)
		r = weigh_gpus(&p, &weighed);
	if (r == 0)
		r = find_rate(&weighed, &p);
	if (r == 0)
		r = fold_factor(&weighed, p.factor, &p.terms);
	if (r == -EINVAL)
		return err_set(err, r, "there is no bundle of one %s here%s",
			       tariff_unit_name(p.unit, p.kind),
			       p.kind == CHARGE_POOL_GPU ? ", so no GPUs to ask for" : "");
	if (r < 0)
		return err_set(err, r, "the request is larger than can be charged");
	say_rule(t, ask, &p);
	*ret = p;
	return 0;
}

/* ---- by the nodes that were allocated ---- */

static int count_sides(const struct charge_bundle *b)
{
	int n = 0;

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++)
		n += b->side[s].num > 0;
	return n;
}

/* Of cores alone the bundle tells the factor: without it a unit has one core. */
static int say_nodes(struct tariff_price *p)
{
	char factor[FRACTION_TEXT_MAX], result[FRACTION_TEXT_MAX];
	size_t n;
	int r;

	p->has_weights = count_sides(&p->bundle) != 1 || !p->bundle.side[CHARGE_CORES].num;
	say_amounts(p, "all cores of the nodes allocated");
	if (p->has_weights || p->unit == TARIFF_EQUIVALENTS)
		return 0;
	r = fraction_divide(FRACTION_ONE, p->bundle.side[CHARGE_CORES], &p->factor);
	if (r < 0 || is_one(p->factor))
		return r;
	n = strlen(p->rule);
	snprintf(p->rule + n, sizeof(p->rule) - n, "; x factor %.20s = %.60s",
		 fraction_format(p->factor, factor), fraction_format(p->rate, result));
	return 0;
}

int tariff_price_nodes(const struct tariff_nodes *n, struct tariff_price *ret)
{
	struct tariff_price p = { .unit = n->unit,
				  .amounts = n->amounts,
				  .bundle = n->terms,
				  .decided_by = CHARGE_CORES,
				  .rate = FRACTION_ZERO,
				  .factor = FRACTION_ONE,
				  .gpu_weight = FRACTION_ONE,
				  .rule = "free of charge" };
	int r = 0;

	if (n->unit == TARIFF_EQUIVALENTS && n->amounts.side[CHARGE_GPUS] > 0)
		p.kind = CHARGE_POOL_GPU;
	if (count_sides(&n->terms))
		r = find_rate(&n->terms, &p);
	if (r == 0 && count_sides(&n->terms))
		r = say_nodes(&p);
	if (r < 0)
		return r;
	*ret = p;
	return 0;
}

int tariff_charge(const struct tariff_price *p, int64_t running_ns, struct fraction *ret)
{
	int64_t ms, per = p->unit == TARIFF_EQUIVALENTS ? 1000 : 1000 * HOUR_S;
	int r = charge_requested(p->rate, running_ns, &ms);

	return r < 0 ? r : fraction_make(ms, per, ret);
}
