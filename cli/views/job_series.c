/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_series.c - prints the points of a job's use as a table; see job_series.h. */
#include <string.h>
#include "cli/client/job_fetch.h"
#include "cli/views/job_series.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "from_ms", "FROM", CELL_DURATION_MS },
	{ "to_ms", "TO", CELL_DURATION_MS },
	{ "cores", "CORES", CELL_FIGURE },
	{ "mem_bytes", "MEM", CELL_BYTES },
	{ "vmem_bytes", "VMEM", CELL_BYTES },
	{ "jobfs_bytes", "JOBFS", CELL_BYTES },
	{ "gpus_busy", "GPUS", CELL_FIGURE },
	{ "gpu_mem_bytes", "GPU MEM", CELL_BYTES },
	{ "suspended_ms", "SUSPENDED", CELL_DURATION_MS },
	{ 0 },
};

static void put_seconds(struct table *t, const char *column, const json_t *seconds)
{
	if (json_is_number(seconds))
		table_int(t, column,
			  (int64_t)(json_number_value(seconds) * (S_NS / MS_NS) + 0.5));
}

/* Null in the document is a point that was not measured; a metric that is absent never was. */
static void put_figure(struct table *t, const struct table_column *column, const json_t *point)
{
	const json_t *value = json_object_get(point, column->name);

	if (json_is_null(value))
		table_null(t, column->name);
	else if (json_is_integer(value) && column->kind == CELL_BYTES)
		table_int(t, column->name, json_integer_value(value));
	else if (json_is_number(value))
		table_decimal(t, column->name, 2, json_number_value(value));
}

static void put_point(struct table *t, const json_t *point)
{
	table_row(t);
	put_seconds(t, "from_ms", json_object_get(point, "from_s"));
	put_seconds(t, "to_ms", json_object_get(point, "to_s"));
	put_seconds(t, "suspended_ms", json_object_get(point, "suspended_s"));
	for (const struct table_column *c = columns; c->name; c++)
		if (c->kind == CELL_FIGURE || c->kind == CELL_BYTES)
			put_figure(t, c, point);
}

/* The columns of what was measured at all, as a list for --columns. */
static void list_measured(const struct table *t, char *list, size_t size)
{
	size_t used = 0;

	for (const struct table_column *c = columns; c->name && used < size; c++)
		if (table_has(t, c->name, TABLE_SET))
			used += (size_t)snprintf(list + used, size - used, "%s%s",
						 used ? "," : "", c->name);
}

/* Bytes in the units of the request. */
static void print_metric(const json_t *metric, int64_t like, FILE *to)
{
	const char *name = cli_text(metric, "name");
	const json_t *most = json_object_get(metric, "most"),
		     *mean = json_object_get(metric, "mean");
	const json_t *requested = json_object_get(metric, "requested");
	char buf[2][AMOUNT_TEXT_MAX];

	if (json_is_number(requested))
		like = (int64_t)json_number_value(requested);
	if (!name || !json_is_number(most) || !json_is_number(mean))
		return;
	if (strstr(name, "_bytes"))
		fprintf(to, "%s: at most %s, %s on average\n", name,
			amount_format_bytes_like((int64_t)json_number_value(most), like,
						 buf[0]),
			amount_format_bytes_like((int64_t)json_number_value(mean), like,
						 buf[1]));
	else
		fprintf(to, "%s: at most %.2f, %.2f on average\n", name,
			json_number_value(most), json_number_value(mean));
}

static void print_notes(const json_t *answer, FILE *to)
{
	const json_t *metric;
	size_t i;

	fputs("\nA point is an interval since the job's start: cores and GPUs busy in it, the "
	      "largest\nsample of memory and disk. -: not measured then.\n",
	      to);
	json_array_foreach(json_object_get(answer, "metrics"), i, metric)
		print_metric(metric, cli_int(answer, "like_bytes", 0), to);
	if (json_is_false(json_object_get(answer, "is_summed")))
		fputs("The points of its nodes cannot be added up: see --json of each node.\n",
		      to);
}

static int print_points(const struct cli *c, const json_t *answer, const struct table *t,
			struct err *err)
{
	struct table_format format = c->format;
	char measured[256] = "";
	int r;

	if (format.output == TABLE_TABLE && table_size(t) == 0) {
		fputs("no points: the job has not run, or its agent sent none\n", format.to);
		return 0;
	}
	list_measured(t, measured, sizeof(measured));
	if (format.output == TABLE_TABLE && !format.columns)
		format.columns = measured;
	r = table_print(t, &format, err);
	if (r == 0 && format.output == TABLE_TABLE)
		print_notes(answer, format.to);
	return r;
}

int job_series_show(struct cli *c, const char *typed, struct err *err)
{
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_json_ json_t *answer = NULL;
	const json_t *point;
	size_t i;
	int r = job_fetch_document(c, (struct job_fetch_query){ typed, "/series" }, &answer,
				   err);

	if (r < 0)
		return r;
	if (c->format.output == TABLE_JSON)
		return cli_print_document(c, answer, err);
	r = table_new("points", columns, &t, err);
	if (r < 0)
		return r;
	table_like(t, cli_int(answer, "like_bytes", 0));
	json_array_foreach(json_object_get(answer, "points"), i, point) put_point(t, point);
	return print_points(c, answer, t, err);
}
