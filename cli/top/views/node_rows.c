/* SPDX-License-Identifier: GPL-2.0-or-later */
/* node_rows.c - puts nodes of an answer into the rows of a list; see node_rows.h. */
#include <stdio.h>
#include <string.h>
#include "cli/cli.h"
#include "cli/top/draw/bar.h"
#include "cli/top/views/node_rows.h"
#include "cli/top/views/subjects.h"

const struct table_column top_nodes_table[] = {
	{ "node", "NODE", CELL_TEXT },		{ "state", "STATE", CELL_TEXT },
	{ "jobs", "JOBS", CELL_COUNT },		{ "ncpus", "CPUS", CELL_COUNT },
	{ "ncpus_held", "IN USE", CELL_COUNT }, { "cpu_percent", "CPU", CELL_COUNT },
	{ "mem_percent", "MEM", CELL_COUNT },	{ "jobfs_percent", "JOBFS", CELL_COUNT },
	{ "ngpus", "GPUS", CELL_COUNT },	{ "gpu_percent", "GPU", CELL_COUNT },
	{ "tier", "TIER", CELL_COUNT },		{ "heard_ns", "HEARD", CELL_DURATION_NS },
	{ "note", "NOTE", CELL_TEXT },		{ 0 },
};

/* clang-format off */
const struct top_column top_nodes_columns[] = {
	{ "node", "NODE", 5, 24, 0, false, NULL },
	{ "state", "STATE", 6, 6, 0, false, NULL },
	{ "jobs", "JOBS", 5, 6, 3, false, NULL },
	{ "ncpus_held", "IN USE", 7, 7, 4, false, NULL },
	{ "ncpus", "OF", 4, 6, 4, false, NULL },
	{ "cpu_percent", "CORES", 6, 12, 1, true, NULL },
	{ "mem_percent", "MEM", 4, 12, 2, true, NULL },
	{ "jobfs_percent", "JOBFS", 6, 12, 5, true, NULL },
	{ "gpu_percent", "GPU", 4, 12, 3, true, NULL },
	{ "tier", "TIER", 5, 5, 7, false, NULL },
	{ "heard_ns", "HEARD", 7, 9, 6, false, NULL },
	{ "note", "NOTE", 6, 80, 8, false, NULL },
	{ .name = NULL },
};
/* clang-format on */

const json_t *top_nodes_find(const struct top_docs *docs, const char *name)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(docs->of[TOP_DOC_NODES], "nodes"), i, node)
	{
		const char *is = cli_text(node, "node");

		if (is && !strcmp(is, name))
			return node;
	}
	return NULL;
}

const char *top_nodes_note(const json_t *node, char *buf, size_t size)
{
	const json_t *drain = json_object_get(node, "drain"),
		     *notes = json_object_get(node, "notes");
	const char *author = cli_text(drain, "author"), *reason = cli_text(drain, "reason");

	if (author) {
		snprintf(buf, size, "drained by %s: %s", author, reason ? reason : "?");
		return buf;
	}
	if (json_array_size(notes) == 0)
		return NULL;
	snprintf(buf, size, "%s", json_string_value(json_array_get(notes, 0)) ?: "?");
	return buf;
}

/* What there is against what jobs have of it, in percent. */
static void put_part(struct table *t, const char *column, const json_t *node, const char *key)
{
	int percent = top_percent(cli_int(json_object_get(node, "held"), key, -1),
				  cli_int(json_object_get(node, "capacity"), key, 0));

	if (percent >= 0)
		table_int(t, column, percent);
}

static void put_node(struct table *t, const json_t *node, int64_t now_ns)
{
	const json_t *capacity = json_object_get(node, "capacity");
	int64_t heard_ns = cli_int(node, "last_ns", 0), ngpus = cli_int(capacity, "ngpus", 0);
	const char *state = cli_text(node, "state");
	char buf[256];

	table_row(t);
	table_text(t, "node", cli_text(node, "node"));
	table_text(t, "state", state);
	table_tone(t, "state",
		   !state		  ? TONE_PLAIN
		   : !strcmp(state, "up") ? TONE_GOOD
					  : TONE_BAD);
	table_int(t, "jobs", cli_int(node, "jobs", 0));
	table_int(t, "ncpus", cli_int(capacity, "ncpus", 0));
	table_int(t, "ncpus_held", cli_int(json_object_get(node, "held"), "ncpus", 0));
	put_part(t, "cpu_percent", node, "ncpus");
	put_part(t, "mem_percent", node, "mem_bytes");
	put_part(t, "jobfs_percent", node, "jobfs_bytes");
	if (ngpus > 0) {
		table_int(t, "ngpus", ngpus);
		put_part(t, "gpu_percent", node, "ngpus");
	}
	table_int(t, "tier", cli_int(node, "tier", 0));
	if (heard_ns > 0)
		table_int(t, "heard_ns", now_ns > heard_ns ? now_ns - heard_ns : 0);
	table_text(t, "note", top_nodes_note(node, buf, sizeof(buf)));
}

void top_nodes_rows(const struct top_docs *docs, struct table *t)
{
	json_t *node;
	size_t i;

	json_array_foreach(json_object_get(docs->of[TOP_DOC_NODES], "nodes"), i, node)
		put_node(t, node, docs->at_ns);
}
