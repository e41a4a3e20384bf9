/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tariff - the price of a request under a published policy: core and GPU equivalents, service
 * units, or core-hours.
 *
 * Pure. The caller chooses bundle, GPU weight and queue factor from the configuration; here is
 * only the sum, exact, with everything that explains it.
 *
 * - *Equivalents* (Alliance, "Allocations and compute scheduling"): the largest of
 *   request / bundle over GPUs, cores and memory.
 *   A GPU job is measured by the GPU bundle and counts in the GPU pool, a CPU job by the core
 *   bundle in the CPU pool. GPUs of a model count by its weight in reference units; a fraction
 *   of a GPU is a model of its own with a weight below one.
 * - *Service units* (NCI National Facility, "Charging"): cores requested x queue factor for
 *   each hour of running. One pool.
 * - *Core-hours* (RWTH, "Resource Quotas"): cores for each hour from start to end. One pool.
 * Where weights are stated they decide the rate instead of the unit's own rule.
 * On an exclusive queue the cores are all cores of all nodes that the job occupies. Until it is
 * known which nodes these are, each counts as cores_per_node, which the rule names;
 * tariff_price_nodes() computes the price again from the nodes that were allocated.
 *
 * A price is a rate: units at every moment of running. Its product with the cumulative running
 * time is the charge, rounded once as charge.h says (half up, to milli-unit-seconds).
 */
#pragma once
#include <stdbool.h>
#include "controller/policy/charge/charge.h"

enum tariff_unit {
	TARIFF_EQUIVALENTS,
	TARIFF_SERVICE_UNITS,
	TARIFF_CORE_HOURS,
	_TARIFF_UNIT_MAX,
};
/* The words of the configuration: "core-equivalents", "service-units", "core-hours"; then NULL.
 */
extern const char *const tariff_unit_words[];
/* One of the unit: "core-equivalent" "gpu-equivalent" "service-unit" "core-hour". */
const char *tariff_unit_name(enum tariff_unit u, enum charge_pool p);
/* What amounts of the unit are counted in, as people read it: "core-equivalent hours" "GPU-equivalent hours" "SU" "core-h". */
const char *tariff_amount_name(enum tariff_unit u, enum charge_pool p);
/* The same for the name that documents have (tariff_unit_name()); another text as it is. */
const char *tariff_amount_of(const char *unit_name);
/* What tariff_charge() counts: "core-equivalent-second" "gpu-equivalent-second" "service-unit"
 * "core-hour". */
const char *tariff_charge_name(enum tariff_unit u, enum charge_pool p);

struct tariff {
	enum tariff_unit unit;
	struct charge_bundle bundle[_CHARGE_POOL_MAX]; /* for TARIFF_EQUIVALENTS */
	/* Where the site states weights (TresWeights) they are the bundle of every job,
	 * whatever the unit: of each resource, how much makes one unit. */
	struct charge_bundle weights;
	bool has_weights;
	bool is_sum;		    /* the sum of the ratios is charged, not the largest */
	struct fraction gpu_weight; /* reference units of one GPU of the model; above 0 */
	struct fraction factor;	    /* of the queue; 0: free of charge */
	struct fraction qos_factor; /* of the QOS, likewise; 0/0 (not stated): 1 */
	bool exclusive;
	bool has_one_pool;	/* jobs with GPUs count in the CPU pool, too */
	int64_t cores_per_node; /* 0: not known */
};

struct tariff_request {
	int64_t ngpus, ncpus, memory_bytes;
	int64_t nodes; /* that the job occupies; 0: as many as the cores fill */
	/* All cores of these nodes, if it is known which these are; else 0. */
	int64_t node_cores;
};

#define TARIFF_RULE_MAX 256

struct tariff_price {
	enum tariff_unit unit;
	enum charge_pool pool; /* whose usage it adds to */
	enum charge_pool kind; /* whose bundle measures it */
	struct fraction rate;
	enum charge_side decided_by;
	struct charge_amounts amounts;		 /* what the job occupies */
	struct charge_bundle bundle;		 /* what one unit has of each side */
	struct fraction ratio[_CHARGE_SIDE_MAX]; /* amount (x weight) / bundle; the largest (or
						    their sum) x factor is the rate */
	bool has_weights;
	struct fraction gpu_weight, factor; /* factor: of queue and QOS together */
	struct fraction queue_factor, qos_factor;
	/* Weight and factor folded into the bundle: charge_used() and tally_terms take it.
	 * Without sides where the factor is 0. */
	struct charge_bundle terms;
	char rule[TARIFF_RULE_MAX]; /* the rule and its numbers, one line */
};

/* -EINVAL: no cores, a negative amount, no bundle for the pool, exclusive without cores per
 * node, more cores than the nodes have; -ERANGE: more than int64 can hold. All set err. */
int tariff_price(const struct tariff *t, const struct tariff_request *ask,
		 struct tariff_price *ret, struct err *err);

/* A job with whole nodes, by the terms of its submission and the nodes that it was allocated. */
struct tariff_nodes {
	enum tariff_unit unit;
	struct charge_bundle terms;    /* tariff_price.terms of its submission */
	struct charge_amounts amounts; /* the cores are all cores of its nodes */
};
/* Sets rate, decided_by and rule (with all factors in one, as in the terms); the rest
 * of *ret is of no meaning. -ERANGE: more than int64 can hold. */
int tariff_price_nodes(const struct tariff_nodes *n, struct tariff_price *ret);

/* The charge of a cumulative running time, in the unit of tariff_charge_name(). The ledger
 * keeps the same figure as milli-unit-seconds (charge_requested() of p->rate). -EINVAL:
 * negative time; -ERANGE. */
int tariff_charge(const struct tariff_price *p, int64_t running_ns, struct fraction *ret);
