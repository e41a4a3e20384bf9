/* SPDX-License-Identifier: GPL-2.0-or-later */
/* check.c - computes each example's figures under a configuration, and compares them with the
 * published ones; see examples.h. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "controller/examples/examples_impl.h"
#include "controller/policy/charge/tally.h"
#include "controller/pricing/price.h"

/* Reports a fraction, both sides formatted in the same way: 2.50 is 2.5. */
static void report_fraction(struct examples_run *run, const struct example *e, const char *what,
			    const char *published, struct fraction here)
{
	char there_text[FRACTION_TEXT_MAX], here_text[FRACTION_TEXT_MAX];
	struct fraction there = { 0, 1 };

	fraction_parse_or_zero(published, &there, NULL);
	examples_report(run, e, what, fraction_format(there, there_text),
			fraction_format(here, here_text));
}

/* ---- cost ---- */

/* The charge by the code of the ledger: suspended time is recorded, but is no running time. */
static int charge_of(const struct example *e, const struct tariff_price *p,
		     struct fraction *ret)
{
	const struct tally_terms terms = { p->rate, p->terms, p->amounts.side[CHARGE_CORES],
					   p->amounts.side[CHARGE_GPUS] };
	const struct tally_use use = { .running_ns = e->cost.running_s * S_NS,
				       .suspended_ns = e->cost.suspended_s * S_NS,
				       .cpu_ns = -1,
				       .mem_peak_bytes = -1 };
	struct tally t;
	int r = tally_make(&terms, &use, &t);

	if (r < 0)
		return r;
	return fraction_make(t.charge_requested_ms,
			     p->unit == TARIFF_EQUIVALENTS ? 1000 : HOUR_MS, ret);
}

static int read_price(const struct examples_run *run, const struct example *e,
		      struct tariff_price *ret, struct err *err)
{
	char renamed[REQUEST_NAME_MAX];
	const char *cluster =
		e->cost.cluster ? config_renamed(run->config, e->cost.cluster, renamed) : "";
	struct price_query q = { .pick = { .cluster = cluster,
					   .queue = e->cost.queue,
					   .node_type = e->cost.node_type,
					   .gpu_model = e->cost.gpu_model },
				 .nodes = e->cost.nodes };
	const struct config_cluster *cl = config_cluster(run->config, cluster);
	int r = resources_parse_in(e->cost.request, config_memory_unit(run->config, cl), &q.res,
				   err);

	return r < 0 ? r : price_find(run->config, &q, ret, err);
}

int examples_check_cost(struct examples_run *run, const struct example *e, struct err *err)
{
	struct tariff_price p;
	struct err why = { "" };
	struct fraction charge = { 0, 1 };
	int r = read_price(run, e, &p, &why);

	(void)err;
	if (r == 0 && e->cost.charge && charge_of(e, &p, &charge) < 0)
		r = err_set(&why, -ERANGE, "more than can be charged");
	if (r < 0) {
		examples_report(run, e, "price", e->cost.rate ? e->cost.rate : e->cost.charge,
				why.text);
		return 0;
	}
	if (e->cost.rate)
		report_fraction(run, e, "rate", e->cost.rate, p.rate);
	if (e->cost.charge)
		report_fraction(run, e, "charge", e->cost.charge, charge);
	if (e->cost.unit)
		examples_report(run, e, "unit", e->cost.unit, tariff_unit_name(p.unit, p.kind));
	if (e->cost.pool)
		examples_report(run, e, "pool", e->cost.pool, charge_pool_name(p.pool));
	if (e->cost.decided_by)
		examples_report(run, e, "decided by", e->cost.decided_by,
				charge_side_name(p.decided_by));
	return 0;
}

/* ---- window ---- */

int examples_check_window(struct examples_run *run, const struct example *e, struct err *err)
{
	struct window_month months[EXAMPLES_MONTHS_MAX];
	struct window_period period = { months, 0 };
	char text[EXAMPLE_TEXT_MAX];
	struct err why = { "" };
	struct window w;
	int month, r;

	(void)err;
	r = examples_parse_months(e->window.months, months, &period.n, &why);
	if (r == 0)
		r = window_month_parse(e->window.month, &month, &why);
	if (r == 0 && run->config->policy.quota != CONFIG_QUOTA_WINDOW &&
	    run->config->policy.quota != CONFIG_QUOTA_WINDOW_3X)
		r = err_set(&why, -EINVAL, "Quota= is no window here");
	if (r == 0)
		r = window_compute(&period, month,
				   run->config->policy.quota == CONFIG_QUOTA_WINDOW
					   ? WINDOW_SLIDING
					   : WINDOW_THREE_MONTHS,
				   &w, &why);
	if (r < 0) {
		examples_report(run, e, "window", e->window.month, why.text);
		return 0;
	}
	if (e->window.available)
		examples_report(run, e, "available", e->window.available,
				window_amount_format(w.available, text));
	if (e->window.percentage) {
		snprintf(text, sizeof(text), "%lld", (long long)w.percentage);
		examples_report(run, e, "percentage", e->window.percentage,
				w.has_percentage ? text : "none");
	}
	if (e->window.mode)
		examples_report(run, e, "mode", e->window.mode, window_mode_name(w.mode));
	return 0;
}

/* ---- values ---- */

int examples_check_value(struct examples_run *run, const struct example *e, struct err *err)
{
	char what[EXAMPLE_TEXT_MAX], there[EXAMPLE_TEXT_MAX], here[EXAMPLE_TEXT_MAX];
	struct config_setting s = { .section = e->value.section, .key = e->value.key };
	struct err why = { "" };
	int r = config_setting_format(run->config, &s, e->value.is,
				      (struct config_text){ there, sizeof(there) }, &why);

	(void)err;
	if (r == 0)
		r = config_setting_format(run->config, &s, NULL,
					  (struct config_text){ here, sizeof(here) }, &why);
	snprintf(what, sizeof(what), "%.80s of [%.80s]", e->value.key, e->value.section);
	examples_report(run, e, what, r < 0 ? e->value.is : there, r < 0 ? why.text : here);
	return 0;
}

/* ---- all ---- */

int examples_check(const struct config *c, const struct examples *e, example_fn fn, void *ctx,
		   struct err *err)
{
	static int (*const kinds[])(struct examples_run *, const struct example *,
				    struct err *) = {
		[EXAMPLE_COST] = examples_check_cost,
		[EXAMPLE_WINDOW] = examples_check_window,
		[EXAMPLE_TREE] = examples_check_tree,
		[EXAMPLE_VALUE] = examples_check_value,
	};
	struct examples_run run = { c, fn, ctx, 0 };

	for (size_t i = 0; i < e->n; i++) {
		int r = kinds[e->list[i]->kind](&run, e->list[i], err);

		if (r < 0)
			return r;
	}
	return run.n_wrong;
}
