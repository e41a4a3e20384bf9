/* SPDX-License-Identifier: GPL-2.0-or-later */
/* price.c - fills in defaults, chooses GPU model and node type, and prices a request; see
 * price.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/model/gpus.h"
#include "common/time_units.h"
#include "common/wire/doc.h"
#include "controller/policy/placement/fit.h"
#include "controller/pricing/price.h"

/* MemFromVmem percent of vmem; 0: not stated, and the node's own rule applies. */
static int64_t mem_of(const struct config_cluster *cl, int64_t vmem_bytes)
{
	return (int64_t)((__int128)vmem_bytes * cl->mem_from_vmem / 100);
}

void price_fill(const struct config_cluster *cl, struct resources *res)
{
	const char *defaults = (const char *)&cl->defaults;
	bool has_gpus = res->ngpus > 0;

	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t *n = (int64_t *)(void *)((char *)res + d->offset);

		if (*n == 0)
			*n = *(const int64_t *)(const void *)(defaults + d->offset);
	}
	if (!*res->node_type)
		memcpy(res->node_type, cl->defaults.node_type, sizeof(res->node_type));
	if (!*res->features)
		memcpy(res->features, cl->defaults.features, sizeof(res->features));
	if (!has_gpus)
		memcpy(res->gpu_model, cl->defaults.gpu_model, sizeof(res->gpu_model));
	if (res->mem_bytes == 0)
		res->mem_bytes = mem_of(cl, res->vmem_bytes);
}

int price_fill_chunks(const struct config_cluster *cl, struct request *q, struct err *err)
{
	struct select *s = &q->select;
	bool has_gpus = false;

	for (int32_t k = 0; k < s->n; k++)
		has_gpus |= s->of[k].ngpus > 0;
	if (s->n && !has_gpus && cl->defaults.ngpus)
		memcpy(q->res.gpu_model, cl->defaults.gpu_model, sizeof(q->res.gpu_model));
	select_fill(s, &cl->defaults);
	for (int32_t k = 0; k < s->n; k++)
		if (s->of[k].mem_bytes == 0)
			s->of[k].mem_bytes = mem_of(cl, s->of[k].vmem_bytes);
	return request_total(q, err);
}

/* ---- GPUs ---- */

/* Is `part` (a MIG slice, "a100_1g.5gb") a part of GPUs of model `whole` ("a100-40")? */
static bool is_part_of(const char *part, const char *whole)
{
	size_t n = strcspn(part, "_");

	return !strncasecmp(part, whole, n) && (whole[n] == '-' || whole[n] == '\0');
}

/* Node types are named "CLUSTER/TYPE". */
static bool is_of_cluster(const struct config_node_type *t, const char *cluster)
{
	size_t n = strlen(cluster);

	return !strncmp(t->name, cluster, n) && t->name[n] == '/';
}

/* May nodes of the cluster have GPUs of the model? A model that no node type of any cluster has
 * may be anywhere.
 */
static bool is_model_here(const struct config *c, const struct config_cluster *cl,
			  const char *model)
{
	bool is_elsewhere = false;

	for (size_t i = 0; i < c->n_node_types; i++) {
		const struct config_node_type *t = c->node_types[i];
		bool has = !strcasecmp(t->gpu_model, model) ||
			   (gpus_is_part(model) && is_part_of(model, t->gpu_model));

		if (has && is_of_cluster(t, cl->name))
			return true;
		is_elsewhere |= has;
	}
	return !is_elsewhere;
}

static const char *typed_model(const struct price_query *q)
{
	return q->pick.gpu_model && *q->pick.gpu_model ? q->pick.gpu_model : q->res.gpu_model;
}

/* The model that the cluster's Slurm calls so. 1: no GPUs have this name there. */
static int find_gres(const struct config *c, const struct config_cluster *cl, const char *typed,
		     char ret[static REQUEST_NAME_MAX], struct err *err)
{
	struct config_gres found;

	if (!config_gres(c, cl, typed, &found))
		return 1;
	if (found.has_models)
		return err_set(err, -EINVAL,
			       "GPU name '%.63s' stands for several models of cluster '%s': "
			       "write one: %s",
			       typed, cl->name, found.models);
	snprintf(ret, REQUEST_NAME_MAX, "%s", found.type->gpu_model);
	return 0;
}

/* The full name of the requested model; "": any, or the price does not depend on it.
 */
static int find_model(const struct config *c, const struct price_query *q,
		      char ret[static REQUEST_NAME_MAX], struct err *err)
{
	const char *typed = typed_model(q);
	const struct config_cluster *cl =
		config_cluster(c, q->pick.cluster ? q->pick.cluster : "");
	char where[REQUEST_NAME_MAX + 32];
	struct gpus_match m;
	int r;

	*ret = '\0';
	if (!*typed || c->n_gpu_models == 0)
		return 0;
	if (!cl ||
	    (cl->unit != TARIFF_EQUIVALENTS &&
	     !config_weights(c, cl, config_queue(c, q->pick.queue ? q->pick.queue : ""))))
		return 0;
	r = find_gres(c, cl, typed, ret, err);
	if (r <= 0)
		return r;
	gpus_match_begin(&m, typed);
	for (size_t i = 0; i < c->n_gpu_models; i++)
		if (is_model_here(c, cl, c->gpu_models[i]->name))
			gpus_match_try(&m, c->gpu_models[i]->name);
	snprintf(where, sizeof(where), "%s has weights for",
		 c->n_clusters > 1 ? cl->name : "this site");
	r = gpus_match_end(&m, where, ret, err);
	return r < 0 ? r : 0;
}

/* The type of node whose GPUs the part is cut from, where there is just one and no type has the
 * part itself as its model; else NULL. */
static const char *type_of_part(const struct config *c, const char *cluster, const char *model)
{
	const char *found = NULL;
	int n = 0;

	for (size_t i = 0; i < c->n_node_types; i++) {
		const struct config_node_type *t = c->node_types[i];

		if (!is_of_cluster(t, cluster))
			continue;
		if (!strcasecmp(t->gpu_model, model))
			return NULL;
		if (is_part_of(model, t->gpu_model)) {
			found = t->name;
			n++;
		}
	}
	return n == 1 ? found : NULL;
}

static void choose_type_of_part(const struct config *c, struct config_pick *pick)
{
	const struct config_cluster *cl = config_cluster(c, pick->cluster ? pick->cluster : "");
	bool is_stated = pick->node_type && *pick->node_type;

	if (cl && !is_stated && gpus_is_part(pick->gpu_model))
		pick->node_type = type_of_part(c, cl->name, pick->gpu_model);
}

/* If two types of nodes have the model, Slurm's name for its GPUs may belong to one type only. */
static void choose_type_of_gres(const struct config *c, const struct price_query *q,
				struct config_pick *pick)
{
	const struct config_cluster *cl = config_cluster(c, pick->cluster ? pick->cluster : "");
	struct config_gres found;

	if (!cl || !pick->wants_gpus || (pick->node_type && *pick->node_type))
		return;
	if (config_gres(c, cl, typed_model(q), &found) && !found.has_types)
		pick->node_type = found.type->name;
}

/* The requested type decides the price where the cluster has node types: it must then
 * be one of them (config_tariff() checks). Otherwise it only selects nodes. */
static void choose_type(const struct config *c, const struct price_query *q,
			struct config_pick *pick)
{
	const struct config_cluster *cl = config_cluster(c, pick->cluster ? pick->cluster : "");

	if (!cl || !*q->res.node_type || (pick->node_type && *pick->node_type))
		return;
	for (size_t i = 0; i < c->n_node_types; i++)
		if (is_of_cluster(c->node_types[i], cl->name))
			pick->node_type = q->res.node_type;
}

/* Refuses a GPU model that nodes of the stated type do not have. */
static int check_type(const struct config *c, const struct config_pick *pick, struct err *err)
{
	const struct config_cluster *cl = config_cluster(c, pick->cluster ? pick->cluster : "");
	const struct config_node_type *t = NULL;
	char name[2 * REQUEST_NAME_MAX];

	if (!cl || !*pick->gpu_model || !pick->node_type || !*pick->node_type)
		return 0;
	if (strchr(pick->node_type, '/'))
		snprintf(name, sizeof(name), "%s", pick->node_type);
	else
		snprintf(name, sizeof(name), "%s/%s", cl->name, pick->node_type);
	t = config_node_type(c, name);
	if (!t || !*t->gpu_model || !strcasecmp(t->gpu_model, pick->gpu_model) ||
	    (gpus_is_part(pick->gpu_model) && is_part_of(pick->gpu_model, t->gpu_model)))
		return 0;
	return err_set(
		err, -EINVAL,
		"nodes of type '%s' have GPUs of model %s, not %s; state one of them, or "
		"a type that has such GPUs",
		strchr(t->name, '/') + 1, t->gpu_model, pick->gpu_model);
}

static bool is_same(struct fraction a, struct fraction b)
{
	return a.num == b.num && a.den == b.den;
}

/* The weight of a GPU of any model. -EINVAL: the models have different weights. */
static int weigh_any(const struct config *c, struct fraction *ret, struct err *err)
{
	const struct config_gpu_model *first = NULL;
	char list[256] = "";
	bool differ = false;

	for (size_t i = 0; i < c->n_gpu_models; i++) {
		const struct config_gpu_model *m = c->gpu_models[i];
		size_t n = strlen(list);

		if (gpus_is_part(m->name))
			continue;
		snprintf(list + n, sizeof(list) - n, "%s%s", n ? ", " : "", m->name);
		differ |= first && !is_same(m->weight, first->weight);
		first = first ? first : m;
	}
	if (differ)
		return err_set(err, -EINVAL,
			       "what a GPU costs here depends on its model; say which, e.g. "
			       "ngpus=%s:1; there are: %s",
			       first->name, list);
	if (first)
		*ret = first->weight;
	return 0;
}

/* Does the request leave model and node type open, and one GPU bundle or weight price it? */
static bool is_any(const struct config *c, const struct config_pick *pick,
		   const struct tariff *t)
{
	const struct config_cluster *cl = config_cluster(c, pick->cluster ? pick->cluster : "");
	const struct charge_bundle *b =
		t->has_weights ? &t->weights : &cl->bundle[CHARGE_POOL_GPU];

	return pick->wants_gpus && !*pick->gpu_model &&
	       !(pick->node_type && *pick->node_type) &&
	       (t->has_weights || t->unit == TARIFF_EQUIVALENTS) &&
	       b->side[CHARGE_GPUS].num > 0;
}

/* place=excl: priced as on an exclusive queue. */
static int use_whole_node(const struct price_query *q, struct tariff *t, struct err *err)
{
	if (!t->exclusive && t->cores_per_node < 1 && !q->node_cores)
		return err_set(err, -EINVAL,
			       "place=excl: whole nodes are paid for, and how many cores a "
			       "node has is not known here; ask the operators to set "
			       "CoresPerNode=, or leave place=excl out");
	t->exclusive = true;
	return 0;
}

/* The nodes to price: those of the chunks, where they are more than the cores fill. */
static int64_t nodes_of(const struct price_query *q, const struct tariff *t)
{
	if (q->nodes || t->cores_per_node < 1 ||
	    q->spread <= (q->res.ncpus - 1) / t->cores_per_node + 1)
		return q->nodes;
	return q->spread;
}

int price_find(const struct config *c, const struct price_query *q, struct tariff_price *ret,
	       struct err *err)
{
	struct tariff_request ask = { .ngpus = q->res.ngpus,
				      .ncpus = q->res.ncpus,
				      .memory_bytes = fit_memory(&q->res),
				      .node_cores = q->node_cores };
	struct config_pick pick = q->pick;
	char model[REQUEST_NAME_MAX];
	struct tariff t;
	int r = find_model(c, q, model, err);

	pick.wants_gpus = q->res.ngpus > 0;
	pick.gpu_model = model;
	choose_type(c, q, &pick);
	choose_type_of_part(c, &pick);
	choose_type_of_gres(c, q, &pick);
	if (r >= 0)
		r = check_type(c, &pick, err);
	if (r >= 0)
		r = config_tariff(c, &pick, &t, err);
	if (r >= 0 && q->is_exclusive)
		r = use_whole_node(q, &t, err);
	if (r >= 0 && is_any(c, &pick, &t))
		r = weigh_any(c, &t.gpu_weight, err);
	if (r >= 0) {
		ask.nodes = nodes_of(q, &t);
		r = tariff_price(&t, &ask, ret, err);
	}
	return r == -ERANGE ? -EINVAL : r;
}

/* ---- the document ---- */

static json_t *encode_side(const struct tariff_price *p, enum charge_side s)
{
	char per[FRACTION_TEXT_MAX], ratio[FRACTION_TEXT_MAX];

	return json_pack("{s:s,s:I,s:s,s:s,s:b}", "side", charge_side_name(s), "requested",
			 (json_int_t)p->amounts.side[s], "per_equivalent",
			 fraction_format(p->bundle.side[s], per), "ratio",
			 fraction_format(p->ratio[s], ratio), "decides", s == p->decided_by);
}

static json_t *encode_sides(const struct tariff_price *p)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++)
		if (p->bundle.side[s].num)
			doc_add(&a, encode_side(p, s));
	return doc_take(&a);
}

static void set_fraction(struct doc *d, const char *key, struct fraction f)
{
	char text[FRACTION_TEXT_MAX];

	doc_text(d, key, fraction_format_decimal(f, text));
}

/* Sets KEY in the unit of the tariff and, for equivalents, KEY_ms as the ledger keeps it.
 * -ERANGE: more than can be charged. */
static int set_charge(struct doc *d, const char *key, const struct tariff_price *p,
		      int64_t running_s)
{
	struct fraction charge;
	char ms_key[32];
	int64_t ms;

	if (running_s > INT64_MAX / S_NS || tariff_charge(p, running_s * S_NS, &charge) < 0 ||
	    charge_requested(p->rate, running_s * S_NS, &ms) < 0)
		return -ERANGE;
	snprintf(ms_key, sizeof(ms_key), "%s_ms", key);
	if (p->unit == TARIFF_EQUIVALENTS)
		doc_int(d, ms_key, ms);
	set_fraction(d, key, charge);
	return 0;
}

static void set_price(struct doc *d, const struct tariff_price *p)
{
	doc_int(d, "rate_num", p->rate.num);
	doc_int(d, "rate_den", p->rate.den);
	doc_text(d, "unit", tariff_unit_name(p->unit, p->kind));
	doc_text(d, "pool", charge_pool_name(p->pool));
	doc_text(d, "charge_unit", tariff_charge_name(p->unit, p->kind));
	doc_text(d, "decided_by", charge_side_name(p->decided_by));
	doc_text(d, "rule", p->rule);
	doc_set(d, "sides", encode_sides(p));
	set_fraction(d, "factor", p->factor);
	if (p->amounts.side[CHARGE_GPUS] > 0)
		set_fraction(d, "gpu_weight", p->gpu_weight);
}

int price_encode(const struct config *c, const struct price_query *q,
		 const struct tariff_price *p, json_t **ret, struct err *err)
{
	const char *cluster = q->pick.cluster ? q->pick.cluster : "";
	_cleanup_doc_ struct doc doc = doc_message();
	struct doc *d = &doc;
	char model[REQUEST_NAME_MAX];

	if (find_model(c, q, model, err) < 0)
		return -EINVAL;
	set_fraction(d, "rate", p->rate);
	set_price(d, p);
	if (set_charge(d, "charge_per_hour", p, HOUR_S) < 0 ||
	    (q->res.walltime_s && set_charge(d, "charge", p, q->res.walltime_s) < 0))
		return err_set(err, -EINVAL, "the request is larger than can be charged");
	doc_text_if(d, "cluster", config_cluster(c, cluster)->name);
	doc_text_if(d, "memory_unit",
		    amount_units_words[config_memory_unit(c, config_cluster(c, cluster))]);
	doc_text_if(d, "queue", q->pick.queue);
	doc_text_if(d, "qos", q->pick.qos);
	doc_text_if(d, "node_type", q->pick.node_type ? q->pick.node_type : q->res.node_type);
	doc_text_if(d, "gpu_model", *model ? model : q->res.gpu_model);
	if (q->spread)
		doc_int(d, "nodes", q->spread);
	doc_int(d, "walltime_s", q->res.walltime_s);
	doc_set(d, "resources", wire_encode_resources(&q->res));
	return doc_finish(d, ret, err);
}
