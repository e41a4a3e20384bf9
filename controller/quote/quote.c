/* quote.c - see quote.h. */
#include <errno.h>
#include <stdio.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "controller/policy/fifo.h"
#include "controller/quote/quote.h"

#define NS_PER_S 1000000000LL
#define HOUR_S 3600

void quote_fill(const struct config_cluster *cl, struct resources *res)
{
	const char *defaults = (const char *)&cl->defaults;

	for (const struct resource_def *d = request_resources; d->name; d++) {
		int64_t *n = (int64_t *)(void *)((char *)res + d->offset);

		if (*n == 0)
			*n = *(const int64_t *)(const void *)(defaults + d->offset);
	}
	if (res->mem_bytes == 0 && cl->mem_from_vmem)
		res->mem_bytes = (int64_t)((__int128)res->vmem_bytes * cl->mem_from_vmem / 100);
}

int quote_price(const struct config *c, const struct quote *q, struct tariff_price *ret,
		struct err *err)
{
	const struct tariff_ask ask = { .ngpus = q->res.ngpus,
					.ncpus = q->res.ncpus,
					.memory_bytes = fifo_memory(&q->res),
					.nodes = q->nodes };
	struct config_pick pick = q->pick;
	struct tariff t;
	int r;

	pick.wants_gpus = q->res.ngpus > 0;
	r = config_tariff(c, &pick, &t, err);
	if (r >= 0)
		r = tariff_price(&t, &ask, ret, err);
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

/* KEY in what the tariff counts and, of equivalents, KEY_ms as the ledger keeps it. < 0: more
 * than can be charged. */
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

static int set_price(json_t *doc, const struct tariff_price *p)
{
	int r = json_object_update_new(
		doc,
		json_pack("{s:I,s:I,s:s,s:s,s:s,s:s,s:s,s:o}", "rate_num",
			  (json_int_t)p->rate.num, "rate_den", (json_int_t)p->rate.den, "unit",
			  tariff_unit_name(p->unit, p->pool), "pool", charge_pool_name(p->pool),
			  "charge_unit", tariff_charge_name(p->unit, p->pool), "decided_by",
			  charge_side_name(p->decided_by), "rule", p->rule, "sides",
			  encode_sides(p)));

	if (r == 0)
		r = set_fraction(doc, "factor", p->factor);
	if (r == 0 && p->amounts.side[CHARGE_GPUS] > 0)
		r = set_fraction(doc, "gpu_weight", p->gpu_weight);
	return r;
}

int quote_encode(const struct config *c, const struct quote *q, const struct tariff_price *p,
		 json_t **ret, struct err *err)
{
	const char *cluster = q->pick.cluster ? q->pick.cluster : "";
	_cleanup_json_ json_t *doc = wire_new();

	if (!doc || set_fraction(doc, "rate", p->rate) < 0 || set_price(doc, p) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (set_charge(doc, "charge_per_hour", p, HOUR_S) < 0 ||
	    (q->res.walltime_s && set_charge(doc, "charge", p, q->res.walltime_s) < 0))
		return err_set(err, -EINVAL, "the request is larger than can be charged");
	set_stated(doc, "cluster", config_cluster(c, cluster)->name);
	set_stated(doc, "queue", q->pick.queue);
	set_stated(doc, "node_type", q->pick.node_type);
	set_stated(doc, "gpu_model", q->pick.gpu_model);
	json_object_set_new(doc, "walltime_s", json_integer(q->res.walltime_s));
	json_object_set_new(doc, "resources", wire_encode_resources(&q->res));
	*ret = TAKE_PTR(doc);
	return 0;
}
