/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_parts.c - prints what each node of a job allocated, used and ended with. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include "cli/views/job_parts.h"
#include "common/err.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "node", "NODE", CELL_TEXT },
	{ "state", "STATE", CELL_TEXT },
	{ "cpus", "CORES", CELL_TEXT },
	{ "ncpus", "CPUS", CELL_COUNT },
	{ "busy", "BUSY %", CELL_COUNT },
	{ "vmem_bytes", "VMEM", CELL_REQUEST },
	{ "vmem_peak_bytes", "PEAK", CELL_BYTES },
	{ "rss_peak_bytes", "RESIDENT", CELL_BYTES },
	{ "jobfs_bytes", "-JOBFS", CELL_REQUEST },
	{ "jobfs_peak_bytes", "JOBFS", CELL_BYTES },
	{ "ngpus", "-GPUS", CELL_COUNT },
	{ "end", "END", CELL_TEXT },
	{ 0 },
};

static void put_known(struct table *t, const char *column, const struct usage *u,
		      const int64_t *field)
{
	if (usage_has(u, field))
		table_int(t, column, *field);
}

static void put_stated(struct table *t, const char *column, int64_t value)
{
	if (value > 0)
		table_int(t, column, value);
}

/* CPU time in percent of cores x running time on that node. */
static void put_busy(struct table *t, const json_t *part, const struct usage *u)
{
	int64_t ncpus = cli_int(part, "ncpus", 0), ran_ns = cli_int(part, "running_ns", 0);

	if (usage_has(u, &u->cpu_ns) && ncpus > 0 && ran_ns > 0)
		table_int(t, "busy", (int64_t)((__int128)u->cpu_ns * 100 / ncpus / ran_ns));
}

/* Parts that were cancelled because another part ended have no line. */
static void put_end(struct table *t, const json_t *part)
{
	const json_t *end = json_object_get(part, "end");
	const char *kind = cli_text(end, "kind"), *line = cli_text(end, "line");

	if (!kind || !line || !strcmp(kind, "none") || !strcmp(kind, "cancelled"))
		return;
	table_text(t, "end", line);
	if (strcmp(kind, "exited") != 0)
		table_tone(t, "end", TONE_BAD);
}

static int put_part(struct table *t, const json_t *part, struct err *err)
{
	const json_t *doc = json_object_get(part, "usage");
	struct usage u = { 0 };

	if (json_is_object(doc) && wire_decode_usage(doc, "usage", &u, err) < 0)
		return err_prefix(err, -EPROTO, "the controller's answer cannot be read");
	table_row(t);
	table_text(t, "node", cli_text(part, "node"));
	table_text(t, "state", cli_text(part, "state"));
	table_text(t, "cpus", cli_text(part, "cpus"));
	put_stated(t, "ncpus", cli_int(part, "ncpus", 0));
	put_stated(t, "vmem_bytes", cli_int(part, "vmem_bytes", 0));
	put_stated(t, "jobfs_bytes", cli_int(part, "jobfs_bytes", 0));
	put_stated(t, "ngpus", cli_int(part, "ngpus", 0));
	put_busy(t, part, &u);
	put_known(t, "vmem_peak_bytes", &u, &u.vmem_peak_bytes);
	put_known(t, "rss_peak_bytes", &u, &u.rss_peak_bytes);
	put_known(t, "jobfs_peak_bytes", &u, &u.jobfs_peak_bytes);
	put_end(t, part);
	return 0;
}

int job_parts_show(const struct cli *c, const struct job_view *v, struct err *err)
{
	const json_t *parts = json_object_get(v->j, "parts"), *part;
	_cleanup_(table_freep) struct table *t = NULL;
	size_t i;
	int r;

	if (json_array_size(parts) == 0)
		return 0;
	r = table_new("parts", columns, &t, err);
	if (r < 0)
		return r;
	table_like(t, resources_like(&v->requested, 0));
	json_array_foreach(parts, i, part)
	{
		r = put_part(t, part, err);
		if (r < 0)
			return r;
	}
	fputc('\n', c->format.to);
	return table_print(t, &c->format, err);
}

const char *job_parts_nodes(const struct job_view *v, char buf[static JOB_PARTS_TEXT_MAX])
{
	const char *node = v->node;
	int n = 0;

	for (const char *p = v->nodes; p && (p = strchr(p, ',')); p++)
		n++;
	if (!node || !*node || n == 0)
		return node;
	snprintf(buf, JOB_PARTS_TEXT_MAX, "%.80s and %d more", node, n);
	return buf;
}
