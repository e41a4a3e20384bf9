/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nodes.c - `reeve nodes`: lists nodes, what they have and what is free; drains and resumes them. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/client/nodes_drain.h"
#include "common/err.h"
#include "common/model/gpus.h"
#include "common/wire/wire.h"

#define NODES_TOGETHER "500"

static const struct table_column columns[] = {
	{ "node", "NODE", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },
	{ "cluster", "-CLUSTER", CELL_TEXT },
	{ "node_type", "-TYPE", CELL_TEXT },
	{ "features", "-FEATURES", CELL_TEXT },
	{ "jobs", "JOBS", CELL_COUNT },
	{ "ncpus", "CORES", CELL_COUNT },
	{ "ncpus_free", "FREE", CELL_COUNT },
	{ "mem_bytes", "MEMORY", CELL_BYTES },
	{ "mem_free_bytes", "FREE", CELL_BYTES },
	{ "jobfs_bytes", "JOBFS", CELL_BYTES },
	{ "jobfs_free_bytes", "FREE", CELL_BYTES },
	{ "ngpus", "-GPUS", CELL_COUNT },
	{ "ngpus_free", "-GPUS FREE", CELL_COUNT },
	{ "gpu_models", "-GPU MODELS", CELL_TEXT },
	{ "gpu_models_free", "-FREE BY MODEL", CELL_TEXT },
	{ "gpus_drained", "-DRAINED", CELL_COUNT },
	{ "gpus_simulated", "-SIMULATED", CELL_COUNT },
	{ "tier", "TIER", CELL_COUNT },
	{ "version", "-VERSION", CELL_TEXT },
	{ "address", "-ADDRESS", CELL_TEXT },
	{ "last_ns", "-HEARD", CELL_TIME_NS },
	{ "topology", "TOPOLOGY", CELL_TEXT },
	{ "notes", "-NOTES", CELL_TEXT },
	{ 0 },
};

static void put_int(struct table *t, const char *column, const json_t *j, const char *key)
{
	if (json_is_integer(json_object_get(j, key)))
		table_int(t, column, cli_int(j, key, 0));
}

/* The notes of a node, an array of texts or one text, as one cell. */
static int put_notes(struct table *t, const json_t *notes, struct err *err)
{
	char *text = NULL, *more;
	const char *one;
	int n;

	if (json_is_string(notes))
		table_text(t, "notes", json_string_value(notes));
	for (size_t i = 0; i < json_array_size(notes); i++) {
		one = json_string_value(json_array_get(notes, i));
		n = asprintf(&more, "%s%s%s", text ? text : "", text ? "; " : "",
			     one ? one : "");
		free(text);
		text = n < 0 ? NULL : more;
		if (n < 0)
			return err_set(err, -ENOMEM, "out of memory");
	}
	table_text(t, "notes", text);
	free(text);
	return 0;
}

/* ---- GPUs ---- */

static struct gpus models_at(const json_t *amounts)
{
	json_t *models = json_object_get(amounts, "gpu_models"), *n;
	struct gpus g = { 0 };
	const char *model;

	json_object_foreach(models, model, n) gpus_add(&g, model, json_integer_value(n));
	return g;
}

static int64_t count_flag(const json_t *node, const char *flag)
{
	const json_t *gpus = json_object_get(node, "gpus");
	int64_t n = 0;

	for (size_t i = 0; i < json_array_size(gpus); i++)
		n += json_is_true(json_object_get(json_array_get(gpus, i), flag));
	return n;
}

static void put_gpus(struct table *t, const json_t *node)
{
	const struct gpus all = models_at(json_object_get(node, "capacity"));
	const struct gpus left = models_at(json_object_get(node, "free"));
	char buf[GPUS_TEXT_MAX];

	if (!json_array_size(json_object_get(node, "gpus")))
		return;
	table_text(t, "gpu_models", gpus_words(&all, buf));
	table_text(t, "gpu_models_free", gpus_words(&left, buf));
	table_int(t, "gpus_simulated", count_flag(node, "simulated"));
	table_int(t, "gpus_drained", count_flag(node, "drained"));
}

/* One line a node: "n1: type t4, features ib,nvme" */
static void print_kinds(const struct cli *c, const json_t *nodes)
{
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const char *type = cli_text(node, "node_type");
		const char *features = cli_text(node, "features"),
			   *name = cli_text(node, "node");

		if (!type && !features)
			continue;
		cli_put(c->format.to, name ? name : "?");
		fputs(type ? ": type " : ": features ", c->format.to);
		cli_put(c->format.to, type ? type : features);
		fputs(type && features ? ", features " : "", c->format.to);
		cli_put(c->format.to, type && features ? features : "");
		fputc('\n', c->format.to);
	}
}

/* One line a node: "n1: 4 a100-40 (1 free), 7 a100_1g.5gb (0 free) (simulated)" */
static void print_gpus(const struct cli *c, const json_t *nodes)
{
	FILE *to = c->format.to;
	const char *name;
	json_t *node;
	size_t i;

	json_array_foreach(nodes, i, node)
	{
		const struct gpus all = models_at(json_object_get(node, "capacity"));
		const struct gpus left = models_at(json_object_get(node, "free"));

		if (all.n == 0)
			continue;
		name = cli_text(node, "node");
		cli_put(to, name ? name : "?");
		fputs(": ", to);
		for (int32_t k = 0; k < all.n; k++) {
			fprintf(to, "%s%" PRId64 " ", k ? ", " : "", all.of[k].n);
			cli_put(to, all.of[k].model);
			fprintf(to, " (%" PRId64 " free)", gpus_count(&left, all.of[k].model));
		}
		if (count_flag(node, "drained"))
			fprintf(to, ", %" PRId64 " drained", count_flag(node, "drained"));
		fputs(count_flag(node, "simulated") ? " (simulated)\n" : "\n", to);
	}
}

static int put_node(struct table *t, const json_t *j, struct err *err)
{
	static const struct {
		const char *key, *total, *free;
	} amounts[] = {
		{ "ncpus", "ncpus", "ncpus_free" },
		{ "mem_bytes", "mem_bytes", "mem_free_bytes" },
		{ "jobfs_bytes", "jobfs_bytes", "jobfs_free_bytes" },
		{ "ngpus", "ngpus", "ngpus_free" },
	};
	const json_t *capacity = json_object_get(j, "capacity");
	const json_t *free_now = json_object_get(j, "free");
	const char *state = cli_text(j, "state");

	table_row(t);
	table_text(t, "node", cli_text(j, "node"));
	table_text(t, "state", state);
	table_text(t, "cluster", cli_text(j, "cluster"));
	table_text(t, "node_type", cli_text(j, "node_type"));
	table_text(t, "features", cli_text(j, "features"));
	table_text(t, "version", cli_text(j, "version"));
	table_text(t, "address", cli_text(j, "address"));
	table_text(t, "topology", cli_text(j, "topology"));
	table_tone(t, "state",
		   !state		  ? TONE_PLAIN
		   : !strcmp(state, "up") ? TONE_GOOD
					  : TONE_BAD);
	put_int(t, "jobs", j, "jobs");
	put_int(t, "tier", j, "tier");
	put_int(t, "last_ns", j, "last_ns");
	for (size_t i = 0; i < ARRAY_LEN(amounts); i++) {
		put_int(t, amounts[i].total, capacity, amounts[i].key);
		put_int(t, amounts[i].free, free_now, amounts[i].key);
	}
	put_gpus(t, j);
	return put_notes(t, json_object_get(j, "notes"), err);
}

/* Below the table: what nodes report that they cannot enforce or measure. */
static void print_notes(const struct cli *c, const json_t *nodes)
{
	const char *name, *note;
	json_t *node, *one;
	size_t i, k;

	json_array_foreach(nodes, i, node)
	{
		json_array_foreach(json_object_get(node, "notes"), k, one)
		{
			name = cli_text(node, "node");
			note = json_string_value(one);
			cli_put(c->format.to, name ? name : "?");
			fputs(": ", c->format.to);
			cli_put(c->format.to, note ? note : "?");
			fputc('\n', c->format.to);
		}
	}
}

static const struct verb_option options[] = {
	{ "reason", 0, "WORDS", "drain: the reason, shown with the node", NULL },
	{ "from", 0, "TIME",
	  "drain: at this time instead of now; until then only jobs start there whose "
	  "walltimes end before it: 2026-12-01T08:00 (local time) or +2:00:00 from now",
	  NULL },
	{ 0 },
};

/* All nodes, a part of them in a request: while the controller answers one, everything else waits. */
static int get_nodes(struct cli *c, json_t **ret, struct err *err)
{
	_cleanup_json_ json_t *all = json_array(), *answer = NULL;
	_cleanup_free_ char *next = NULL;
	int r;

	do {
		_cleanup_free_ char *path = strdup("/v1/nodes?limit=" NODES_TOGETHER);

		r = path && all ? 0 : err_set(err, -ENOMEM, "out of memory");
		if (r == 0 && next)
			r = cli_query(&path, "from", next, err);
		answer = wire_unref(answer);
		if (r >= 0)
			r = cli_get(c, path, &answer, err);
		if (r < 0)
			return r;
		free(next);
		next = cli_text(answer, "next") ? strdup(cli_text(answer, "next")) : NULL;
		if (json_array_extend(all, json_object_get(answer, "nodes")) < 0)
			return err_set(err, -EPROTO, "the controller sent no list of nodes");
	} while (next);
	*ret = TAKE_PTR(all);
	return 0;
}

static int run_nodes(const struct verb_call *call, void *ctx, struct err *err)
{
	_cleanup_json_ json_t *list = NULL;
	_cleanup_(table_freep) struct table *t = NULL;
	struct cli *c = ctx;
	json_t *node;
	size_t i;
	int r = cli_begin(c, call, err);

	if (r == 0 && call->n_args)
		return nodes_drain_run(call, c, err);
	if (r == 0)
		r = table_new("nodes", columns, &t, err);
	if (r == 0)
		r = get_nodes(c, &list, err);
	if (r < 0)
		return r;
	json_array_foreach(list, i, node)
	{
		r = put_node(t, node, err);
		if (r < 0)
			return r;
	}
	r = table_print(t, &c->format, err);
	if (r == 0 && !json_array_size(list) && c->shows_hints)
		fprintf(stderr,
			"no node has reported to the controller yet; start reeve-agent on the nodes\n");
	if (r == 0 && c->format.output == TABLE_TABLE) {
		print_kinds(c, list);
		print_gpus(c, list);
		nodes_drain_print_reasons(c, list);
		print_notes(c, list);
	}
	return r;
}

const struct verb cli_verb_nodes = {
	.name = "nodes",
	.args = "[drain|resume NODE...]",
	.help = "List the nodes, or take nodes out of use and back",
	.details =
		"TIER is how a node enforces vmem: 1 the kernel refuses the mapping and kills\n"
		"the job before a page is used; 2 the job is killed within milliseconds; 3 the\n"
		"agent polls /proc, without BPF. '-o help' lists further columns, for example\n"
		"gpu_models. Operators take nodes out of use with drain and back with resume. On\n"
		"a drained node running jobs continue and no new job starts. A drain lasts until\n"
		"resume.",
	.examples = "reeve nodes\nreeve nodes -o node,gpu_models,gpu_models_free\nreeve nodes "
		    "-o node,ncpus_free,mem_free_bytes --csv\n"
		    "reeve nodes drain n7 n8 --reason 'disk'\nreeve nodes drain n7 --from "
		    "2026-12-01T08:00 --reason 'new disks'\nreeve nodes resume n7",
	.options = options,
	.max_args = -1,
	.run = run_nodes,
};
