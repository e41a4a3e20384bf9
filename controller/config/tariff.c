/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tariff.c - finds the tariff of a request by cluster, node type, GPU model, queue and QOS; see
 * config.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "controller/config/config_impl.h"

/* NULL for "" as for NULL: both mean not stated. */
static const char *non_empty(const char *text)
{
	return text && *text ? text : NULL;
}

static bool is_of(const struct config_node_type *t, const struct config_cluster *cl)
{
	size_t n = strlen(cl->name);

	return !strncmp(t->name, cl->name, n) && t->name[n] == '/';
}

/* Appends a name to the list of a message: "a, b". */
static void add_name(char *list, size_t size, const char *name)
{
	size_t n = strlen(list);

	snprintf(list + n, size - n, "%s%s", n ? ", " : "", name);
}

static int choose_cluster(const struct config *c, const struct config_pick *pick,
			  const struct config_cluster **ret, struct err *err)
{
	char list[256] = "";

	*ret = config_cluster(c, pick->cluster ? pick->cluster : "");
	if (*ret)
		return 0;
	for (size_t i = 0; i < c->n_clusters; i++)
		add_name(list, sizeof(list), c->clusters[i]->name);
	return err_set(err, -EINVAL, "no cluster '%.64s'; there are: %s", pick->cluster, list);
}

/* ---- the node type ---- */

static bool has_gpu_bundle(const struct charge_bundle *b)
{
	return b->side[CHARGE_GPUS].num > 0;
}

static bool could_be_type(const struct config_node_type *t, const struct config_pick *pick)
{
	if (non_empty(pick->gpu_model))
		return !strcasecmp(t->gpu_model, pick->gpu_model);
	return has_gpu_bundle(&t->bundle[CHARGE_POOL_GPU]);
}

/* Finds the only node type that fits; *ret NULL when the cluster's own bundle prices all. */
static int guess_node_type(const struct config *c, const struct config_cluster *cl,
			   const struct config_pick *pick, const struct config_node_type **ret,
			   struct err *err)
{
	char list[256] = "";
	size_t n = 0;

	*ret = NULL;
	if (!pick->wants_gpus)
		return 0;
	if (!non_empty(pick->gpu_model) && has_gpu_bundle(&cl->bundle[CHARGE_POOL_GPU]))
		return 0;
	for (size_t i = 0; i < c->n_node_types; i++) {
		const struct config_node_type *t = c->node_types[i];

		if (!is_of(t, cl) || !could_be_type(t, pick))
			continue;
		n++;
		*ret = t;
		add_name(list, sizeof(list), strchr(t->name, '/') + 1);
	}
	if (n <= 1)
		return 0;
	return err_set(err, -EINVAL,
		       "the GPU bundle of cluster '%s' depends on the node type; say which: %s "
		       "(-l nodetype=...)",
		       cl->name, list);
}

static int choose_node_type(const struct config *c, const struct config_cluster *cl,
			    const struct config_pick *pick, const struct config_node_type **ret,
			    struct err *err)
{
	char name[2 * REQUEST_NAME_MAX], list[256] = "";

	if (!non_empty(pick->node_type))
		return guess_node_type(c, cl, pick, ret, err);
	if (strchr(pick->node_type, '/'))
		snprintf(name, sizeof(name), "%s", pick->node_type);
	else
		snprintf(name, sizeof(name), "%s/%s", cl->name, pick->node_type);
	*ret = config_node_type(c, name);
	if (*ret && is_of(*ret, cl))
		return 0;
	for (size_t i = 0; i < c->n_node_types; i++)
		if (is_of(c->node_types[i], cl))
			add_name(list, sizeof(list), strchr(c->node_types[i]->name, '/') + 1);
	return err_set(err, -EINVAL, "cluster '%s' has no node type '%.64s'; it has: %s",
		       cl->name, pick->node_type, *list ? list : "none");
}

static void apply_node_type(struct tariff *to, const struct config_node_type *t)
{
	for (int p = 0; p < _CHARGE_POOL_MAX; p++)
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			if (t->bundle[p].side[s].num)
				to->bundle[p].side[s] = t->bundle[p].side[s];
	if (t->cores_per_node)
		to->cores_per_node = t->cores_per_node;
}

/* ---- GPU model and queue ---- */

/* A node type may have parts of its GPUs, so a stated model goes before the type's own. */
static int choose_weight(const struct config *c, const char *model, struct tariff *to,
			 struct err *err)
{
	const struct config_gpu_model *m = non_empty(model) ? config_gpu_model(c, model) : NULL;
	char list[256] = "";

	if (m)
		to->gpu_weight = m->weight;
	if (m || !non_empty(model))
		return 0;
	for (size_t i = 0; i < c->n_gpu_models; i++)
		add_name(list, sizeof(list), c->gpu_models[i]->name);
	return err_set(err, -EINVAL, "no GPU model '%.64s'; there are: %s", model,
		       *list ? list : "none");
}

static int choose_queue(const struct config *c, const struct config_cluster *cl,
			const char *typed, struct tariff *to, struct err *err)
{
	char name[REQUEST_NAME_MAX];
	const struct config_queue *q;
	const struct config_weights *w;

	config_default_queue(cl, name);
	if (non_empty(typed) && !config_has_queue(cl, typed))
		return err_set(err, -EINVAL, "cluster '%s' has no queue '%.64s'; it has: %s",
			       cl->name, typed, cl->queues);
	q = config_queue(c, non_empty(typed) ? typed : name);
	w = config_weights(c, cl, q);
	to->has_weights = w != NULL;
	if (w)
		to->weights = w->per[config_memory_unit(c, cl)];
	if (!q)
		return 0;
	to->factor = q->factor;
	to->exclusive = q->exclusive;
	return 0;
}

static int choose_qos(const struct config *c, const char *typed, struct tariff *to,
		      struct err *err)
{
	const struct config_qos *q = NULL;
	int r = non_empty(typed) ? config_find_qos(c, typed, &q, err) : 0;

	if (r == 0 && q)
		to->qos_factor = q->factor;
	return r;
}

int config_tariff(const struct config *c, const struct config_pick *pick, struct tariff *ret,
		  struct err *err)
{
	struct tariff t = { .gpu_weight = { 1, 1 },
			    .factor = { 1, 1 },
			    .qos_factor = { 1, 1 },
			    .has_one_pool = c->policy.pools == CONFIG_POOLS_ONE,
			    .is_sum = c->policy.usage_rule == CONFIG_USAGE_SUM };
	const struct config_cluster *cl;
	const struct config_node_type *type = NULL;
	int r = choose_cluster(c, pick, &cl, err);

	if (r < 0)
		return r;
	t.unit = (enum tariff_unit)cl->unit;
	t.cores_per_node = cl->cores_per_node;
	memcpy(t.bundle, cl->bundle, sizeof(t.bundle));
	r = choose_queue(c, cl, pick->queue, &t, err);
	if (r == 0)
		r = choose_qos(c, pick->qos, &t, err);
	/* Weights hold for all nodes: no node type has to be stated. */
	if (r == 0 && (!t.has_weights || non_empty(pick->node_type)))
		r = choose_node_type(c, cl, pick, &type, err);
	if (r < 0)
		return r;
	if (type)
		apply_node_type(&t, type);
	if (type && !non_empty(pick->gpu_model))
		r = choose_weight(c, type->gpu_model, &t, err);
	else
		r = choose_weight(c, pick->gpu_model, &t, err);
	if (r == 0)
		*ret = t;
	return r;
}
