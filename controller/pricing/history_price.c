/* SPDX-License-Identifier: GPL-2.0-or-later */
/* history_price.c - prices a job of a history by the models of its GPUs; see history_price.h. */
#include <errno.h>
#include <string.h>
#include "common/err.h"
#include "controller/pricing/history_price.h"
#include "controller/pricing/price.h"

/* `list`: names with commas and spaces between them, as Queues= has them. */
static bool is_in_list(const char *list, const char *name)
{
	size_t n = strlen(name), size;

	for (; n && list && *list; list += size + (list[size] == ',')) {
		list += strspn(list, " ");
		size = strcspn(list, ",");
		if (size >= n && !strncmp(list, name, n) && strspn(list + n, " ") == size - n)
			return true;
	}
	return false;
}

static bool has_same_price(const struct config *c, const struct config_cluster *cl,
			   const struct config_queue *a, const struct config_queue *b)
{
	const struct fraction factor_a = a ? a->factor : FRACTION_ONE,
			      factor_b = b ? b->factor : FRACTION_ONE;

	return factor_a.num == factor_b.num && factor_a.den == factor_b.den &&
	       (a && a->exclusive) == (b && b->exclusive) &&
	       config_weights(c, cl, a) == config_weights(c, cl, b);
}

/* Would a job of the cluster have another price in another queue of it? */
static bool depends_on_queue(const struct config *c, const struct config_cluster *cl)
{
	const struct config_queue *one = NULL;
	size_t n = 0, n_stated = 0;

	for (const char *p = cl->queues; p && *p; p++)
		n += *p == ',' || n == 0;
	for (size_t i = 0; i < c->n_queues; i++) {
		if (!config_has_queue(cl, c->queues[i]->name))
			continue;
		if (one && !has_same_price(c, cl, one, c->queues[i]))
			return true;
		one = c->queues[i];
		n_stated++;
	}
	/* A queue without a section of its own has the price of the cluster. */
	return one && n_stated < n && !has_same_price(c, cl, one, NULL);
}

static void price_by_cores(const struct history_job *j, struct history_price *ret)
{
	*ret = (struct history_price){ .pool = CHARGE_POOL_CPU };
	ret->terms.ncpus = j->ncpus;
	ret->terms.ngpus = j->ngpus;
	ret->terms.rate = (struct fraction){ j->ncpus, 1 };
	ret->terms.bundle.side[CHARGE_CORES] = (struct fraction){ 1, 1 };
}

/* More cores than the profile's nodes have: the nodes are larger, and all that is recorded counts. 0: they are not. */
static int64_t count_node_cores(const struct config_cluster *cl, const struct history_job *j)
{
	bool is_larger = cl && cl->cores_per_node && !*j->node_type && j->nodes &&
			 (j->ncpus - 1) / j->nodes >= cl->cores_per_node;

	return is_larger ? j->ncpus : 0;
}

/* Prices the job as if all its GPUs were of this model; gpus NULL: of any. */
static int price_as(const struct config *config, const struct history_job *j,
		    const struct gpus_of *gpus, struct tariff_price *ret, struct err *err)
{
	struct price_query q = { .pick = { .cluster = j->cluster, .node_type = j->node_type },
				 .nodes = j->nodes,
				 .res = { .ncpus = j->ncpus,
					  .ngpus = j->ngpus,
					  .mem_bytes = j->mem_bytes < 0 ? 0 : j->mem_bytes } };
	const struct config_cluster *cl = config_cluster(config, j->cluster);

	if (cl && is_in_list(cl->queues, j->queue))
		q.pick.queue = j->queue;
	if (config_qos(config, config_qos_or_default(config, j->qos)))
		q.pick.qos = config_qos_or_default(config, j->qos);
	if (gpus)
		snprintf(q.res.gpu_model, sizeof(q.res.gpu_model), "%s", gpus->model);
	q.node_cores = count_node_cores(cl, j);
	if (gpus && gpus->n != j->ngpus)
		q.nodes = 0; /* the record does not say which nodes have which model */
	return price_find(config, &q, ret, err);
}

/* ---- several models ---- */

/* Adds `part` of the weight that an amount of each side has: 1 / the bundle's side. */
static int add_weights(struct charge_bundle *sum, const struct charge_bundle *of,
		       struct fraction part)
{
	struct fraction weight;
	int r = 0;

	for (int s = 0; s < _CHARGE_SIDE_MAX && r == 0; s++) {
		if (of->side[s].num == 0)
			continue;
		r = fraction_divide(part, of->side[s], &weight);
		if (r == 0)
			r = fraction_add(sum->side[s], weight, &sum->side[s]);
	}
	return r;
}

/* The bundle that gives an amount these weights, and the rate by it. Without weights the job is free of charge. */
static int find_rate(const struct charge_bundle *weights, const struct charge_amounts *amounts,
		     struct history_price *ret)
{
	struct charge_bundle b = { .is_sum = weights->is_sum };
	struct charge_rate rate = { .rate = FRACTION_ZERO };
	bool is_free = true;
	int r = 0;

	for (int s = 0; s < _CHARGE_SIDE_MAX && r == 0; s++) {
		b.side[s] = FRACTION_ZERO;
		if (weights->side[s].num == 0)
			continue;
		is_free = false;
		r = fraction_divide(FRACTION_ONE, weights->side[s], &b.side[s]);
	}
	if (r == 0 && !is_free)
		r = charge_rate_of(&b, amounts, &rate);
	ret->terms.bundle = b;
	ret->terms.rate = rate.rate;
	return r;
}

/* A core and a byte of memory have the mean of their weights with each model, in proportion to the GPUs. */
static int price_models(const struct config *config, const struct history_job *j,
			struct history_price *ret, struct err *err)
{
	struct charge_bundle weights = { .side = { FRACTION_ZERO, FRACTION_ZERO,
						   FRACTION_ZERO } };
	struct tariff_price p;
	struct fraction part;
	int r = 0;

	for (int32_t i = 0; i < j->gpus.n && r == 0; i++) {
		ret->gpus = i;
		r = price_as(config, j, &j->gpus.of[i], &p, err);
		if (r < 0)
			return r;
		weights.is_sum = p.terms.is_sum;
		r = fraction_make(j->gpus.of[i].n, j->ngpus, &part);
		if (r == 0)
			r = add_weights(&weights, &p.terms, part);
	}
	if (r == 0)
		r = find_rate(&weights, &p.amounts, ret);
	ret->pool = p.pool;
	return r < 0 ? err_set(err, -ERANGE, "its rate is beyond what can be charged") : 0;
}

static int price_one_model(const struct config *config, const struct history_job *j,
			   struct history_price *ret, struct err *err)
{
	struct tariff_price p;
	int r = price_as(config, j, j->gpus.n ? &j->gpus.of[0] : NULL, &p, err);

	if (r < 0)
		return r;
	ret->pool = p.pool;
	ret->terms.bundle = p.terms;
	ret->terms.rate = p.rate;
	return 0;
}

int history_price(const struct config *config, const struct history_job *j,
		  struct history_price *ret, struct err *err)
{
	const struct config_cluster *cl = config ? config_cluster(config, j->cluster) : NULL;
	int r;

	price_by_cores(j, ret);
	if (!config)
		return 0;
	if (!cl)
		return err_set(err, -EINVAL, "the profile has no cluster '%s'", j->cluster);
	ret->has_queue = is_in_list(cl->queues, j->queue);
	ret->is_by_queue = depends_on_queue(config, cl);
	ret->has_qos = config_qos(config, j->qos) != NULL;
	if (j->gpus.n > 1)
		r = price_models(config, j, ret, err);
	else
		r = price_one_model(config, j, ret, err);
	return r;
}
