/* SPDX-License-Identifier: GPL-2.0-or-later */
/* past_bench.c - the controller's CPU time for a job's whole life: submitted, dispatched to its
 * node, running, seen in a listing, ended.
 *
 * usage: past_bench URL MUNGE-SOCKET UID JOBS "CONTROLLER-PID [SERVER-PID...]" [SERIES]  (as root, who plays the node)
 * One job after the other, of UID; with SERIES (base64) both of its reports carry that series. Prints milliseconds of CPU time
 * a job: the controller's, and that of the database server's processes. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "common/err.h"
#include "tests/bench/bench_documents.h"
#include "tests/cluster/lib/http_exchange.h"

#define WARM_UP 20

static struct http *as_node, *as_user;
static uid_t user;
static const char *series;

/* Takes the body. munged looks at who connects to it. */
static json_t *send_request(struct http *h, const char *method, const char *path, json_t *body)
{
	struct http_call call = { method, path, body, 20 };
	json_t *answer = NULL;
	struct err err = { "" };

	if (h == as_user && seteuid(user) < 0)
		exit(1);
	if (http_exchange(h, call, &answer, &err) != 0) {
		fprintf(stderr, "past_bench: %s %s: %s\n", method, path, err.text);
		exit(1);
	}
	if (h == as_user && seteuid(0) < 0)
		exit(1);
	json_decref(body);
	return answer;
}

/* Takes both lists. */
static json_t *sync_node(json_t *jobs, json_t *reports)
{
	return send_request(as_node, "POST", BENCH_NODE_SYNC,
			    bench_node_document(64, jobs, reports));
}

static json_t *make_report(json_int_t job, int seq, const char *state)
{
	int is_over = !strcmp(state, "ended");
	json_int_t now = (json_int_t)time(NULL) * 1000000000;
	json_t *reports =
		json_pack("[{s:I,s:i,s:i,s:I,s:s,s:I,s:I,s:i,s:i,s:{},s:{s:s,s:i,s:i,"
			  "s:{s:s,s:i,s:i,s:i,s:s,s:i,s:[],s:s}},s:s,s:s}]",
			  "job", job, "attempt", 1, "seq", seq, "at_ns", now, "state", state,
			  "started_ns", now, "ended_ns", is_over ? now : 0, "running_ns", 0,
			  "suspended_ns", 0, "usage", "end", "kind",
			  is_over ? "exited" : "none", "exit_status", 0, "signal", 0, "reason",
			  "limit", "none", "requested", -1, "reached", -1, "at_ns", 0, "host",
			  "", "n_procs", 0, "procs", "text", "", "cpus", "0", "note", "");

	if (series)
		json_object_set_new(json_array_get(reports, 0), "series", json_string(series));
	return reports;
}

static void one_life(void)
{
	json_t *answer = send_request(as_user, "POST", "/v1/jobs", bench_submission());
	json_int_t job = json_integer_value(json_object_get(answer, "job"));

	json_decref(answer);
	json_decref(sync_node(json_array(), json_array()));
	json_decref(sync_node(
		json_pack("[{s:I,s:i,s:s}]", "job", job, "attempt", 1, "state", "running"),
		make_report(job, 1, "running")));
	json_decref(send_request(as_user, "GET", "/v1/jobs?state=active", NULL));
	json_decref(sync_node(json_array(), make_report(job, 2, "ended")));
}

static double cpu_of(const char *pid)
{
	unsigned long user_ticks = 0, system_ticks = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	f = fopen(path, "re");
	if (!f || fscanf(f, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu",
			 &user_ticks, &system_ticks) != 2)
		exit(1);
	fclose(f);
	return (double)(user_ticks + system_ticks) * 1000 / (double)sysconf(_SC_CLK_TCK);
}

struct cpu_ms {
	double controller, server;
};

/* `pids`: the controller's, then the server's, with blanks between them. */
static struct cpu_ms read_cpu(const char *pids)
{
	struct cpu_ms sum = { 0, 0 };
	char text[4096], *at = text;
	const char *pid;

	snprintf(text, sizeof(text), "%s", pids);
	pid = strsep(&at, " ");
	sum.controller = cpu_of(pid);
	while ((pid = strsep(&at, " ")))
		sum.server += cpu_of(pid);
	return sum;
}

int main(int argc, char **argv)
{
	int n = argc == 6 || argc == 7 ? atoi(argv[4]) : 0;
	struct cpu_ms before, after;

	if (n < 1)
		return 64;
	series = argv[6];
	user = (uid_t)atoi(argv[3]);
	as_node = http_exchange_open("past_bench", argv[1], argv[2]);
	as_user = http_exchange_open("past_bench", argv[1], argv[2]);
	for (int i = 0; i < WARM_UP; i++)
		one_life();
	before = read_cpu(argv[5]);
	for (int i = 0; i < n; i++)
		one_life();
	after = read_cpu(argv[5]);
	printf("%.2f %.2f\n", (after.controller - before.controller) / n,
	       (after.server - before.server) / n);
	return 0;
}
