/* SPDX-License-Identifier: GPL-2.0-or-later */
/* price.c - GET /v1/jobs/ID/price: how the job's charge follows from its request, side by side with the price of the same
 * request in each queue; GET /v1/jobs/ID/eff: what it used of its request, and what to request next time. */
#include <stdio.h>
#include <string.h>
#include "common/engine.h"
#include "common/err.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "controller/api/authz.h"
#include "controller/api/jobs/jobs.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/usage/terms.h"
#include "controller/ledger/usage/eff.h"
#include "controller/policy/placement/fit.h"
#include "controller/pricing/price.h"

#define QUEUES_MAX 100 /* that are priced */

/* What is read of the job's row while it is there. */
struct priced {
	struct call *c;
	struct store_terms terms;
	struct fraction rate;
	enum charge_side decided_by;
	char cluster[REQUEST_NAME_MAX], queue[REQUEST_NAME_MAX], qos[REQUEST_NAME_MAX];
	int64_t running_ns, nodes;
	bool is_exclusive; /* the request names whole nodes */
	struct doc *d;
};

/* ---- the charge ---- */

/* The amount of a side that the job occupies. On whole nodes that is more than it requested: the charge has been computed by it, also before its
 * nodes are known. */
static int64_t count_occupied(const struct priced *p, enum charge_side side)
{
	const struct resources *q = &p->terms.requested;
	const int64_t requested[_CHARGE_SIDE_MAX] = { [CHARGE_GPUS] = q->ngpus,
						      [CHARGE_CORES] = q->ncpus,
						      [CHARGE_MEMORY] = fit_memory(q) };
	struct fraction amount;

	if (side == CHARGE_CORES && p->terms.node_cores > requested[side])
		return p->terms.node_cores;
	if (side == CHARGE_CORES && p->decided_by == side && !p->terms.bundle.is_sum &&
	    fraction_multiply(p->rate, p->terms.bundle.side[side], &amount) == 0 &&
	    amount.den == 1 && amount.num > requested[side])
		return amount.num;
	return requested[side];
}

static json_t *encode_side(const struct priced *p, enum charge_side side)
{
	const struct charge_bundle *b = &p->terms.bundle;
	struct charge_amounts amounts = { .side = { [CHARGE_GPUS] = 0 } };
	char per[FRACTION_TEXT_MAX], ratio[FRACTION_TEXT_MAX];
	_cleanup_doc_ struct doc d = doc_object();
	struct fraction f;

	amounts.side[side] = count_occupied(p, side);
	doc_text(&d, "side", charge_side_name(side));
	doc_int(&d, "occupied", amounts.side[side]);
	doc_text(&d, "per_unit", fraction_format(b->side[side], per));
	if (side == CHARGE_MEMORY)
		doc_int(&d, "per_unit_bytes", b->side[side].num / b->side[side].den);
	if (charge_ratio(b, &amounts, side, &f) == 0)
		doc_text(&d, "units", fraction_format(f, ratio));
	doc_bool(&d, "decides", side == p->decided_by && !b->is_sum);
	return doc_take(&d);
}

static json_t *encode_sides(const struct priced *p)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (enum charge_side s = 0; s < _CHARGE_SIDE_MAX; s++)
		if (p->terms.bundle.side[s].num)
			doc_add(&a, encode_side(p, s));
	return doc_take(&a);
}

/* ---- the queues ---- */

static void set_charge(struct doc *d, const char *key, struct fraction rate, int64_t running_ns)
{
	int64_t ms;

	if (charge_requested(rate, running_ns, &ms) == 0)
		doc_int(d, key, ms);
}

/* Slurm and PBS have given the job the amounts in the ledger. 0: the nodes are not known yet. */
static int64_t count_node_cores(const struct priced *p)
{
	const struct config_cluster *cl = config_cluster(p->c->api->c.config, p->cluster);

	if (p->terms.node_cores || !cl || cl->engine == ENGINE_REEVE)
		return p->terms.node_cores;
	return count_occupied(p, CHARGE_CORES);
}

static json_t *encode_queue(const struct priced *p, const char *queue)
{
	const struct resources *q = &p->terms.requested;
	const struct price_query query = {
		.pick = { .cluster = p->cluster, .queue = queue, .qos = p->qos },
		.res = *q,
		.nodes = p->nodes,
		.node_cores = count_node_cores(p),
		.is_exclusive = p->is_exclusive,
	};
	_cleanup_doc_ struct doc d = doc_object();
	char text[FRACTION_TEXT_MAX];
	struct tariff_price price;
	struct err why;

	doc_text(&d, "queue", queue);
	doc_bool(&d, "is_own", !strcmp(queue, p->queue));
	if (price_find(p->c->api->c.config, &query, &price, &why) < 0) {
		doc_text(&d, "no_price", why.text);
		return doc_take(&d);
	}
	doc_text(&d, "rate", fraction_format(price.rate, text));
	doc_text(&d, "unit", tariff_unit_name(price.unit, price.kind));
	doc_text(&d, "decided_by", charge_side_name(price.decided_by));
	doc_text(&d, "factor", fraction_format(price.factor, text));
	set_charge(&d, "running_charge_ms", price.rate, p->running_ns);
	if (q->walltime_s > 0 && q->walltime_s < INT64_MAX / S_NS)
		set_charge(&d, "walltime_charge_ms", price.rate, q->walltime_s * S_NS);
	return doc_take(&d);
}

/* The queues of the job's cluster, in the order of the configuration. */
static json_t *encode_queues(const struct priced *p)
{
	const struct config_cluster *cl = config_cluster(p->c->api->c.config, p->cluster);
	_cleanup_doc_ struct doc a = doc_array();
	const char *at = cl && cl->queues ? cl->queues : "";

	for (int n = 0; *at && n < QUEUES_MAX; n++) {
		char name[REQUEST_NAME_MAX];
		size_t size;

		at += strspn(at, ", \t");
		size = strcspn(at, ", \t");
		if (size && size < sizeof(name)) {
			memcpy(name, at, size);
			name[size] = '\0';
			doc_add(&a, encode_queue(p, name));
		}
		at += size;
	}
	return doc_take(&a);
}

/* ---- the document ---- */

/* The nodes that a job occupies: 0, as many as its cores fill, where it is not on several. */
static int64_t count_nodes(const char *hosts)
{
	int64_t n = *hosts ? 1 : 0;

	for (; *hosts; hosts++)
		n += *hosts == ',';
	return n;
}

static bool is_whole_nodes(const char *request)
{
	_cleanup_json_ json_t *q = request ? wire_load(request, 0, NULL) : NULL;

	return json_is_true(json_object_get(q, "exclusive"));
}

static int read_job(void *ctx, const struct store_job *row, struct err *err)
{
	struct priced *p = ctx;
	char text[FRACTION_TEXT_MAX];

	if (!authz_sees_job(p->c, row->uid, row->account))
		return store_no_job(p->c->api->c.store, row->job, err);
	snprintf(p->cluster, sizeof(p->cluster), "%s", row->cluster);
	snprintf(p->queue, sizeof(p->queue), "%s", row->queue);
	snprintf(p->qos, sizeof(p->qos), "%s", row->qos);
	p->rate = row->rate;
	p->decided_by = row->decided_by;
	p->running_ns = row->running_ns;
	p->nodes = count_nodes(row->hosts);
	p->is_exclusive = is_whole_nodes(row->request);
	doc_int(p->d, "job", row->job);
	doc_text(p->d, "rate", fraction_format(row->rate, text));
	doc_text(p->d, "unit", tariff_unit_name(row->unit, row->pool));
	doc_text(p->d, "pool", charge_pool_name(row->pool));
	doc_text(p->d, "decided_by", charge_side_name(row->decided_by));
	doc_text(p->d, "rule", row->rule);
	doc_int(p->d, "running_ns", row->running_ns);
	doc_int(p->d, "charge_requested_ms", row->charge_requested_ms);
	doc_int(p->d, "charge_used_ms", row->charge_used_ms);
	doc_int(p->d, "adjusted_ms", row->adjusted_ms);
	return 0;
}

int route_job_price(struct call *c, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();
	struct priced p = { .c = c, .d = &d };
	int r = store_job(c->api->c.store, c->id, read_job, &p, err);

	if (r >= 0)
		r = store_job_terms(c->api->c.store, c->id, &p.terms, err);
	if (r == 0)
		r = store_no_job(c->api->c.store, c->id, err);
	if (r < 0)
		return r;
	doc_set(&d, "queues", encode_queues(&p));
	doc_bool(&d, "is_sum", p.terms.bundle.is_sum);
	doc_set(&d, "sides", encode_sides(&p));
	return doc_finish(&d, &c->answer, err);
}

/* ---- efficiency ---- */

/* Whose job it is: an imported job may have the same number. */
struct whose {
	const struct call *c;
	char cluster[REQUEST_NAME_MAX], account[REQUEST_NAME_MAX], user[REQUEST_NAME_MAX];
};

static int read_whose(void *ctx, const struct store_job *row, struct err *err)
{
	struct whose *w = ctx;

	if (!authz_sees_job(w->c, row->uid, row->account))
		return store_no_job(w->c->api->c.store, row->job, err);
	snprintf(w->cluster, sizeof(w->cluster), "%s", row->cluster);
	snprintf(w->account, sizeof(w->account), "%s", row->account);
	snprintf(w->user, sizeof(w->user), "%s", row->user);
	return 0;
}

int route_job_eff(struct call *c, struct err *err)
{
	_cleanup_(store_eff_rows_done) struct store_eff_rows found = { 0 };
	struct whose w = { .c = c };
	const struct store_eff_ask ask = { .filter = { .jobs = &c->id,
						       .n_jobs = 1,
						       .cluster = w.cluster,
						       .account = w.account,
						       .user = w.user },
					   .limit = 1 };
	int r = store_job(c->api->c.store, c->id, read_whose, &w, err);

	if (r >= 0)
		r = store_eff_sums(c->api->c.store, &ask, &found, err);
	return r < 0 ? r : store_eff_encode(&found, &c->answer, err);
}
