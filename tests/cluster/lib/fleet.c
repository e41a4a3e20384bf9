/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet.c - many nodes with a running job each, which report as agents do, and how long that
 * takes.
 *
 * usage: fleet URL MUNGE-SOCKET NODES SECONDS [RECONNECT%]	(as root)
 * A node is a thread with a connection of its own; it syncs every two seconds, takes the job
 * that it is given and reports it as running. RECONNECT% of the syncs come over a new
 * connection, as of an agent that was restarted. What fails is tried again at once; a sync
 * takes from its first try to its answer. Prints "syncs N failed N taken N ended N p50 MS p99
 * MS max MS"; says "ready" on standard error when every node has its job. `ended`: jobs that
 * were to be cancelled or were refused.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "tests/cluster/lib/http_exchange.h"

#define NODES_MAX 1000
#define SAMPLES_MAX 1000000
#define PERIOD_NS 2000000000LL

struct node {
	char name[16];
	struct http *http;
	struct report job;
	bool has_job, has_ended;
	unsigned seed;
};

static struct {
	const char *url, *socket;
	int64_t end_ns;
	int reconnect;
} s;
static struct node nodes[NODES_MAX];
static atomic_int n_samples, n_failed, n_taken, n_ended;
static float samples[SAMPLES_MAX];

static void sleep_ns(int64_t ns)
{
	struct timespec t = { ns / S_NS, ns % S_NS };

	if (ns > 0)
		nanosleep(&t, NULL);
}

static int open_http(struct node *n)
{
	struct http_config c = {
		.url = s.url, .munge_socket = s.socket, .timeout_s = 5, .answer_uid = 0
	};
	struct err err;

	return http_open(&c, &n->http, &err);
}

static json_t *make_sync(struct node *n)
{
	json_t *doc = wire_new(), *jobs = json_array(), *reports = json_array();

	if (n->has_job && !n->has_ended) {
		n->job.seq++;
		n->job.at_ns = clock_ns(CLOCK_REALTIME);
		n->job.running_ns = n->job.at_ns - n->job.started_ns;
		n->job.state = JOB_RUNNING;
		json_array_append_new(jobs, json_pack("{s:I,s:i,s:s}", "job",
						      (json_int_t)n->job.job, "attempt",
						      (int)n->job.attempt, "state", "running"));
		json_array_append_new(reports, wire_encode_report(&n->job));
	}
	json_object_update_new(
		doc,
		json_pack("{s:s,s:s,s:s,s:s,s:i,s:o,s:o,s:{s:i,s:I,s:I,s:i,s:s},"
			  "s:{s:i,s:I,s:I,s:i}}",
			  "node", n->name, "boot", "b1", "version", "test", "state", "up",
			  "tier", 1, "jobs", jobs, "reports", reports, "capacity", "ncpus", 8,
			  "mem_bytes", (json_int_t)1 << 40, "jobfs_bytes", (json_int_t)1 << 40,
			  "ngpus", 0, "topology", "test", "free", "ncpus", 8, "mem_bytes",
			  (json_int_t)1 << 40, "jobfs_bytes", (json_int_t)1 << 40, "ngpus", 0));
	return doc;
}

static void note_end(struct node *n)
{
	if (!n->has_ended)
		n_ended++;
	n->has_ended = true;
}

static void take_answer(struct node *n, const json_t *answer)
{
	const json_t *a = json_object_get(answer, "jobs"), *w = json_array_get(a, 0);
	const char *want = json_string_value(json_object_get(w, "want"));

	if (json_array_size(json_object_get(answer, "refused")) > 0)
		note_end(n);
	if (n->has_job && (!want || strcmp(want, "run") != 0))
		note_end(n);
	if (n->has_job || !want)
		return;
	n->has_job = true;
	n->job.job = json_integer_value(json_object_get(w, "job"));
	n->job.attempt = (int32_t)json_integer_value(json_object_get(w, "attempt"));
	n->job.started_ns = clock_ns(CLOCK_REALTIME);
	n_taken++;
}

static int try_once(struct node *n)
{
	_cleanup_json_ json_t *body = make_sync(n), *answer = NULL;
	struct http_call call = {
		.method = "POST", .path = "/v1/node/sync?wait=0", .body = body, .wait_s = 0
	};
	struct err err;
	int r = http_exchange(n->http, call, &answer, &err);

	if (r == 0) {
		take_answer(n, answer);
		return 0;
	}
	if (n_failed++ < 20)
		fprintf(stderr, "%s: %s\n", n->name, err.text);
	return -1;
}

static void sync_once(struct node *n)
{
	int64_t start_ns = clock_ns(CLOCK_MONOTONIC);
	int i;

	if ((int)(rand_r(&n->seed) % 100) < s.reconnect) {
		n->http = http_close(n->http);
		open_http(n);
	}
	while (try_once(n) < 0 && clock_ns(CLOCK_MONOTONIC) < s.end_ns)
		sleep_ns(20000000);
	i = n_samples++;
	if (i < SAMPLES_MAX)
		samples[i] = (float)(clock_ns(CLOCK_MONOTONIC) - start_ns) / 1e6f;
}

static void *run_node(void *ctx)
{
	struct node *n = ctx;
	int64_t due_ns = clock_ns(CLOCK_MONOTONIC) + rand_r(&n->seed) % PERIOD_NS;

	while (due_ns < s.end_ns) {
		sleep_ns(due_ns - clock_ns(CLOCK_MONOTONIC));
		sync_once(n);
		due_ns += PERIOD_NS;
		if (due_ns < clock_ns(CLOCK_MONOTONIC))
			due_ns = clock_ns(CLOCK_MONOTONIC);
	}
	return NULL;
}

static int compare_floats(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void print_percentiles(void)
{
	size_t n = (size_t)n_samples < SAMPLES_MAX ? (size_t)n_samples : SAMPLES_MAX;

	qsort(samples, n, sizeof(*samples), compare_floats);
	printf("syncs %zu failed %d taken %d ended %d p50 %.0f p99 %.0f max %.0f\n", n,
	       n_failed, n_taken, n_ended, (double)(n ? samples[n / 2] : 0),
	       (double)(n ? samples[n * 99 / 100] : 0), (double)(n ? samples[n - 1] : 0));
}

int main(int argc, char **argv)
{
	static pthread_t threads[NODES_MAX];
	int n = argc > 3 ? atoi(argv[3]) : 0;

	if (argc < 5 || n < 1 || n > NODES_MAX)
		return 2;
	s.url = argv[1];
	s.socket = argv[2];
	s.end_ns = clock_ns(CLOCK_MONOTONIC) + atoll(argv[4]) * S_NS;
	s.reconnect = argc > 5 ? atoi(argv[5]) : 0;
	for (int i = 0; i < n; i++) {
		snprintf(nodes[i].name, sizeof(nodes[i].name), "n%d", i);
		nodes[i].seed = (unsigned)i * 7919 + 1;
		if (open_http(&nodes[i]) < 0)
			return 1;
	}
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, run_node, &nodes[i]) != 0)
			return 1;
	while (n_taken < n && clock_ns(CLOCK_MONOTONIC) < s.end_ns)
		sleep_ns(20000000);
	n_samples = 0; /* what was before every node had its job is not measured */
	fprintf(stderr, n_taken == n ? "ready\n" : "not ready: %d have a job\n", n_taken);
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	print_percentiles();
	return 0;
}
