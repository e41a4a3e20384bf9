/* SPDX-License-Identifier: GPL-2.0-or-later */
/* storm.c - a node under a controller that is killed with -9 again and again.
 *
 * usage: storm CONTROLLER CONFIG URL MUNGE-SOCKET N-JOBS N-KILLS SEED     (as root; prints TAP)
 * The jobs 1 to N-JOBS were submitted before; job i asks for what shapes[i % 4] says. This node
 * takes them, lets time pass for each at random, and reports as a real one does: cumulative,
 * numbered; sometimes again, sometimes an old report after a new one. The controller is killed
 * at random moments, most of them inside an exchange. After each start, everything that was
 * ever acknowledged must be there. At the end every charge must be exactly rate x running time.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include "common/err.h"
#include "common/wire/wire.h"
#include "tests/cluster/lib/http_exchange.h"

#define JOBS_MAX 256

struct shape {
	int64_t num, den;
};
/* 1 core 4 GB; 2 cores 10 GB; 1 core 8 GB; 3 cores 3 GB; of a bundle of 1 core and 4 GB. */
static const struct shape shapes[] = { { 1, 1 }, { 5, 2 }, { 2, 1 }, { 3, 1 } };

struct job {
	struct report now, old; /* the latest, and one from before */
	bool is_taken, is_forgotten;
	int64_t acked_seq, acked_running_ns;
	int64_t said_ns[4096]; /* running time by seq */
};

static struct {
	const char *controller, *config, *url, *socket;
	pid_t pid;
	int notify_fd;
	char notify_path[108];
	struct http *http, *viewer; /* answers to a node are signed, views are not */
	struct job jobs[JOBS_MAX + 1];
	int n_jobs, kills, syncs, failed_syncs;
	int64_t took_us; /* a usual exchange */
	uint64_t seed;
} s;

static int n_tests, n_bad;

static void print_result(bool ok, const char *name)
{
	printf("%sok %d - %s\n", ok ? "" : "not ", ++n_tests, name);
	fflush(stdout);
	n_bad += !ok;
}

static void bail_out(const char *what)
{
	printf("Bail out! %s\n", what);
	if (s.pid > 0)
		kill(s.pid, SIGKILL);
	exit(1);
}

static int64_t draw_number(int64_t n)
{
	s.seed = s.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int64_t)((s.seed >> 33) % (uint64_t)n);
}

/* --- the controller's life --- */

static void open_notify(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%s.notify", s.config);
	strcpy(s.notify_path, a.sun_path);
	unlink(a.sun_path);
	s.notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (s.notify_fd < 0 || bind(s.notify_fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		bail_out("notify socket");
}

static void start_controller(void)
{
	struct timeval patience = { .tv_sec = 30 };
	char text[1024];
	ssize_t n;

	s.pid = fork();
	if (s.pid == 0) {
		setenv("NOTIFY_SOCKET", s.notify_path, 1);
		execl(s.controller, s.controller, "--config", s.config, NULL);
		_exit(127);
	}
	setsockopt(s.notify_fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	do {
		n = recv(s.notify_fd, text, sizeof(text) - 1, 0);
		if (n <= 0)
			bail_out("the controller did not become ready");
		text[n] = '\0';
	} while (!strstr(text, "READY=1"));
}

static void kill_and_start(void)
{
	char stale[1024];

	kill(s.pid, SIGKILL);
	waitpid(s.pid, NULL, 0);
	s.kills++;
	/* A READY from the last life, if it was killed before we read it. */
	while (recv(s.notify_fd, stale, sizeof(stale), MSG_DONTWAIT) > 0)
		;
	start_controller();
}

/* A child that kills the controller in a moment, while we talk to it. */
static pid_t kill_soon(int64_t us)
{
	pid_t pid = fork();

	if (pid == 0) {
		struct timespec t = { 0, us * 1000 };

		nanosleep(&t, NULL);
		kill(s.pid, SIGKILL);
		_exit(0);
	}
	return pid;
}

/* --- the node --- */

static int64_t real_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static void pass_time(struct job *j)
{
	struct report *r = &j->now;
	int64_t left = real_ns() - r->started_ns - r->running_ns - r->suspended_ns;

	if (r->state == JOB_ENDED || r->seq >= 4000)
		return;
	left = left < 1 ? 1 : left;
	if (draw_number(3) == 0)
		j->old = *r;
	r->seq++;
	/* No longer than since it was taken: more than that is not charged. */
	r->running_ns += draw_number(left / 2 + 1);
	r->suspended_ns += draw_number(4) ? 0 : draw_number(left / 2 + 1);
	r->at_ns = r->started_ns + r->running_ns + r->suspended_ns;
	usage_set(&r->usage, &r->usage.cpu_ns, r->running_ns / 2);
	usage_set(&r->usage, &r->usage.rss_peak_bytes, 1000000 * (r->seq % 50 + 1));
	r->state = JOB_RUNNING;
	j->said_ns[r->seq] = r->running_ns;
}

static void end_job(struct job *j)
{
	pass_time(j);
	j->now.state = JOB_ENDED;
	j->now.ended_ns = j->now.at_ns;
	j->now.end.kind = END_EXITED;
}

static json_t *make_sync(void)
{
	json_t *doc = wire_new(), *jobs = json_array(), *reports = json_array();

	for (int i = 1; i <= s.n_jobs; i++) {
		struct job *j = &s.jobs[i];

		if (!j->is_taken || j->is_forgotten)
			continue;
		json_array_append_new(jobs, json_pack("{s:i,s:i,s:s}", "job", i, "attempt", 1,
						      "state", job_state_name(j->now.state)));
		if (draw_number(4) == 0 && json_array_size(reports) < 400 && j->old.seq > 0)
			json_array_append_new(reports, wire_encode_report(&j->old));
		if (draw_number(3) || j->now.state == JOB_ENDED)
			json_array_append_new(reports, wire_encode_report(&j->now));
		if (draw_number(4) == 0 && json_array_size(reports) < 400 && j->old.seq > 0)
			json_array_append_new(reports, wire_encode_report(&j->old));
	}
	json_object_update_new(
		doc, json_pack("{s:s,s:s,s:s,s:s,s:i,s:o,s:o,s:{s:i,s:I,s:I,s:i,s:s},"
			       "s:{s:i,s:I,s:I,s:i}}",
			       "node", "n1", "boot", "boot-1", "version", "test", "state", "up",
			       "tier", 1, "jobs", jobs, "reports", reports, "capacity", "ncpus",
			       1024, "mem_bytes", (json_int_t)1 << 44, "jobfs_bytes",
			       (json_int_t)1 << 44, "ngpus", 0, "topology", "test", "free",
			       "ncpus", 1024, "mem_bytes", (json_int_t)1 << 44, "jobfs_bytes",
			       (json_int_t)1 << 44, "ngpus", 0));
	return doc;
}

static void take_wants(const json_t *answer)
{
	const json_t *a = json_object_get(answer, "jobs");

	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *w = json_array_get(a, i);
		int64_t id = json_integer_value(json_object_get(w, "job"));
		struct job *j = &s.jobs[id];

		if (id < 1 || id > s.n_jobs || j->is_taken)
			continue;
		if (!json_is_object(json_object_get(w, "request")))
			bail_out("a job came without its request");
		j->is_taken = true;
		j->now.job = id;
		j->now.attempt = 1;
		j->now.started_ns = real_ns();
		j->now.at_ns = j->now.started_ns;
		j->now.state = JOB_STARTING;
	}
}

static void take_acks(const json_t *answer)
{
	const json_t *a = json_object_get(answer, "acks");

	if (json_array_size(json_object_get(answer, "refused")) > 0)
		bail_out("a report was refused");
	for (size_t i = 0; i < json_array_size(a); i++) {
		const json_t *k = json_array_get(a, i);
		int64_t id = json_integer_value(json_object_get(k, "job"));
		int64_t seq = json_integer_value(json_object_get(k, "seq"));
		struct job *j = &s.jobs[id];

		if (seq > j->now.seq)
			bail_out("acknowledged what was never said");
		if (seq <= j->acked_seq)
			continue;
		j->acked_seq = seq;
		j->acked_running_ns = j->said_ns[seq];
		if (j->now.state == JOB_ENDED && seq == j->now.seq)
			j->is_forgotten = true;
	}
}

/* http_exchange(), again while the controller stands by: after a kill -9 a PostgreSQL server needs a
 * moment to notice that the connection which held the lease is gone. */
static int exchange_with_leader(struct http *h, struct http_call call, json_t **ret,
				struct err *err)
{
	const struct timespec pause = { 0, 50000000 };
	int r = http_exchange(h, call, ret, err);

	for (int i = 0; r == 503 && i < 1200; i++) {
		*ret = wire_unref(*ret);
		nanosleep(&pause, NULL);
		r = http_exchange(h, call, ret, err);
	}
	return r;
}

static int sync_once(void)
{
	_cleanup_json_ json_t *body = make_sync(), *answer = NULL;
	struct http_call call = {
		.method = "POST", .path = "/v1/node/sync?wait=0", .body = body, .wait_s = 0
	};
	struct err err = { "" };
	struct timespec a, z;
	int r;

	clock_gettime(CLOCK_MONOTONIC, &a);
	r = exchange_with_leader(s.http, call, &answer, &err);
	clock_gettime(CLOCK_MONOTONIC, &z);
	s.syncs++;
	if (r > 0)
		bail_out(err.text);
	if (r < 0) {
		s.failed_syncs++;
		return r;
	}
	s.took_us = (z.tv_sec - a.tv_sec) * 1000000 + (z.tv_nsec - a.tv_nsec) / 1000;
	take_wants(answer);
	take_acks(answer);
	return 0;
}

/* --- what the controller says --- */

static json_t *get_document(const char *path)
{
	struct http_call call = { .method = "GET", .path = path, .body = NULL, .wait_s = 0 };
	struct err err = { "" };
	json_t *answer = NULL;
	int r = exchange_with_leader(s.viewer, call, &answer, &err);

	if (r != 0)
		bail_out(err.text);
	return answer;
}

static int64_t job_figure(int id, const char *key)
{
	char path[64];
	_cleanup_json_ json_t *doc = NULL;

	snprintf(path, sizeof(path), "/v1/jobs/%d", id);
	doc = get_document(path);
	return json_integer_value(json_object_get(json_object_get(doc, "job"), key));
}

static int count_lost(void)
{
	int lost = 0;

	for (int i = 1; i <= s.n_jobs; i++)
		if (s.jobs[i].acked_seq &&
		    job_figure(i, "running_ns") < s.jobs[i].acked_running_ns)
			lost++;
	return lost;
}

static int64_t expected_ms(int id)
{
	const struct shape *q = &shapes[id % 4];
	__int128 ns = s.jobs[id].now.running_ns;

	return (int64_t)((ns * q->num * 2 + q->den * 1000000) / (q->den * 2000000));
}

static int64_t sum_rollups(const char *key)
{
	_cleanup_json_ json_t *doc = get_document("/v1/usage?by=account");
	const json_t *rows = json_object_get(doc, "rows");
	int64_t sum = 0;

	for (size_t i = 0; i < json_array_size(rows); i++)
		sum += json_integer_value(json_object_get(json_array_get(rows, i), key));
	return sum;
}

static void check_end(void)
{
	int64_t sum = 0;
	int wrong_charge = 0, wrong_time = 0;

	for (int i = 1; i <= s.n_jobs; i++) {
		int64_t ms = job_figure(i, "charge_requested_ms");

		sum += expected_ms(i);
		if (ms != expected_ms(i) && wrong_charge++ < 5)
			printf("# job %d: charged %lld, expected %lld\n", i, (long long)ms,
			       (long long)expected_ms(i));
		wrong_time += job_figure(i, "running_ns") != s.jobs[i].now.running_ns;
	}
	print_result(wrong_time == 0, "every job's running time is what its node measured");
	print_result(wrong_charge == 0, "every job's charge is exactly rate x running time");
	print_result(sum_rollups("charge_requested_ms") == sum,
		     "the days sum to the charges, nothing twice, nothing lost");
	print_result(sum_rollups("jobs_started") == s.n_jobs &&
			     sum_rollups("jobs_ended") == s.n_jobs,
		     "every job started once and ended once");
}

/* One life of the controller: some exchanges, then a kill in or after one of them. */
static int one_life(void)
{
	int64_t last = 1 + draw_number(6);

	for (int64_t i = 0; i < last; i++) {
		for (int id = 1; id <= s.n_jobs; id++)
			if (s.jobs[id].is_taken && draw_number(2))
				pass_time(&s.jobs[id]);
		if (i == last - 1 && draw_number(5)) {
			pid_t killer = kill_soon(draw_number(s.took_us + 1));

			sync_once();
			waitpid(killer, NULL, 0);
		} else {
			sync_once();
		}
	}
	kill_and_start();
	return count_lost();
}

static void check_ledger(void)
{
	for (int i = 0; i < 20; i++)
		sync_once();
	for (int id = 1; id <= s.n_jobs; id++) {
		if (!s.jobs[id].is_taken)
			bail_out("a job was never given");
		end_job(&s.jobs[id]);
	}
	for (int i = 0; i < 20; i++)
		sync_once();
}

static struct http *open_http(int64_t answer_uid)
{
	struct http_config c = { .url = s.url,
				 .munge_socket = s.socket,
				 .timeout_s = 30,
				 .answer_uid = answer_uid };
	struct http *h = NULL;
	struct err err = { "" };

	if (http_open(&c, &h, &err) < 0)
		bail_out(err.text);
	return h;
}

int main(int argc, char **argv)
{
	int kills, lost = 0;
	char text[200];

	if (argc != 8)
		return 2;
	s.controller = argv[1];
	s.config = argv[2];
	s.url = argv[3];
	s.socket = argv[4];
	s.n_jobs = atoi(argv[5]);
	kills = atoi(argv[6]);
	s.seed = (uint64_t)atoll(argv[7]);
	if (s.n_jobs < 1 || s.n_jobs > JOBS_MAX)
		return 2;
	open_notify();
	start_controller();
	s.http = open_http(0);
	s.viewer = open_http(-1);
	while (s.kills < kills)
		lost += one_life();
	check_ledger();
	snprintf(text, sizeof(text),
		 "killed %d times in %d exchanges (%d cut off): no acknowledged second is lost",
		 s.kills, s.syncs, s.failed_syncs);
	print_result(lost == 0, text);
	print_result(s.failed_syncs >= kills / 5, "the kills did hit exchanges");
	check_end();
	http_close(s.http);
	http_close(s.viewer);
	kill(s.pid, SIGTERM);
	waitpid(s.pid, &kills, 0);
	print_result(WIFEXITED(kills) && WEXITSTATUS(kills) == 0, "SIGTERM ends it cleanly");
	unlink(s.notify_path);
	printf("1..%d\n", n_tests);
	return n_bad > 0;
}
