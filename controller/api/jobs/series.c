/* SPDX-License-Identifier: GPL-2.0-or-later */
/* series.c - GET /v1/jobs/ID/series: how a job's use went, as points over its time beside what it requested. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/model/series/series.h"
#include "common/wire/doc.h"
#include "common/wire/json/load.h"
#include "common/wire/wire.h"
#include "controller/api/authz.h"
#include "controller/api/call.h"
#include "controller/api/jobs/jobs.h"
#include "controller/ledger/archive/archive.h"
#include "controller/ledger/attempts/series.h"

#define MS_PER_S 1000.0
#define KIB 1024

/* How a metric is shown. A rate is what adds up over time, divided by the length of the interval: cores, GPUs. */
struct shown {
	const char *name; /* of the points */
	const char *
		requested; /* key of the request's resources; NULL: nothing like it is requested */
	bool is_rate;
};

static const struct shown shown[_SERIES_METRIC_MAX] = {
	[SERIES_CPU_MS] = { "cores", "ncpus", true },
	[SERIES_MEM_KIB] = { "mem_bytes", "mem_bytes", false },
	[SERIES_VMEM_KIB] = { "vmem_bytes", "vmem_bytes", false },
	[SERIES_JOBFS_KIB] = { "jobfs_bytes", "jobfs_bytes", false },
	[SERIES_GPU_BUSY_MS] = { "gpus_busy", "ngpus", true },
	[SERIES_GPU_MEM_KIB] = { "gpu_mem_bytes", NULL, false },
	[SERIES_SUSPENDED_MS] = { "suspended_s", NULL, false },
};

struct view {
	struct call *c;
	struct store_whose of;
	const char *node; /* of a job on one node */
	int64_t started_ns;
	json_t *resources; /* requested; owned */
	json_t *nodes;	   /* owned until it is part of the answer */
	struct series sum;
	bool is_summed; /* every node is in the sum */
	/* The refused amount of a job that was ended for a limit: in no point. */
	int refused_metric; /* -1: none */
	int64_t refused_bytes;
};

static void view_done(struct view *v)
{
	json_decref(v->resources);
	json_decref(v->nodes);
	series_done(&v->sum);
}

/* ---- points ---- */

static double rate_of(const struct series *s, int m, int i)
{
	return (double)s->of[m][i] / (double)series_length_ms(s, i);
}

static void add_figure(struct doc *d, const struct series *s, int m, int i)
{
	const char *name = shown[m].name;

	if (s->of[m][i] < 0)
		doc_null(d, name);
	else if (shown[m].is_rate)
		doc_real(d, name, rate_of(s, m, i));
	else if (m == SERIES_SUSPENDED_MS)
		doc_real(d, name, (double)s->of[m][i] / MS_PER_S);
	else
		doc_int(d, name, s->of[m][i] * KIB);
}

static json_t *encode_points(const struct series *s)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (int i = 0; i < series_points(s); i++) {
		_cleanup_doc_ struct doc d = doc_object();
		int64_t from_ms = i * s->interval_ms;

		doc_real(&d, "from_s", (double)from_ms / MS_PER_S);
		doc_real(&d, "to_s", (double)(from_ms + series_length_ms(s, i)) / MS_PER_S);
		for (int m = 0; m < _SERIES_METRIC_MAX; m++)
			if (s->of[m])
				add_figure(&d, s, m, i);
		doc_add(&a, doc_take(&d));
	}
	return doc_take(&a);
}

/* ---- metrics ---- */

struct extent {
	double most, sum;
	int64_t length_ms; /* of what was measured */
};

/* Of figures that are shown as they are the mean is that of the points, weighed by their length. */
static struct extent measure_points(const struct series *s, int m)
{
	struct extent e = { 0 };

	for (int i = 0; i < series_points(s); i++) {
		int64_t ms = series_length_ms(s, i);
		double v;

		if (s->of[m][i] < 0)
			continue;
		v = shown[m].is_rate ? rate_of(s, m, i) : (double)s->of[m][i] * KIB;
		e.most = v > e.most ? v : e.most;
		e.sum += v * (double)ms;
		e.length_ms += ms;
	}
	return e;
}

/* What is suspended uses no core: the mean of a rate is that of the time in which the job ran. */
static int64_t mean_over_ms(const struct view *v, int m, int64_t measured_ms)
{
	int64_t ran_ms = measured_ms - series_total(&v->sum, SERIES_SUSPENDED_MS);

	return shown[m].is_rate && ran_ms > 0 ? ran_ms : measured_ms;
}

/* `full` is the top of a chart: the largest of the requested, used and refused amounts. */
static json_t *encode_metric(const struct view *v, int m)
{
	const json_t *asked =
		shown[m].requested ? json_object_get(v->resources, shown[m].requested) : NULL;
	struct extent e = measure_points(&v->sum, m);
	double requested = json_is_integer(asked) ? (double)json_integer_value(asked) : 0;
	double refused = m == v->refused_metric ? (double)v->refused_bytes : 0;
	_cleanup_doc_ struct doc d = doc_object();

	doc_text(&d, "name", shown[m].name);
	if (requested > 0)
		doc_real(&d, "requested", requested);
	if (e.length_ms) {
		doc_real(&d, "most", e.most);
		doc_real(&d, "mean", e.sum / (double)mean_over_ms(v, m, e.length_ms));
		doc_real(&d, "measured_s", (double)e.length_ms / MS_PER_S);
	}
	if (refused > e.most)
		doc_real(&d, "refused", refused);
	doc_real(&d, "full", fmax(fmax(e.most, requested), refused));
	return doc_take(&d);
}

static json_t *encode_metrics(const struct view *v)
{
	_cleanup_doc_ struct doc a = doc_array();

	for (int m = 0; m < SERIES_SUSPENDED_MS; m++)
		if (v->sum.of[m])
			doc_add(&a, encode_metric(v, m));
	return doc_take(&a);
}

/* ---- nodes ---- */

static json_t *encode_node(const struct view *v, const struct store_series *row,
			   const struct series *s)
{
	_cleanup_doc_ struct doc d = doc_object();

	doc_int(&d, "part", row->part);
	doc_text(&d, "node", *row->node ? row->node : v->node);
	doc_real(&d, "elapsed_s", (double)s->elapsed_ms / MS_PER_S);
	doc_real(&d, "cpu_s", (double)series_total(s, SERIES_CPU_MS) / MS_PER_S);
	doc_int(&d, "as_of_ns", row->at_ns);
	return doc_take(&d);
}

/* With "node" in the query only that node's series; else the sum of all. */
static int add_node(void *ctx, const struct store_series *row, struct err *err)
{
	_cleanup_(series_done) struct series s = { 0 };
	struct view *v = ctx;
	const char *only = call_query_text(v->c, "node");
	int r = series_decode(row->data, row->size, &s);

	if (r < 0)
		return err_set(err, r == -ENOMEM ? r : -EBADMSG,
			       "the series of job %lld, part %d, is not readable",
			       (long long)v->of.job, (int)row->part);
	if (json_array_append_new(v->nodes, encode_node(v, row, &s)) < 0)
		return err_set(err, -ENOMEM, "out of memory");
	if (only && strcmp(only, *row->node ? row->node : v->node) != 0)
		return 0;
	r = v->is_summed ? series_sum(&v->sum, &s) : 0;
	if (r == -EDOM) { /* a sum of some nodes would be read as that of all */
		series_done(&v->sum);
		v->sum = (struct series){ 0 };
		v->is_summed = false;
	}
	return r == -ENOMEM ? err_set(err, r, "out of memory") : 0;
}

/* ---- the document ---- */

/* In whose units all amounts of the job are shown: the first that was requested. */
static int64_t find_like(const json_t *resources)
{
	struct resources r = { 0 };

	if (!json_is_object(resources) ||
	    wire_decode_resources(resources, "resources", &r, NULL) < 0)
		return 0;
	return resources_like(&r, 0);
}

/* Of a job on one node: the sentence about a limit is about one. */
static void find_refused(struct view *v, const struct store_job *row)
{
	static const int metrics[_LIMIT_MAX] = {
		[LIMIT_VMEM] = SERIES_VMEM_KIB, [LIMIT_JOBFS] = SERIES_JOBFS_KIB
	};
	_cleanup_json_ json_t *doc =
		row->end && !*row->hosts ? wire_load(row->end, 0, NULL) : NULL;
	struct job_end end;

	v->refused_metric = -1;
	if (!doc || wire_decode_end(doc, "end", &end, NULL) < 0 || end.kind != END_LIMIT ||
	    !metrics[end.reason.limit])
		return;
	v->refused_metric = metrics[end.reason.limit];
	v->refused_bytes = end.reason.reached;
}

static int answer_series(struct view *v, struct err *err)
{
	_cleanup_doc_ struct doc d = doc_message();

	/* The first list is what becomes CSV. */
	doc_set(&d, "points", encode_points(&v->sum));
	doc_set(&d, "metrics", encode_metrics(v));
	doc_set(&d, "nodes", TAKE_PTR(v->nodes));
	doc_int(&d, "job", v->of.job);
	doc_int(&d, "attempt", v->of.attempt);
	doc_int(&d, "started_ns", v->started_ns);
	doc_real(&d, "interval_s", (double)v->sum.interval_ms / MS_PER_S);
	doc_real(&d, "elapsed_s", (double)v->sum.elapsed_ms / MS_PER_S);
	doc_real(&d, "suspended_s",
		 (double)series_total(&v->sum, SERIES_SUSPENDED_MS) / MS_PER_S);
	doc_bool(&d, "is_summed", v->is_summed);
	doc_int(&d, "like_bytes", find_like(v->resources));
	return doc_finish(&d, &v->c->answer, err);
}

/* Rows are read while the job's row is: its texts are copied by what reads them here. */
static int show_series(void *ctx, const struct store_job *row, struct err *err)
{
	struct call *c = ctx;
	_cleanup_json_ json_t *request = NULL;
	_cleanup_(view_done) struct view v = { .c = c,
					       .of = { row->job, row->attempt },
					       .node = row->node ? row->node : "",
					       .started_ns = row->started_ns,
					       .nodes = json_array(),
					       .is_summed = true };
	int r;

	if (!authz_sees_job(c, row->uid, row->account))
		return store_no_job(c->api->c.store, row->job, err);
	if (!v.nodes)
		return err_set(err, -ENOMEM, "out of memory");
	request = row->request ? wire_load(row->request, 0, NULL) : NULL;
	/* Of one of several nodes nothing is known as requested: the request is of the whole job. */
	if (!*row->hosts || !call_query_text(c, "node"))
		v.resources = json_incref(json_object_get(request, "resources"));
	find_refused(&v, row);
	r = store_series_each(c->api->c.store, v.of, add_node, &v, err);
	return r < 0 ? r : answer_series(&v, err);
}

int route_series(struct call *c, struct err *err)
{
	return store_job(c->api->c.store, c->id, show_series, c, err);
}
