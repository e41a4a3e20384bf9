/* SPDX-License-Identifier: GPL-2.0-or-later */
/* examples.c - reads a file of examples and checks the form of each key; see examples.h. */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include "common/err.h"
#include "common/model/amount.h"
#include "controller/examples/examples_impl.h"

#define AT(field) offsetof(struct example, field)
#define TEXT(section, key, field, help, example)                                               \
	{                                                                                      \
		section, key, CONF_TEXT, AT(field), 0, 0, NULL, help, example, CONF_RESTART    \
	}
#define COMMON(section)                                                                        \
	TEXT(section, "Source", source, "file and line of the published figure",               \
	     "004_a4b56d82676d4b41.txt:13"),                                                   \
		TEXT(section, "Says", says, "words of that line", "up to 80000")

static const char *const algorithm_words[] = { "profile", "fair-tree", "classic", NULL };

static const struct conf_key keys[] = {
	COMMON("Cost"),
	TEXT("Cost", "Cluster", cost.cluster, "default: the first", "narval"),
	TEXT("Cost", "Queue", cost.queue, "default: the cluster's", "express"),
	TEXT("Cost", "NodeType", cost.node_type, "type of node", "t4-16-4"),
	TEXT("Cost", "GpuModel", cost.gpu_model, "model of the GPUs", "a100-40"),
	TEXT("Cost", "Request", cost.request, "as with -l", "ncpus=2,mem=10GB"),
	{ "Cost", "Nodes", CONF_COUNT, AT(cost.nodes), 1, 1000000, NULL, "nodes held", "2",
	  CONF_RESTART },
	{ "Cost", "Running", CONF_SECONDS, AT(cost.running_s), 1, 3153600000, NULL,
	  "time in the running state", "1:30:00", CONF_RESTART },
	{ "Cost", "Suspended", CONF_SECONDS, AT(cost.suspended_s), 0, 3153600000, NULL,
	  "time in the suspended state, not part of Running", "0:30:00", CONF_RESTART },
	TEXT("Cost", "Rate", cost.rate, "the published rate", "2.5"),
	TEXT("Cost", "Charge", cost.charge, "the published charge of Running", "24"),
	TEXT("Cost", "Unit", cost.unit, "of what", "core-equivalent"),
	TEXT("Cost", "Pool", cost.pool, "in which pool", "gpu"),
	TEXT("Cost", "DecidedBy", cost.decided_by, "which side decides", "memory"),
	COMMON("Window"),
	TEXT("Window", "Months", window.months, "the period: allowance/used of each month",
	     "2012-01=1000/800, 2012-02=1000/0"),
	TEXT("Window", "Month", window.month, "the month looked at", "2012-02"),
	TEXT("Window", "Available", window.available, "what it leaves", "2200"),
	TEXT("Window", "Percentage", window.percentage, "as shown", "120"),
	TEXT("Window", "Mode", window.mode, "normal, low-priority or stopped", "normal"),
	COMMON("Tree"),
	{ "Tree", "Algorithm", CONF_ENUM, AT(tree.algorithm), 0, 0, algorithm_words,
	  "default: the profile's", "classic", CONF_RESTART },
	TEXT("Tree", "Shares", tree.tree, "accounts, their shares and users",
	     "g=5; g.high<g=100: alice=parent bob=parent; rest=95: *10"),
	TEXT("Tree", "Usage", tree.usage, "of accounts or users, in whole units",
	     "g.high/alice=1"),
	TEXT("Tree", "NormShares", tree.norm_shares, "the published ones", "g=0.05"),
	TEXT("Tree", "EffectvUsage", tree.effective_usage, "likewise", "g=1"),
	TEXT("Tree", "FairShare", tree.fairshare, "likewise", "g.high/alice=0.765597"),
	COMMON("Value"),
	TEXT("Value", "Section", value.section, "where it is set", "Queue express"),
	TEXT("Value", "Key", value.key, "the key", "Factor"),
	TEXT("Value", "Is", value.is, "what the site has published", "3"),
	{ 0 },
};

static const char *const kinds[] = { "Cost", "Window", "Tree", "Value" };

/* ---- reading ---- */

static int add_example(struct examples *all, enum example_kind kind, const char *name,
		       void **ret, struct err *err)
{
	struct example **longer;

	if (strlen(name) >= EXAMPLE_NAME_MAX)
		return err_set(err, -EINVAL, "a name of more than %d bytes",
			       EXAMPLE_NAME_MAX - 1);
	for (size_t i = 0; i < all->n; i++)
		if (all->list[i]->kind == kind && !strcmp(all->list[i]->name, name))
			return err_set(err, -EINVAL, "there is an example of that name");
	longer = realloc(all->list, (all->n + 1) * sizeof(struct example *));
	if (!longer)
		return err_set(err, -ENOMEM, "out of memory");
	all->list = longer;
	longer[all->n] = calloc(1, sizeof(**longer));
	if (!longer[all->n])
		return err_set(err, -ENOMEM, "out of memory");
	strcpy(longer[all->n]->name, name);
	longer[all->n]->kind = kind;
	*ret = longer[all->n++];
	return 0;
}

static int add_cost(void *target, const char *name, void **ret, struct err *err)
{
	return add_example(target, EXAMPLE_COST, name, ret, err);
}

static int add_window(void *target, const char *name, void **ret, struct err *err)
{
	return add_example(target, EXAMPLE_WINDOW, name, ret, err);
}

static int add_tree(void *target, const char *name, void **ret, struct err *err)
{
	return add_example(target, EXAMPLE_TREE, name, ret, err);
}

static int add_value(void *target, const char *name, void **ret, struct err *err)
{
	return add_example(target, EXAMPLE_VALUE, name, ret, err);
}

static const struct conf_section sections[] = {
	{ "Cost", add_cost },
	{ "Window", add_window },
	{ "Tree", add_tree },
	{ "Value", add_value },
	{ 0 },
};

/* ---- checks of one statement ---- */

static int check_figure(const char *text, struct err *err)
{
	struct fraction f;

	return fraction_parse_or_zero(text, &f, err);
}

static int check_figures(const char *list, struct err *err)
{
	char item[3 * REQUEST_NAME_MAX], *figure;
	int r = 0;

	while (r == 0 && examples_item(&list, ",", item, sizeof(item))) {
		r = examples_split(item, &figure, err);
		if (r == 0)
			r = check_figure(figure, err);
	}
	return r;
}

static int check_request(const char *text, struct err *err)
{
	struct resources unused = { 0 };

	return resources_parse(text, &unused, err);
}

static int check_months(const char *text, struct err *err)
{
	struct window_month months[EXAMPLES_MONTHS_MAX];
	size_t n;

	return examples_parse_months(text, months, &n, err);
}

static int check_month(const char *text, struct err *err)
{
	int month;

	return window_month_parse(text, &month, err);
}

static int check_source(const char *text, struct err *err)
{
	const char *colon = strrchr(text, ':');
	int64_t line;

	if (colon && colon > text && amount_parse_count(colon + 1, &line, NULL) == 0 && line)
		return 0;
	return err_set(err, -EINVAL, "write FILE:LINE, e.g. 004_a4b56d82676d4b41.txt:13");
}

static const struct {
	const char *key;
	int (*check)(const char *text, struct err *err);
} checks[] = {
	{ "Source", check_source },	   { "Request", check_request },
	{ "Rate", check_figure },	   { "Charge", check_figure },
	{ "Months", check_months },	   { "Month", check_month },
	{ "NormShares", check_figures },   { "FairShare", check_figures },
	{ "EffectvUsage", check_figures },
};

static int check_key(void *target, const struct conf_place *place, struct err *err)
{
	(void)target;
	if (!place->key)
		((struct example *)place->object)->line = place->line;
	for (size_t i = 0; place->key && i < ARRAY_LEN(checks); i++)
		if (!strcmp(checks[i].key, place->key->key)) {
			int r = checks[i].check(place->value, err);

			return r < 0 ? err_prefix(err, r, "%s", place->key->key) : 0;
		}
	return 0;
}

/* ---- checks of a whole example ---- */

/* The first required key that the example lacks; NULL: it has all. */
static const char *missing_key(const struct example *e)
{
	if (!e->source)
		return "Source";
	if (!e->says)
		return "Says";
	switch (e->kind) {
	case EXAMPLE_COST:
		return !e->cost.request			      ? "Request"
		       : e->cost.charge && !e->cost.running_s ? "Running"
		       : !e->cost.rate && !e->cost.charge     ? "Rate or Charge"
							      : NULL;
	case EXAMPLE_WINDOW:
		return !e->window.months  ? "Months"
		       : !e->window.month ? "Month"
		       : !e->window.available && !e->window.percentage && !e->window.mode
			       ? "Available, Percentage or Mode"
			       : NULL;
	case EXAMPLE_TREE:
		return !e->tree.tree ? "Shares"
		       : !e->tree.norm_shares && !e->tree.effective_usage && !e->tree.fairshare
			       ? "NormShares, EffectvUsage or FairShare"
			       : NULL;
	default:
		return !e->value.section ? "Section"
		       : !e->value.key	 ? "Key"
		       : !e->value.is	 ? "Is"
					 : NULL;
	}
}

static int check_tree(const struct example *e, struct err *err)
{
	struct examples_tree tree = { 0 };
	int r = examples_parse_tree(e->tree.tree, e->tree.usage, &tree, err);

	examples_tree_done(&tree);
	return r;
}

static int check_all(const struct examples *all, const char *name, struct err *err)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct example *e = all->list[i];
		const char *lacks = missing_key(e);
		struct err why = { "" };
		int r = 0;

		if (lacks)
			r = err_set(&why, -EINVAL, "it lacks %s", lacks);
		else if (e->kind == EXAMPLE_TREE)
			r = check_tree(e, &why);
		if (r < 0)
			return err_set(err, r, "%s, line %d: [%s %s]: %s", name, e->line,
				       kinds[e->kind], e->name, why.text);
	}
	return all->n ? 0 : err_set(err, -EINVAL, "%s has no examples", name);
}

struct examples *examples_free(struct examples *all)
{
	for (size_t i = 0; all && i < all->n; i++) {
		conf_done(keys, kinds[all->list[i]->kind], all->list[i]);
		free(all->list[i]);
	}
	if (all)
		free(all->list);
	free(all);
	return NULL;
}

int examples_parse(const char *text, size_t size, const char *name, struct examples **ret,
		   struct err *err)
{
	_cleanup_(examples_freep) struct examples *all = calloc(1, sizeof(*all));
	const struct conf_reader how = { keys, sections, all, check_key, NULL, NULL };
	int r = all ? conf_read_text(text, size, name, &how, err)
		    : err_set(err, -ENOMEM, "out of memory");

	if (r == 0)
		r = check_all(all, name, err);
	if (r == 0)
		*ret = TAKE_PTR(all);
	return r;
}

int examples_load(const char *path, struct examples **ret, struct err *err)
{
	_cleanup_(examples_freep) struct examples *all = calloc(1, sizeof(*all));
	const struct conf_reader how = { keys, sections, all, check_key, NULL, NULL };
	int r = all ? conf_read(path, &how, err) : err_set(err, -ENOMEM, "out of memory");

	if (r == 0)
		r = check_all(all, path, err);
	if (r == 0)
		*ret = TAKE_PTR(all);
	return r;
}
