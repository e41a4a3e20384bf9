/* SPDX-License-Identifier: GPL-2.0-or-later */
/* job_gpus.c - prints the table of a job's GPUs; see job_gpus.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "cli/views/job_gpus.h"
#include "common/err.h"
#include "common/model/amount.h"
#include "common/time_units.h"
#include "common/wire/wire.h"

static const struct table_column columns[] = {
	{ "gpu", "GPU", CELL_TEXT },
	{ "model", "MODEL", CELL_TEXT },
	{ "busy", "BUSY %", CELL_FIGURE },
	{ "mem", "MEMORY", CELL_BYTES },
	{ "mem_peak", "PEAK", CELL_BYTES },
	{ "mem_total", "OF", CELL_BYTES },
	{ "energy", "ENERGY", CELL_TEXT },
	{ "idle", "IDLE", CELL_DURATION_NS },
	{ "opens", "OPENS", CELL_COUNT },
	{ "source", "SOURCE", CELL_TEXT },
	{ 0 },
};

struct list {
	struct gpu_use *of;
	int32_t n;
};

static void list_done(struct list *l)
{
	free(l->of);
}

static void put_known(struct table *t, const char *column, const struct gpu_use *g,
		      const int64_t *field)
{
	if (gpu_use_has(g, field))
		table_int(t, column, *field);
}

static void put_energy(struct table *t, const struct gpu_use *g)
{
	char buf[AMOUNT_TEXT_MAX];
	int64_t wh_hundredths = g->energy_mj / 36000;

	if (!gpu_use_has(g, &g->energy_mj))
		return;
	snprintf(buf, sizeof(buf), "%" PRId64 ".%02d Wh", wh_hundredths / 100,
		 (int)(wh_hundredths % 100));
	table_text(t, "energy", buf);
}

/* Percentages are cut to a tenth, not rounded: 99.9 is not shown as all of the time. */
static void put_gpu(struct table *t, const struct gpu_use *g, const struct job_view *v)
{
	char buf[AMOUNT_TEXT_MAX], source[sizeof(g->source) + 16];
	int64_t running_ns = v->running_ns;

	table_row(t);
	table_text(t, "gpu", g->uuid);
	table_text(t, "model", *g->model ? g->model : NULL);
	if (gpu_use_has(g, &g->busy_ns) && running_ns > 0) {
		int64_t permille = (int64_t)((__int128)g->busy_ns * 1000 / running_ns);

		snprintf(buf, sizeof(buf), "%" PRId64 ".%d", permille / 10,
			 (int)(permille % 10));
		table_text(t, "busy", buf);
	}
	put_known(t, "mem", g, &g->mem_bytes);
	put_known(t, "mem_peak", g, &g->mem_peak_bytes);
	put_known(t, "mem_total", g, &g->mem_total_bytes);
	put_energy(t, g);
	put_known(t, "idle", g, &g->idle_ns);
	if (gpu_use_is_idle(g, cli_int(v->j, "gpu_idle_after_ns", 0)))
		table_tone(t, "idle", TONE_BAD);
	put_known(t, "opens", g, &g->opens);
	snprintf(source, sizeof(source), "%s%s", *g->source ? g->source : "unknown",
		 g->is_simulated ? " (simulated)" : "");
	table_text(t, "source", source);
}

int64_t job_gpus_memory(const struct job_view *v)
{
	_cleanup_(list_done) struct list l = { 0 };
	int64_t sum = 0;

	if (wire_decode_gpus(json_object_get(v->j, "gpus"), "gpus", &l.of, &l.n, NULL) < 0)
		return -1;
	for (int32_t i = 0; i < l.n; i++)
		if (!gpu_use_has(&l.of[i], &l.of[i].mem_total_bytes) ||
		    __builtin_add_overflow(sum, l.of[i].mem_total_bytes, &sum))
			return -1;
	return l.n == v->requested.ngpus ? sum : -1;
}

int job_gpus_show(const struct cli *c, const struct job_view *v, struct err *err)
{
	const json_t *gpus = json_object_get(v->j, "gpus");
	_cleanup_(table_freep) struct table *t = NULL;
	_cleanup_(list_done) struct list l = { 0 };
	int r = 0;

	if (!json_is_array(gpus) || json_array_size(gpus) == 0)
		return 0;
	if (wire_decode_gpus(gpus, "gpus", &l.of, &l.n, err) < 0)
		return err_prefix(err, -EPROTO, "the controller's answer cannot be read");
	r = table_new("gpus", columns, &t, err);
	for (int32_t i = 0; i < l.n && r == 0; i++)
		put_gpu(t, &l.of[i], v);
	if (r < 0)
		return r;
	fputc('\n', c->format.to);
	r = table_print(t, &c->format, err);
	if (r == 0 && json_is_true(json_object_get(v->j, "gpu_idle")))
		fprintf(c->format.to,
			"allocated but idle: a GPU has done nothing for %" PRId64 " minutes\n",
			v->usage.gpu_idle_ns / MIN_NS);
	return r;
}
