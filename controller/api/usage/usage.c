/* SPDX-License-Identifier: GPL-2.0-or-later */
/* usage.c - GET /v1/nodes, /v1/usage (by account, user or cluster) and /v1/cluster. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/engine.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "controller/api/nodes/node_list.h"
#include "controller/api/usage/usage.h"
#include "controller/api/usage/usage_query.h"
#include "controller/api/authz.h"

static struct doc doc_amounts(const struct resources *r)
{
	struct doc d = doc_object();

	doc_int(&d, "ncpus", r->ncpus);
	doc_int(&d, "mem_bytes", r->mem_bytes);
	doc_int(&d, "jobfs_bytes", r->jobfs_bytes);
	doc_int(&d, "ngpus", r->ngpus);
	return d;
}

static json_t *encode_amounts(const struct resources *r)
{
	_cleanup_doc_ struct doc d = doc_amounts(r);

	return doc_take(&d);
}

/* {"a100-40": 4} */
static json_t *encode_models(const struct gpus *g)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (int32_t i = 0; i < g->n; i++)
		doc_int(&d, g->of[i].model, g->of[i].n);
	return doc_take(&d);
}

static json_t *encode_capacity(const struct resources *r, const struct gpus *models)
{
	_cleanup_doc_ struct doc d = doc_amounts(r);

	if (models->n)
		doc_set(&d, "gpu_models", encode_models(models));
	return doc_take(&d);
}

static json_t *encode_node(const struct store_node *n)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "node", n->node);
	doc_text(&d, "cluster", n->cluster);
	doc_text(&d, "state", n->lost ? "lost" : n->draining ? "drain" : "up");
	doc_text(&d, "boot", n->boot);
	doc_text(&d, "version", n->version);
	doc_text(&d, "address", n->address);
	doc_text(&d, "topology", n->topology);
	doc_int(&d, "tier", n->tier);
	doc_int(&d, "jobs", n->jobs);
	doc_int(&d, "first_ns", n->first_ns);
	doc_int(&d, "last_ns", n->last_ns);
	doc_set(&d, "capacity", encode_capacity(&n->capacity, &n->gpu_models));
	doc_set(&d, "free", encode_capacity(&n->free, &n->free_gpu_models));
	doc_set(&d, "held", encode_amounts(&n->in_use));
	doc_set(&d, "notes", wire_load(n->notes, 0, NULL));
	if (strcmp(n->gpus, "[]") != 0)
		doc_stored(&d, "gpus", n->gpus);
	doc_text_if(&d, "node_type", n->capacity.node_type);
	doc_text_if(&d, "features", n->capacity.features);
	return doc_take(&d);
}

static int add_node(void *ctx, const struct store_node *n, struct err *err)
{
	struct node_list *l = ctx;

	if (json_array_append_new(l->nodes, encode_node(n)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_nodes(struct call *c, struct err *err)
{
	struct node_list l = { 0 };
	int r = node_list_read(c, &l, err);

	if (r >= 0)
		r = call_open_list(c, "nodes", &l.nodes, err);
	if (r >= 0)
		r = node_list_pass(c, &l, add_node, err);
	return r < 0 ? r : node_list_finish(c, &l, err);
}

int route_usage(struct call *c, struct err *err)
{
	const struct quota_site site = { .store = c->api->c.store,
					 .config = c->api->c.config,
					 .accounts = c->api->accounts };
	struct usage_query q;
	int r = usage_query_read(c, &site, &q, err);

	if (r >= 0)
		r = projection_document(&site, &q.ask, &c->answer, err);
	if (r >= 0)
		r = usage_query_add_periods(&site, &q.ask, c->answer, err);
	/* Others are left out because of who asks, not because of what was asked. */
	if (r >= 0 && q.ask.period.user && !call_query_text(c, "user") &&
	    json_object_set_new(c->answer, "narrowed_to", json_string(c->user)) < 0)
		r = err_set(err, -ENOMEM, "out of memory");
	usage_query_done(&q);
	return r;
}

static json_t *encode_sides(const struct charge_bundle *b)
{
	_cleanup_doc_ struct doc d = doc_object();

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++) {
		char text[FRACTION_TEXT_MAX];

		if (b->side[s].num)
			doc_text(&d, charge_side_name(s), fraction_format(b->side[s], text));
	}
	return doc_take(&d);
}

static bool has_sides(const struct charge_bundle *b)
{
	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++)
		if (b->side[s].num)
			return true;
	return false;
}

static json_t *encode_bundles(const struct config_cluster *cl)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (enum charge_pool p = 0; p < _CHARGE_POOL_MAX; p++) {
		_cleanup_doc_ struct doc d = doc_object();

		if (!has_sides(&cl->bundle[p]))
			continue;
		doc_text(&d, "pool", charge_pool_name(p));
		doc_text(&d, "unit", tariff_unit_name((enum tariff_unit)cl->unit, p));
		doc_set(&d, "per_equivalent", encode_sides(&cl->bundle[p]));
		doc_add(&a, doc_take(&d));
	}
	return doc_take(&a);
}

/* Which side of a Slurm cluster declares its accounts; NULL: it is none of Slurm's. */
static const char *name_master(const struct config_cluster *cl)
{
	if (cl->engine != ENGINE_SLURM)
		return NULL;
	return cl->accounts == CONFIG_ACCOUNTS_REEVE ? "reeve" : "slurm";
}

int route_cluster(struct call *c, struct err *err)
{
	const struct config *config = c->api->c.config;
	json_t *array;
	char accounts[512];
	int r = call_open_list(c, "clusters", &array, err);

	for (size_t i = 0; i < config->n_clusters && r >= 0; i++) {
		const struct config_cluster *cl = config->clusters[i];

		if (json_array_append_new(
			    array,
			    json_pack("{s:s,s:s,s:o,s:o,s:o,s:I,s:s*}", "cluster", cl->name,
				      "queues", cl->queues, "bundles", encode_bundles(cl),
				      "defaults", wire_encode_resources(&cl->defaults), "max",
				      wire_encode_resources(&cl->max), "mem_from_vmem",
				      (json_int_t)cl->mem_from_vmem, "slurm_accounts",
				      name_master(cl))) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		return r;
	authz_list_accounts(c, accounts, sizeof(accounts));
	if (json_object_set_new(c->answer, "accounts", json_string(accounts)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}
