/* SPDX-License-Identifier: GPL-2.0-or-later */
/* metrics.c - GET /metrics in the Prometheus text format, or as OpenMetrics for clients that accept it. No label has a job in it, since each
 * value of a label is a time series of its own. Which callers get figures by account:
 * metrics_usage.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "common/err.h"
#include "common/stops/stops.h"
#include "common/version.h"
#include "common/wire/json/load.h"
#include "controller/api/usage/usage.h"
#include "controller/http/server.h"
#include "controller/api/call.h"
#include "controller/hooks/hooks.h"
#include "controller/ledger/attempts/gpus.h"
#include "controller/api/usage/metrics_allocations.h"
#include "controller/api/usage/metrics_usage.h"

struct node_sums {
	int64_t n[3], cores, cores_in_use, memory, memory_in_use;
	int64_t oldest_ns; /* the latest exchange of the node that is silent for longest; 0: none */
};

static int add_node(void *ctx, const struct store_node *n, struct err *err)
{
	struct node_sums *s = ctx;

	(void)err;
	s->n[n->lost ? 2 : n->draining ? 1 : 0]++;
	if (n->lost)
		return 0;
	if (!s->oldest_ns || n->last_ns < s->oldest_ns)
		s->oldest_ns = n->last_ns;
	s->cores += n->capacity.ncpus;
	s->cores_in_use += n->in_use.ncpus;
	s->memory += n->capacity.mem_bytes;
	s->memory_in_use += n->in_use.mem_bytes;
	return 0;
}

static int64_t silent_s(const struct node_sums *s)
{
	int64_t now_ns = api_now_ns();

	return s->oldest_ns && now_ns > s->oldest_ns ? (now_ns - s->oldest_ns) / S_NS : 0;
}

static int put_nodes(struct metrics_text *t, struct store *store, struct err *err)
{
	static const char *const states[] = { "up", "drain", "lost" };
	struct node_sums s = { 0 };
	int r = store_nodes(store, add_node, &s, err);

	if (r < 0)
		return r;
	metrics_head(t, "reeve_nodes", "gauge", "Nodes by state.");
	for (int i = 0; i < 3; i++)
		fprintf(t->f, "reeve_nodes{state=\"%s\"} %lld\n", states[i], (long long)s.n[i]);
	metrics_head(
		t, "reeve_node_silent_seconds", "gauge",
		"Since the last exchange of the node that is silent for longest and not lost.");
	fprintf(t->f, "reeve_node_silent_seconds %lld\n", (long long)silent_s(&s));
	metrics_head(t, "reeve_cores", "gauge", "Cores of nodes that are not lost.");
	fprintf(t->f, "reeve_cores %lld\n", (long long)s.cores);
	metrics_head(t, "reeve_cores_held", "gauge", "Cores reserved by jobs.");
	fprintf(t->f, "reeve_cores_held %lld\n", (long long)s.cores_in_use);
	metrics_head(t, "reeve_memory_bytes", "gauge", "Memory of nodes that are not lost.");
	fprintf(t->f, "reeve_memory_bytes %lld\n", (long long)s.memory);
	metrics_head(t, "reeve_memory_held_bytes", "gauge", "Memory reserved by jobs.");
	fprintf(t->f, "reeve_memory_held_bytes %lld\n", (long long)s.memory_in_use);
	return 0;
}

/* ---- GPUs by cluster and model ---- */

enum gpu_metric { GPUS_ALL, GPUS_IN_USE, GPUS_IDLE, GPUS_SIMULATED, _GPU_METRIC_MAX };

struct gpu_sum {
	char cluster[REQUEST_NAME_MAX], model[REQUEST_NAME_MAX];
	int64_t n[_GPU_METRIC_MAX];
};

struct gpu_sums {
	struct gpu_sum *of;
	size_t n;
};

static int gpu_sum_at(struct gpu_sums *s, const char *cluster, const char *model,
		      struct gpu_sum **ret, struct err *err)
{
	struct gpu_sum *more;

	for (size_t i = 0; i < s->n; i++)
		if (!strcmp(s->of[i].cluster, cluster) && !strcmp(s->of[i].model, model)) {
			*ret = &s->of[i];
			return 0;
		}
	more = reallocarray(s->of, s->n + 1, sizeof(*more));
	if (!more)
		return err_set(err, -ENOMEM, "out of memory");
	s->of = more;
	*ret = &more[s->n++];
	**ret = (struct gpu_sum){ .n = { 0 } };
	snprintf((*ret)->cluster, sizeof(more->cluster), "%s", cluster);
	snprintf((*ret)->model, sizeof(more->model), "%s", model);
	return 0;
}

static int add_simulated(struct gpu_sums *s, const struct store_node *n, struct err *err)
{
	_cleanup_json_ json_t *list = wire_load(n->gpus, 0, NULL);
	struct gpu_sum *sum;
	int r = 0;

	for (size_t i = 0; i < json_array_size(list) && r >= 0; i++) {
		json_t *one = json_array_get(list, i);
		const char *model = json_string_value(json_object_get(one, "model"));

		if (!model || !json_is_true(json_object_get(one, "simulated")))
			continue;
		r = gpu_sum_at(s, n->cluster, model, &sum, err);
		if (r >= 0)
			sum->n[GPUS_SIMULATED]++;
	}
	return r;
}

static int add_node_gpus(void *ctx, const struct store_node *n, struct err *err)
{
	struct gpu_sum *sum;
	int r = 0;

	if (n->lost)
		return 0;
	for (int32_t i = 0; i < n->gpu_models.n && r >= 0; i++) {
		r = gpu_sum_at(ctx, n->cluster, n->gpu_models.of[i].model, &sum, err);
		if (r >= 0)
			sum->n[GPUS_ALL] += n->gpu_models.of[i].n;
	}
	if (n->gpu_models.n == 0 && n->capacity.ngpus > 0) {
		r = gpu_sum_at(ctx, n->cluster, "", &sum, err);
		if (r >= 0)
			sum->n[GPUS_ALL] += n->capacity.ngpus;
	}
	if (r >= 0 && strstr(n->gpus, "simulated"))
		r = add_simulated(ctx, n, err);
	return r;
}

static int add_running_gpus(void *ctx, const struct store_gpus_running *g, struct err *err)
{
	struct gpu_sum *sum;
	int r = gpu_sum_at(ctx, g->cluster, g->model, &sum, err);

	if (r < 0)
		return r;
	sum->n[GPUS_IN_USE] += g->in_use;
	sum->n[GPUS_IDLE] += g->idle;
	return 0;
}

static void gpu_sums_done(struct gpu_sums *s)
{
	free(s->of);
}

static int put_gpus(struct metrics_text *t, const struct api_config *c, struct err *err)
{
	static const struct {
		const char *name, *help;
	} metrics[_GPU_METRIC_MAX] = {
		[GPUS_ALL] = { "reeve_gpus", "GPUs of nodes that are not lost." },
		[GPUS_IN_USE] = { "reeve_gpus_held", "GPUs of jobs that run." },
		[GPUS_IDLE] = { "reeve_gpus_allocated_idle",
				"GPUs of jobs that run, idle for GpuIdleMinutes or more." },
		[GPUS_SIMULATED] = { "reeve_gpus_simulated",
				     "GPUs that are doubles: all figures of them are." },
	};
	_cleanup_(gpu_sums_done) struct gpu_sums s = { 0 };
	int r = store_nodes(c->store, add_node_gpus, &s, err);

	if (r >= 0)
		r = store_gpus_running(c->store, config_gpu_idle_ns(c->config),
				       add_running_gpus, &s, err);
	for (int m = 0; m < _GPU_METRIC_MAX && r >= 0; m++) {
		metrics_head(t, metrics[m].name, "gauge", metrics[m].help);
		for (size_t i = 0; i < s.n; i++) {
			fprintf(t->f, "%s{", metrics[m].name);
			metrics_label(t, "cluster", s.of[i].cluster);
			fputc(',', t->f);
			metrics_label(t, "model", s.of[i].model);
			fprintf(t->f, "} %lld\n", (long long)s.of[i].n[m]);
		}
	}
	return r;
}

static int put_count(void *ctx, const struct store_count *c, struct err *err)
{
	struct metrics_text *t = ctx;

	(void)err;
	fputs("reeve_jobs{", t->f);
	metrics_label(t, "cluster", c->cluster);
	fprintf(t->f, ",state=\"%s\"} %lld\n", job_state_name(c->state), (long long)c->n);
	return 0;
}

static struct server_counts counts_of(const struct server *s)
{
	struct server_counts n = { 0 };

	if (s)
		server_get_counts(s, &n);
	return n;
}

static void put_hooks(struct metrics_text *t, const struct hooks *h)
{
	struct hooks_counts n;

	hooks_get_counts(h, &n);
	metrics_head(t, "reeve_hooks_total", "counter",
		     "Runs of the site's program, by how they ended.");
	fprintf(t->f, "reeve_hooks_total{result=\"done\"} %lld\n", (long long)n.done);
	fprintf(t->f, "reeve_hooks_total{result=\"failed\"} %lld\n", (long long)n.failed);
	fprintf(t->f, "reeve_hooks_total{result=\"timed-out\"} %lld\n", (long long)n.timed_out);
	fprintf(t->f, "reeve_hooks_total{result=\"retried\"} %lld\n", (long long)n.retried);
	metrics_head(t, "reeve_hooks_dropped_total", "counter",
		     "Events dropped before the program saw them, since too many waited.");
	fprintf(t->f, "reeve_hooks_dropped_total %lld\n", (long long)n.dropped);
	metrics_head(t, "reeve_hooks_waiting", "gauge", "Events that wait for the program.");
	fprintf(t->f, "reeve_hooks_waiting %lld\n", (long long)n.waiting);
	metrics_head(t, "reeve_hooks_running", "gauge", "Runs of the program now.");
	fprintf(t->f, "reeve_hooks_running %lld\n", (long long)n.running);
}

static void put_kills(struct metrics_text *t, const struct api_counts *n)
{
	metrics_head(
		t, "reeve_kills_total", "counter",
		"Jobs, or their parts on a node, that Reeve killed, by the limit exceeded.");
	for (int i = LIMIT_NONE + 1; i < _LIMIT_MAX; i++)
		fprintf(t->f, "reeve_kills_total{limit=\"%s\"} %lld\n",
			limit_kind_name((enum limit_kind)i), (long long)n->killed[i]);
}

static void put_tls(struct metrics_text *t, const struct api *a)
{
	const struct server_counts server = counts_of(a->server);

	if (!server.has_certificate)
		return;
	metrics_head(t, "reeve_certificate_left_seconds", "gauge",
		     "Time until the controller's certificate expires.");
	fprintf(t->f, "reeve_certificate_left_seconds %lld\n",
		(long long)server.certificate_left_s);
	metrics_head(t, "reeve_tls_handshakes_total", "counter",
		     "TLS handshakes, by how they ended.");
	fprintf(t->f, "reeve_tls_handshakes_total{result=\"done\"} %lld\n",
		(long long)server.handshakes);
	fprintf(t->f, "reeve_tls_handshakes_total{result=\"failed\"} %lld\n",
		(long long)server.handshakes_failed);
	metrics_head(t, "reeve_tls_handshake_seconds_total", "counter",
		     "CPU time of the TLS handshakes that were done.");
	fprintf(t->f, "reeve_tls_handshake_seconds_total %.6f\n",
		(double)server.handshake_ns / 1e9);
}

static void put_counters(struct metrics_text *t, const struct api *a)
{
	const struct api_counts *n = &a->counts;
	const struct server_counts server = counts_of(a->server);
	const struct {
		const char *name, *type, *help;
		int64_t value;
	} all[] = {
		{ "reeve_syncs_total", "counter", "Exchanges with nodes.", n->syncs },
		{ "reeve_reports_total", "counter", "Reports received.", n->reports },
		{ "reeve_reports_new_total", "counter", "Reports that were new.",
		  n->reports_new },
		{ "reeve_reports_refused_total", "counter", "Reports refused.", n->refusals },
		{ "reeve_submissions_total", "counter", "Jobs submitted.", n->submits },
		{ "reeve_sync_batches_total", "counter", "Commits of exchanges with nodes.",
		  n->sync_batches },
		{ "reeve_submit_batches_total", "counter", "Commits of submissions.",
		  n->batches },
		{ "reeve_requests_deferred_total", "counter",
		  "Requests that read, and waited because nodes exchange often.", n->deferred },
		{ "reeve_denied_total", "counter", "Requests refused for want of permission.",
		  n->denied },
		{ "reeve_failures_total", "counter", "Requests that failed in the controller.",
		  n->failures },
		{ "reeve_cycles_total", "counter", "Scheduling cycles.", n->cycles },
		{ "reeve_long_polls", "gauge", "Exchanges that wait.",
		  long_poll_count(a->c.poll) },
		{ "reeve_connections", "gauge", "Connections.", server.connections },
		{ "reeve_requests_total", "counter", "Requests.", server.requests },
		{ "reeve_requests_refused_total", "counter", "Requests refused unread.",
		  server.refused },
		{ "reeve_connections_shed_total", "counter",
		  "Connections and requests refused or dropped for want of room.",
		  server.shed },
		{ "reeve_connections_late_total", "counter",
		  "Connections closed because too little came in time.", server.late },
		{ "reeve_node_loss_held", "gauge",
		  "1: no node is taken for lost, for connections were refused.",
		  a->is_node_loss_paused },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		metrics_head(t, all[i].name, all[i].type, all[i].help);
		fprintf(t->f, "%s %lld\n", all[i].name, (long long)all[i].value);
	}
	metrics_head(t, "reeve_ingest_seconds_total", "counter",
		     "Time spent in committing syncs.");
	fprintf(t->f, "reeve_ingest_seconds_total %lld.%09lld\n",
		(long long)(n->ingest_ns / S_NS), (long long)(n->ingest_ns % S_NS));
	metrics_head(t, "reeve_cycle_seconds_total", "counter",
		     "Time spent in scheduling cycles.");
	fprintf(t->f, "reeve_cycle_seconds_total %lld.%09lld\n",
		(long long)(n->cycle_ns / S_NS), (long long)(n->cycle_ns % S_NS));
	metrics_head(t, "reeve_build_info", "gauge", "The version that runs.");
	fprintf(t->f, "reeve_build_info{version=\"%s\"} 1\n", REEVE_VERSION);
}

/* ---- the event loop ---- */

static void put_stop(struct metrics_text *t, const struct stops_row *row, const char *suffix)
{
	fprintf(t->f, "reeve_loop_stop_seconds%s{", suffix);
	metrics_label(t, "ran", row->name);
}

static void put_stop_row(struct metrics_text *t, const struct stops_row *row)
{
	int64_t n = 0;

	for (int i = 0; i < STOPS_BOUNDS; i++) {
		n += row->buckets[i];
		put_stop(t, row, "_bucket");
		fprintf(t->f, ",le=\"%g\"} %lld\n", stops_bounds_ms[i] / 1e3, (long long)n);
	}
	n += row->buckets[STOPS_BOUNDS];
	put_stop(t, row, "_bucket");
	fprintf(t->f, ",le=\"+Inf\"} %lld\n", (long long)n);
	put_stop(t, row, "_count");
	fprintf(t->f, "} %lld\n", (long long)n);
	put_stop(t, row, "_sum");
	fputs("} ", t->f);
	metrics_seconds_ns(t, row->sum_ns);
}

static void put_stops(struct metrics_text *t)
{
	const struct stops_row *row;

	metrics_head(
		t, "reeve_loop_stop_seconds", "histogram",
		"For how long the event loop did nothing else, by what took most of the time.");
	for (size_t i = 0; (row = stops_row(i)); i++)
		put_stop_row(t, row);
	metrics_head(t, "reeve_loop_longest_stop_seconds", "gauge",
		     "The longest of these since the controller started.");
	for (size_t i = 0; (row = stops_row(i)); i++) {
		fputs("reeve_loop_longest_stop_seconds{", t->f);
		metrics_label(t, "ran", row->name);
		fputs("} ", t->f);
		metrics_seconds_ns(t, row->longest_ns);
	}
}

static int put_all(struct metrics_text *t, struct call *c, bool by_account, struct err *err)
{
	struct api *a = c->api;
	struct store *store = a->c.store;
	int r;

	put_counters(t, a);
	put_stops(t);
	put_tls(t, a);
	put_kills(t, &a->counts);
	put_hooks(t, a->hooks);
	r = put_nodes(t, store, err);
	if (r >= 0)
		r = put_gpus(t, &a->c, err);
	metrics_head(t, "reeve_jobs", "gauge",
		     "Jobs that have not ended, by cluster and state.");
	if (r >= 0)
		r = store_counts(store, put_count, t, err);
	if (r >= 0)
		r = metrics_put_usage(t, a, by_account, err);
	if (r >= 0 && by_account)
		r = metrics_put_allocations(t, c, err);
	metrics_end(t);
	return r;
}

int route_metrics(struct call *c, struct err *err)
{
	struct metrics_text t = { NULL, metrics_wants_open(exchange_header(c->x, "Accept")) };
	bool by_account = false;
	size_t size;
	int r = metrics_may_see_accounts(c, &by_account, err);

	if (r < 0)
		return r;
	t.f = open_memstream(&c->text, &size);
	if (!t.f)
		return err_set(err, -ENOMEM, "out of memory");
	r = put_all(&t, c, by_account, err);
	if (fclose(t.f) != 0 && r >= 0)
		r = err_set(err, -ENOMEM, "out of memory");
	c->type = metrics_type(&t);
	return r;
}
