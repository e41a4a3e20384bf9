/* sums.c - nodes, usage by account, user or cluster, and what the clusters are. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "controller/api/who.h"
#include "controller/quota/outlook.h"
#include "controller/quota/usage_names.h"
#include "controller/ledger/calendar.h"

static json_t *encode_amounts(const struct resources *r)
{
	return json_pack("{s:I,s:I,s:I,s:I}", "ncpus", (json_int_t)r->ncpus, "mem_bytes",
			 (json_int_t)r->mem_bytes, "jobfs_bytes", (json_int_t)r->jobfs_bytes,
			 "ngpus", (json_int_t)r->ngpus);
}

/* {"a100-40": 4}; NULL where models are not told. */
static json_t *encode_models(const struct gpus *g)
{
	_cleanup_json_ json_t *j = g->n ? json_object() : NULL;

	for (int32_t i = 0; j && i < g->n; i++)
		if (json_object_set_new(j, g->of[i].model, json_integer(g->of[i].n)) < 0)
			return NULL;
	return TAKE_PTR(j);
}

static json_t *encode_capacity(const struct resources *r, const struct gpus *models)
{
	json_t *j = encode_amounts(r), *by_model = encode_models(models);

	if (by_model)
		json_object_set_new(j, "gpu_models", by_model);
	return j;
}

static int add_node(void *ctx, const struct store_node *n, struct err *err)
{
	const char *state = n->lost ? "lost" : n->draining ? "drain" : "up";
	json_t *j =
		json_pack("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:I,s:I,s:o,s:o,s:o,s:o?,s:o*}",
			  "node", n->node, "cluster", n->cluster, "state", state, "boot",
			  n->boot, "version", n->version, "address", n->address, "topology",
			  n->topology, "tier", (int)n->tier, "jobs", (int)n->jobs, "first_ns",
			  (json_int_t)n->first_ns, "last_ns", (json_int_t)n->last_ns,
			  "capacity", encode_capacity(&n->capacity, &n->gpu_models), "free",
			  encode_capacity(&n->free, &n->free_gpu_models), "held",
			  encode_amounts(&n->held), "notes", json_loads(n->notes, 0, NULL),
			  "gpus", strcmp(n->gpus, "[]") ? json_loads(n->gpus, 0, NULL) : NULL);

	if (j && *n->capacity.node_type)
		json_object_set_new(j, "node_type", json_string(n->capacity.node_type));
	if (j && *n->capacity.features)
		json_object_set_new(j, "features", json_string(n->capacity.features));
	if (!j || json_array_append_new(ctx, j) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

static int open_answer(struct call *c, const char *key, json_t **ret_array, struct err *err)
{
	c->answer = wire_new();
	*ret_array = json_array();
	if (!c->answer || json_object_set_new(c->answer, key, *ret_array) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	return 0;
}

int route_nodes(struct call *c, struct err *err)
{
	json_t *array;
	int r = open_answer(c, "nodes", &array, err);

	return r < 0 ? r : store_nodes(c->api->c.store, add_node, array, err);
}

/* "2026-11-21" */
static int read_day(const struct call *c, const char *name, int64_t def, int64_t *ret,
		    struct err *err)
{
	const char *text = call_query_text(c, name);

	*ret = def;
	if (text && calendar_parse_day(text, ret) < 0)
		return err_set(err, -EINVAL, "%s=%.40s is not a day like 2026-11-21", name,
			       text);
	return 0;
}

static int read_by(const struct call *c, struct store_period *p, struct err *err)
{
	const char *text = call_query_text(c, "by");
	enum store_by by[2] = { STORE_BY_ACCOUNT, STORE_BY_NONE };
	int r = text ? store_by_parse(text, by, err) : 0;

	p->by = by[0];
	p->second = by[1];
	return r;
}

/* What is charged after that moment is left out; default: now. */
static int read_at(const struct call *c, struct outlook_ask *ask, struct err *err)
{
	const char *at = call_query_text(c, "at");
	int64_t at_ns;
	int r = at ? store_parse_at(c->api->c.store, at, &at_ns, err) : 0;

	ask->now_ns = call_now_ns();
	if (r >= 0 && at && at_ns < ask->now_ns) {
		ask->now_ns = at_ns;
		ask->is_past = true;
	}
	return r;
}

/* Not stated: the allocation year of that moment. */
static int read_period(const struct call *c, int64_t at_ns, struct store_period *p,
		       struct err *err)
{
	int64_t monthly = 0, today = store_day(c->api->c.store, at_ns - 1);
	int r = call_query_int(c, "monthly", (struct wire_int){ 0, 1, &(int64_t){ 0 } },
			       &monthly, err);

	p->each = monthly ? STORE_EACH_MONTH : STORE_EACH_PERIOD;
	p->from_day = INT32_MIN;
	p->to_day = INT32_MAX;
	if (!call_query_text(c, "start") && !call_query_text(c, "end"))
		outlook_year(c->api->c.config, today, &p->from_day, &p->to_day);
	if (r >= 0)
		r = read_day(c, "start", p->from_day, &p->from_day, err);
	return r < 0 ? r : read_day(c, "end", p->to_day, &p->to_day, err);
}

int route_usage(struct call *c, struct err *err)
{
	const struct quota_site site = { c->api->c.store, c->api->c.config, c->api->accounts };
	struct outlook_ask ask = { .period = { .account = call_query_text(c, "account"),
					       .user = call_query_text(c, "user"),
					       .cluster = call_query_text(c, "cluster") } };
	struct store_period *p = &ask.period;
	const struct usage_names names = { &site, c->is_operator ? NULL : c->user };
	int r = who_narrow_usage(c, p->account, &p->user, err);

	if (r >= 0)
		r = usage_names_check_period(&names, p, err);
	if (r >= 0)
		r = read_by(c, p, err);
	if (r >= 0)
		r = read_at(c, &ask, err);
	if (r >= 0)
		r = read_period(c, ask.now_ns, p, err);
	return r < 0 ? r : outlook_document(&site, &ask, &c->answer, err);
}

static json_t *encode_bundle(const struct charge_bundle *b)
{
	_cleanup_json_ json_t *j = json_object();

	for (enum charge_side s = 0; j && s < _CHARGE_SIDE_MAX; s++) {
		char text[FRACTION_TEXT_MAX];

		if (b->side[s].num)
			json_object_set_new(j, charge_side_name(s),
					    json_string(fraction_format(b->side[s], text)));
	}
	return TAKE_PTR(j);
}

static json_t *encode_bundles(const struct config_cluster *cl)
{
	_cleanup_json_ json_t *a = json_array();

	for (int p = 0; a && p < _CHARGE_POOL_MAX; p++) {
		json_t *sides = encode_bundle(&cl->bundle[p]);

		if (json_object_size(sides) == 0)
			json_decref(sides);
		else
			json_array_append_new(
				a, json_pack("{s:s,s:s,s:o}", "pool",
					     charge_pool_name((enum charge_pool)p), "unit",
					     tariff_unit_name((enum tariff_unit)cl->unit,
							      (enum charge_pool)p),
					     "per_equivalent", sides));
	}
	return TAKE_PTR(a);
}

int route_cluster(struct call *c, struct err *err)
{
	const struct config *config = c->api->c.config;
	json_t *array;
	char accounts[512];
	int r = open_answer(c, "clusters", &array, err);

	for (size_t i = 0; i < config->n_clusters && r >= 0; i++) {
		const struct config_cluster *cl = config->clusters[i];

		if (json_array_append_new(
			    array,
			    json_pack("{s:s,s:s,s:o,s:o,s:o,s:I}", "cluster", cl->name,
				      "queues", cl->queues, "bundles", encode_bundles(cl),
				      "defaults", wire_encode_resources(&cl->defaults), "max",
				      wire_encode_resources(&cl->max), "mem_from_vmem",
				      (json_int_t)cl->mem_from_vmem)) < 0)
			r = err_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		return r;
	who_accounts(c, accounts, sizeof(accounts));
	json_object_set_new(c->answer, "accounts", json_string(accounts));
	return 0;
}
