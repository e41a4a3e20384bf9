/* SPDX-License-Identifier: GPL-2.0-or-later */
/* start_bench.c - from the submission of a job to its arrival at a node, on an idle cluster.
 *
 * usage: start_bench URL MUNGE-SOCKET UID JOBS           (as root, who plays the node)
 * The node waits in a long poll, as agents do; it lists the jobs it gets as running from
 * then on. UID submits one job after the other. Prints how long after its submission
 * began a job was with the node, and beside it the submission alone: p50, p99, most. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "tests/bench/bench_documents.h"
#include "tests/cluster/lib/http_exchange.h"

#define JOBS_MAX 4096

struct shared {
	int64_t came_ns[JOBS_MAX]; /* by job */
};
static struct shared *shared;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void play_node(struct http *h)
{
	json_t *jobs = json_array();

	for (;;) {
		json_t *body = bench_node_document(1000000, json_incref(jobs), json_array());
		struct http_call call = { .method = "POST",
					  .path = BENCH_NODE_SYNC,
					  .body = body,
					  .wait_s = BENCH_NODE_WAIT_S };
		json_t *answer = NULL, *job;
		struct err err = { "" };
		size_t i;

		if (http_exchange(h, call, &answer, &err) != 0) {
			fprintf(stderr, "start_bench: node: %s\n", err.text);
			_exit(1);
		}
		json_array_foreach(json_object_get(answer, "jobs"), i, job)
		{
			json_int_t id = json_integer_value(json_object_get(job, "job"));

			if (id <= 0 || id >= JOBS_MAX || shared->came_ns[id])
				continue;
			__atomic_store_n(&shared->came_ns[id], now_ns(), __ATOMIC_SEQ_CST);
			json_array_append_new(jobs,
					      json_pack("{s:I,s:i,s:s}", "job", id, "attempt",
							1, "state", "running"));
		}
		json_decref(answer);
		json_decref(body);
	}
}

static json_int_t submit_job(struct http *h)
{
	json_t *body = bench_submission();
	struct http_call call = {
		.method = "POST", .path = "/v1/jobs", .body = body, .wait_s = 0
	};
	json_t *answer = NULL;
	struct err err = { "" };
	json_int_t id;

	if (http_exchange(h, call, &answer, &err) != 0) {
		fprintf(stderr, "start_bench: %s\n", err.text);
		return 0;
	}
	id = json_integer_value(json_object_get(answer, "job"));
	json_decref(answer);
	json_decref(body);
	return id;
}

static int compare_int64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void print_percentiles(const char *what, int64_t *ns, int n)
{
	qsort(ns, (size_t)n, sizeof(*ns), compare_int64);
	printf("%s: p50 %.1f ms, p99 %.1f ms, most %.1f ms\n", what, (double)ns[n / 2] / 1e6,
	       (double)ns[n * 99 / 100] / 1e6, (double)ns[n - 1] / 1e6);
}

static int submit_all(const char *url, const char *socket, unsigned uid, int n)
{
	static int64_t to_node[JOBS_MAX], to_answer[JOBS_MAX];
	struct http *h;

	if (setgid(uid) < 0 || setuid(uid) < 0)
		return 1;
	h = http_exchange_open("start_bench", url, socket);
	for (int i = 0; i < n; i++) {
		int64_t start = now_ns(), until = start + 10 * INT64_C(1000000000);
		json_int_t id = submit_job(h);

		if (id <= 0 || id >= JOBS_MAX)
			return 1;
		to_answer[i] = now_ns() - start;
		while (!__atomic_load_n(&shared->came_ns[id], __ATOMIC_SEQ_CST))
			if (usleep(100), now_ns() > until)
				return fprintf(stderr, "start_bench: job %lld never came\n",
					       (long long)id);
		to_node[i] = shared->came_ns[id] - start;
		usleep(20000); /* the node is back in its exchange */
	}
	print_percentiles("submission to the node", to_node, n);
	print_percentiles("the submission alone  ", to_answer, n);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc == 5 ? atoi(argv[4]) : 0, status = 1;
	pid_t node, user;

	if (n < 1 || n >= JOBS_MAX / 2)
		return 64;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED)
		return 1;
	node = fork();
	if (node == 0)
		play_node(http_exchange_open("start_bench", argv[1], argv[2]));
	usleep(300000);
	user = fork();
	if (user == 0)
		_exit(submit_all(argv[1], argv[2], (unsigned)atoi(argv[3]), n) ||
		      fflush(stdout));
	waitpid(user, &status, 0);
	kill(node, SIGKILL);
	waitpid(node, NULL, 0);
	return status != 0;
}
