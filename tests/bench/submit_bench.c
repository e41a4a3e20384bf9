/* SPDX-License-Identifier: GPL-2.0-or-later */
/* submit_bench.c - many users submit jobs at once, signed, each over connections of their own.
 *
 * usage: submit_bench URL MUNGE-SOCKET SECONDS UID:CONNECTIONS:PAUSE_MS...      (as root)
 * Each connection submits a job, waits for the answer and PAUSE_MS, and again. Prints for each
 * UID:... how many were taken, how many a second, and how long an answer took: p50, p99, most.
 * SUBMIT_BENCH_CA: the authority, of a controller with https.
 * Exit status 1 when one was refused.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "tests/cluster/lib/http_exchange.h"

#define GROUPS_MAX 8
#define SAMPLES_MAX 400000 /* of a group */

struct group {
	unsigned uid;
	int n_connections;
	long pause_ms;
	size_t n, n_bad;
	int32_t took_us[SAMPLES_MAX];
};

static const char *url, *socket_path;
static struct group *groups; /* shared by all processes */
static int64_t until_ns;

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static json_t *make_body(void)
{
	return json_pack("{s:s,s:{s:{s:i,s:I,s:i},s:s,s:s,s:s,s:[s],s:[s],s:s}}", "schema",
			 "reeve/1", "request", "resources", "ncpus", 1, "vmem_bytes",
			 (json_int_t)1000000000, "walltime_s", 60, "account", "physics", "name",
			 "bench", "script", "#!/bin/sh\nexec ./model --case 7\n", "argv", "7",
			 "env", "HOME=/", "workdir", "/");
}

static void hand_in(struct group *g)
{
	const struct http_config config = { .url = url,
					    .munge_socket = socket_path,
					    .timeout_s = 60,
					    .answer_uid = -1,
					    .ca_file = getenv("SUBMIT_BENCH_CA") };
	_cleanup_(http_closep) struct http *h = NULL;
	const struct timespec pause = { g->pause_ms / 1000, g->pause_ms % 1000 * 1000000 };
	struct err err = { "" };
	json_t *body = make_body();

	errno = 0;
	/* Who floods stands for many other machines: its cores are not those of the one user.
	 */
	if (g->n_connections > 1 && nice(15) < 0)
		_exit(1);
	if (setgid(g->uid) < 0 || setuid(g->uid) < 0 || http_open(&config, &h, &err) < 0)
		_exit(1);
	while (now_ns() < until_ns) {
		const struct http_call call = {
			.method = "POST", .path = "/v1/jobs", .body = body, .wait_s = 0
		};
		int64_t start_ns = now_ns();
		json_t *answer = NULL;
		int r = http_exchange(h, call, &answer, &err);
		size_t i = __atomic_fetch_add(r == 0 ? &g->n : &g->n_bad, 1, __ATOMIC_RELAXED);

		if (r == 0 && i < SAMPLES_MAX)
			g->took_us[i] = (int32_t)((now_ns() - start_ns) / 1000);
		else if (r != 0 && i == 0)
			fprintf(stderr, "uid %u: %s\n", g->uid, err.text);
		json_decref(answer);
		if (g->pause_ms)
			nanosleep(&pause, NULL);
	}
	_exit(0);
}

static int compare_int32(const void *a, const void *b)
{
	return *(const int32_t *)a - *(const int32_t *)b;
}

static void print_group(struct group *g, double seconds)
{
	size_t n = g->n < SAMPLES_MAX ? g->n : SAMPLES_MAX;

	qsort(g->took_us, n, sizeof(*g->took_us), compare_int32);
	printf("uid %u, %d connections: %zu taken, %.0f/s, answer p50 %.1f ms, p99 %.1f ms, "
	       "most "
	       "%.1f ms%s\n",
	       g->uid, g->n_connections, g->n, (double)g->n / seconds,
	       n ? g->took_us[n / 2] / 1e3 : 0, n ? g->took_us[n * 99 / 100] / 1e3 : 0,
	       n ? g->took_us[n - 1] / 1e3 : 0, g->n_bad ? ", some refused" : "");
}

int main(int argc, char **argv)
{
	int n_groups = argc - 4, bad = 0;
	int64_t start_ns = now_ns();

	if (n_groups < 1 || n_groups > GROUPS_MAX)
		return 64;
	url = argv[1];
	socket_path = argv[2];
	until_ns = start_ns + (int64_t)(atof(argv[3]) * 1e9);
	groups = mmap(NULL, GROUPS_MAX * sizeof(*groups), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (groups == MAP_FAILED)
		return 1;
	for (int i = 0; i < n_groups; i++) {
		struct group *g = &groups[i];

		if (sscanf(argv[4 + i], "%u:%d:%ld", &g->uid, &g->n_connections,
			   &g->pause_ms) != 3)
			return 64;
		for (int c = 0; c < g->n_connections; c++)
			if (fork() == 0)
				hand_in(g);
	}
	while (wait(NULL) > 0 || errno == EINTR)
		;
	for (int i = 0; i < n_groups; i++) {
		print_group(&groups[i], (double)(now_ns() - start_ns) / 1e9);
		bad |= groups[i].n_bad > 0;
	}
	return bad;
}
