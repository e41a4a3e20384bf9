/* SPDX-License-Identifier: GPL-2.0-or-later */
/* units.c - reads amounts by what K, MB, G ... mean at a site (MemoryUnit=): memory, weights
 * and resources; see config_impl.h. The key may come after the amounts, in the file or its
 * profile, so amounts are read in every meaning, and config_resolve_units() chooses one at the
 * end. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/config/config_impl.h"

#define DEFAULT_CORE_MEMORY "4GB"

enum amount_units config_memory_unit(const struct config *c, const struct config_cluster *cl)
{
	return (enum amount_units)(cl && cl->memory_unit != CONFIG_UNIT_UNSTATED
					   ? cl->memory_unit
					   : c->policy.memory_unit);
}

int config_parse_memory(const char *text, enum amount_units units, struct fraction *ret,
			struct err *err)
{
	size_t n = strspn(text, "0123456789.");
	char number[32], one[32];
	struct fraction amount;
	int64_t unit, whole;

	if (n == 0 || n >= sizeof(number) || strlen(text + n) >= sizeof(one) - 1)
		return amount_parse_bytes_in(text, units, &whole, err) < 0
			       ? -EINVAL
			       : err_set(err, -EINVAL, "'%.40s' is too long", text);
	snprintf(number, sizeof(number), "%.*s", (int)n, text);
	snprintf(one, sizeof(one), "1%s", text + n);
	if (amount_parse_bytes_in(one, units, &unit, NULL) < 0 ||
	    fraction_parse_or_zero(number, &amount, NULL) < 0)
		return amount_parse_bytes_in(text, units, &whole, err) < 0
			       ? -EINVAL
			       : err_set(err, -EINVAL, "'%.40s' is not a size", text);
	if (fraction_multiply(amount, (struct fraction){ unit, 1 }, ret) < 0)
		return err_set(err, -EINVAL, "'%.40s' is too large", text);
	return 0;
}

/* ---- weights ---- */

static const struct {
	const char *name;
	enum charge_side side;
} tres[] = {
	{ "cpu", CHARGE_CORES },
	{ "gpu", CHARGE_GPUS },
	{ "mem", CHARGE_MEMORY },
};

/* Of memory: how much makes one unit, where so much (behind the slash) has that weight. */
static int parse_memory_weight(char *value, struct fraction ret[static _AMOUNT_UNITS_MAX],
			       struct err *err)
{
	char size[64], *slash = strchr(value, '/');
	struct fraction weight, memory;
	int r;

	if (!slash)
		return err_set(err, -EINVAL, "say for how much memory: mem=%.20s/GB", value);
	*slash++ = '\0';
	snprintf(size, sizeof(size), "%s%.40s", *slash >= '0' && *slash <= '9' ? "" : "1",
		 slash);
	r = fraction_parse_or_zero(value, &weight, err);
	for (int u = 0; u < _AMOUNT_UNITS_MAX && r == 0; u++) {
		ret[u] = (struct fraction){ 0, 1 };
		r = config_parse_memory(size, (enum amount_units)u, &memory, err);
		if (r == 0 && memory.num == 0)
			r = err_set(err, -EINVAL, "a weight for no memory");
		if (r == 0 && weight.num && fraction_divide(memory, weight, &ret[u]) < 0)
			r = err_set(err, -EINVAL, "%.40s is too small a weight", value);
	}
	return r;
}

static int parse_weight(char *value, enum charge_side side, struct config_weights *w,
			struct err *err)
{
	struct fraction weight, per[_AMOUNT_UNITS_MAX];
	int r;

	if (side == CHARGE_MEMORY) {
		r = parse_memory_weight(value, per, err);
		for (int u = 0; u < _AMOUNT_UNITS_MAX && r == 0; u++)
			w->per[u].side[side] = per[u];
		return r;
	}
	r = fraction_parse_or_zero(value, &weight, err);
	for (int u = 0; u < _AMOUNT_UNITS_MAX && r == 0; u++)
		w->per[u].side[side] = weight.num ? (struct fraction){ weight.den, weight.num }
						  : (struct fraction){ 0, 1 };
	return r;
}

static int parse_item(char *item, struct config_weights *w, struct err *err)
{
	char *equals;
	size_t i = 0;

	item += strspn(item, " \t");
	equals = strchr(item, '=');
	while (i < ARRAY_LEN(tres) &&
	       (!equals || strlen(tres[i].name) != (size_t)(equals - item) ||
		strncmp(item, tres[i].name, (size_t)(equals - item)) != 0))
		i++;
	if (i == ARRAY_LEN(tres))
		return err_set(err, -EINVAL, "'%.40s' is not cpu=N, gpu=N or mem=N/GB", item);
	return parse_weight(equals + 1, tres[i].side, w, err);
}

static bool is_nothing(const struct charge_bundle *b)
{
	for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
		if (b->side[s].num)
			return false;
	return true;
}

int config_parse_weights(const char *value, struct config_weights *w, struct err *err)
{
	_cleanup_free_ char *copy = strdup(value);
	struct config_weights parsed = { .typed = w->typed };
	char *rest = copy, *item;

	if (!copy)
		return err_set(err, -ENOMEM, "out of memory");
	for (int u = 0; u < _AMOUNT_UNITS_MAX; u++)
		for (int s = 0; s < _CHARGE_SIDE_MAX; s++)
			parsed.per[u].side[s] = (struct fraction){ 0, 1 };
	while ((item = strsep(&rest, ","))) {
		int r = parse_item(item, &parsed, err);

		if (r < 0)
			return r;
	}
	if (is_nothing(&parsed.per[0]))
		return err_set(err, -EINVAL,
			       "nothing has a weight above 0, so nothing would be charged; for "
			       "free use state Factor = 0 of a queue");
	*w = parsed;
	return 0;
}

const struct config_weights *config_weights(const struct config *c,
					    const struct config_cluster *cl,
					    const struct config_queue *q)
{
	if (q && q->weights.typed)
		return &q->weights;
	if (cl && cl->weights.typed)
		return &cl->weights;
	return c->policy.weights.typed ? &c->policy.weights : NULL;
}

/* ---- resources and bundles ---- */

int config_parse_resources(const char *value, struct resources in[static _AMOUNT_UNITS_MAX],
			   struct err *err)
{
	int r = 0;

	for (int u = 0; u < _AMOUNT_UNITS_MAX && r == 0; u++)
		r = resources_parse_in(value, (enum amount_units)u, &in[u], err);
	return r;
}

/* Cannot fail: the text was checked when it was read. */
static void resolve_side(const char *typed, enum amount_units units, struct fraction *ret)
{
	if (typed && strcmp(typed, "none") != 0)
		config_parse_memory(typed, units, ret, NULL);
}

static void resolve_bundle(const struct config_bundle *typed, enum amount_units units,
			   struct charge_bundle bundle[static _CHARGE_POOL_MAX])
{
	resolve_side(typed->memory, units, &bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY]);
	resolve_side(typed->gpu_memory, units, &bundle[CHARGE_POOL_GPU].side[CHARGE_MEMORY]);
}

void config_resolve_units(struct config *c)
{
	char cluster[REQUEST_NAME_MAX];

	for (size_t i = 0; i < c->n_clusters; i++) {
		struct config_cluster *cl = c->clusters[i];
		enum amount_units u = config_memory_unit(c, cl);

		if (!cl->typed.memory)
			resolve_side(DEFAULT_CORE_MEMORY, u,
				     &cl->bundle[CHARGE_POOL_CPU].side[CHARGE_MEMORY]);
		resolve_bundle(&cl->typed, u, cl->bundle);
		cl->defaults = cl->defaults_in[u];
		cl->max = cl->max_in[u];
	}
	for (size_t i = 0; i < c->n_node_types; i++) {
		struct config_node_type *t = c->node_types[i];

		snprintf(cluster, sizeof(cluster), "%.*s", (int)strcspn(t->name, "/"), t->name);
		resolve_bundle(&t->typed, config_memory_unit(c, config_cluster(c, cluster)),
			       t->bundle);
	}
}
