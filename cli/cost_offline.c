/* cost_offline.c - see cost_offline.h. */
#include <errno.h>
#include <string.h>
#include "cli/cost_offline.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/wire/wire.h"
#include "controller/config/config.h"
#include "controller/config/profile.h"

#define NS_PER_S 1000000000LL
#define HOUR_S 3600

/* What the document is made of. */
struct quote {
	struct resources res; /* filled in */
	struct tariff_price price;
	const char *cluster, *queue, *node_type, *gpu_model; /* NULL: not stated */
};

static int64_t *amount_at(struct resources *r, const struct resource_def *d)
{
	return (int64_t *)((char *)r + d->offset);
}

/* As the controller fills in: the cluster's defaults, and memory by what is virtual. */
static void fill(const struct config_cluster *cl, struct resources *r)
{
	struct resources defaults = cl->defaults;

	for (const struct resource_def *d = request_resources; d->name; d++)
		if (*amount_at(r, d) == 0)
			*amount_at(r, d) = *amount_at(&defaults, d);
	if (r->mem_bytes == 0 && cl->mem_from_vmem)
		r->mem_bytes = (int64_t)((__int128)r->vmem_bytes * cl->mem_from_vmem / 100);
}

static int price(const struct config *config, const struct verb_call *call, struct quote *q,
		 struct err *err)
{
	const struct config_pick pick = { q->cluster, q->node_type, q->gpu_model, q->queue,
					  q->res.ngpus > 0 };
	const char *nodes = verb_value(call, "nodes");
	struct tariff_ask ask = { 0 };
	struct tariff t;
	int r = config_tariff(config, &pick, &t, err);

	if (r < 0)
		return r;
	q->cluster = config_cluster(config, q->cluster)->name;
	fill(config_cluster(config, q->cluster), &q->res);
	ask.ngpus = q->res.ngpus;
	ask.ncpus = q->res.ncpus;
	ask.memory_bytes = q->res.mem_bytes ? q->res.mem_bytes : q->res.vmem_bytes;
	r = nodes ? amount_parse_count(nodes, &ask.nodes, err) : 0;
	if (r == 0 && nodes && ask.nodes == 0)
		r = err_set(err, -EINVAL, "--nodes 0: a job holds at least one");
	return r < 0 ? r : tariff_price(&t, &ask, &q->price, err);
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
	_cleanup_json_ json_t *a = json_array();

	for (enum charge_side s = 0; a && s < _CHARGE_SIDE_MAX; s++)
		if (p->bundle.side[s].num && json_array_append_new(a, encode_side(p, s)) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static int set_fraction(json_t *doc, const char *key, struct fraction f)
{
	char text[FRACTION_TEXT_MAX];

	return json_object_set_new(doc, key, json_string(fraction_format_decimal(f, text)));
}

/* KEY and, of equivalents, KEY_ms. < 0: more than can be charged. */
static int set_charge(json_t *doc, const char *key, const struct tariff_price *p,
		      int64_t running_s)
{
	struct fraction charge;
	char ms_key[32];
	int64_t ms;

	if (running_s > INT64_MAX / NS_PER_S ||
	    tariff_charge(p, running_s * NS_PER_S, &charge) < 0 ||
	    charge_requested(p->rate, running_s * NS_PER_S, &ms) < 0)
		return -ERANGE;
	snprintf(ms_key, sizeof(ms_key), "%s_ms", key);
	if (p->unit == TARIFF_EQUIVALENTS)
		json_object_set_new(doc, ms_key, json_integer(ms));
	return set_fraction(doc, key, charge);
}

static void set_stated(json_t *doc, const char *key, const char *text)
{
	if (text && *text)
		json_object_set_new(doc, key, json_string(text));
}

static int encode(const struct quote *q, json_t **ret, struct err *err)
{
	const struct tariff_price *p = &q->price;
	_cleanup_json_ json_t *doc = wire_new();
	int r;

	if (!doc)
		return err_set(err, -ENOMEM, "out of memory");
	r = set_fraction(doc, "rate", p->rate);
	if (json_object_update_new(
		    doc, json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:o}", "rate_num",
				   (json_int_t)p->rate.num, "rate_den", (json_int_t)p->rate.den,
				   "unit", tariff_unit_name(p->unit, p->pool), "pool",
				   charge_pool_name(p->pool), "charge_unit",
				   tariff_charge_name(p->unit, p->pool), "decided_by",
				   charge_side_name(p->decided_by), "rule", p->rule, "cluster",
				   q->cluster, "sides", encode_sides(p), "resources",
				   wire_encode_resources(&q->res))) < 0)
		r = -ENOMEM;
	if (r < 0)
		return err_set(err, -ENOMEM, "out of memory");
	set_stated(doc, "queue", q->queue);
	set_stated(doc, "node_type", q->node_type);
	set_stated(doc, "gpu_model", q->gpu_model);
	r = set_fraction(doc, "factor", p->factor);
	if (r == 0 && p->amounts.side[CHARGE_GPUS] > 0)
		r = set_fraction(doc, "gpu_weight", p->gpu_weight);
	if (r == 0)
		r = set_charge(doc, "charge_per_hour", p, HOUR_S);
	if (r == 0 && q->res.walltime_s)
		r = set_charge(doc, "charge", p, q->res.walltime_s);
	if (r < 0)
		return err_set(err, -EINVAL, "the request is larger than can be charged");
	json_object_set_new(doc, "walltime_s", json_integer(q->res.walltime_s));
	*ret = TAKE_PTR(doc);
	return 0;
}

int cost_offline(const struct verb_call *call, const struct request *r, json_t **ret,
		 struct err *err)
{
	_cleanup_(config_freep) struct config *config = NULL;
	_cleanup_free_ char *path = NULL;
	struct quote q = { .res = r->res,
			   .cluster = r->cluster,
			   .queue = r->queue,
			   .node_type = verb_value(call, "node-type"),
			   .gpu_model = verb_value(call, "gpu-model") };
	int rc = profile_find(verb_value(call, "profile"), &path, err);

	if (rc < 0)
		return rc;
	rc = config_load(path, &config, err);
	if (rc < 0)
		return rc == -EINVAL ? -EBADMSG : rc;
	rc = price(config, call, &q, err);
	return rc < 0 ? rc : encode(&q, ret, err);
}
