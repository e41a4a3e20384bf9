/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fleet.c - thousands of nodes in one process, each with connections of its own address, that speak to one controller as agents do
 * (agent/report/uplink.c): a long poll while there is nothing to say; each REPORT_S seconds it is cut, which closes its connection, and a
 * request over a new one reports all jobs of the node; after a failure 1 s, 2 s, 4 s ... less a random part. Each request is signed
 * with a munge credential of its own, and the signature of each answer is checked.
 *
 * usage: fleet PORT MUNGE-SOCKET CONTROLLER-UID NODES JOBS SECONDS FILE [EACH]	(as root, on the controller's machine)
 * 1. The nodes register, and take jobs until all of them have JOBS together: "ready S", seconds since the start.
 * 2. For SECONDS they report (after SETTLE_S, of a minute or more): "measured S p50 MS p99 MS max MS over250 N acks N polls N failed N cpu N" (hundredths of a second of this
 *    process so far), of acknowledgements, each from its connect()
 *    to the last byte of the answer. For each second with one above 250 ms: "slow S max MS over250 N of N".
 * 3. All close their connections at once and reconnect with a report: "reconnected S" and the same when each is acknowledged.
 *    With EACH, one in EACH nodes first sends a request that a later one has overtaken: the controller refuses it, and must store what
 *    others sent at the same moment.
 * 4. Nothing more is reported until all that was is acknowledged. FILE has JOB ATTEMPT SEQ RUNNING_NS of the last report of each job; "end lost N":
 *    attempts that the controller gave up.
 * Exit status 1: something took longer than it may (LIMIT_S), or an answer was wrong.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include "common/clock.h"
#include "common/err.h"
#include "common/wire/wire.h"
#include "tests/bench/load/connection.h"
#include "tests/bench/load/node.h"

#define REPORT_S 30
#define SETTLE_S 30 /* once all have their jobs, before a minute or more is measured */
#define WAIT_S 30
#define TIMEOUT_S 30
#define LIMIT_S 900	      /* until all have their jobs, or are acknowledged again */
#define GROWN_NS (40 * MS_NS) /* as in uplink.c */
#define CALM_NS (1000 * MS_NS)
#define REGISTER_EACH 500 /* nodes a second */
#define LATE_MS 250
#define SAMPLES_MAX 4000000
#define EVENTS_MAX 256
#define STARTED_AT_ONCE 8

enum exchange { EXCHANGE_NONE, EXCHANGE_REPORT, EXCHANGE_POLL };

struct agent {
	struct node node;
	struct connection connection;
	enum exchange exchange;	    /* under way */
	int64_t begun_ns, until_ns; /* of it */
	int64_t report_ns;	    /* the next report is due */
	int failures;		    /* in a row */
	bool is_acked;		    /* since the last drop */
	bool is_overtaken; /* its next request is one that the controller must refuse */
};

struct samples {
	float *ms;
	size_t n, n_polls;
	int64_t n_failed;
};

/* Acknowledgements of the second under way, of what is measured. */
struct second {
	int64_t from_ns; /* 0: nothing is measured */
	int64_t at;	 /* which second */
	float longest_ms;
	size_t n, n_late;
};

static struct {
	struct connection_target target;
	struct agent *agents;
	int64_t *
		due_ns; /* of each: the next exchange, or the end of the time of the one under way */
	int n, n_acked;
	int64_t n_jobs, n_taken, n_lost;
	int each;
	bool is_ending;
	struct samples samples;
	struct second second;
	uint64_t seed;
} s = { .seed = 7 };

static int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static int64_t draw_number(int64_t n)
{
	s.seed = s.seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return (int64_t)((s.seed >> 20) % (uint64_t)n);
}

/* ---- exchanges ---- */

static void set_due(const struct agent *a, int64_t at_ns)
{
	s.due_ns[a - s.agents] = at_ns;
}

/* All that it has reported is acknowledged. */
static bool is_settled(const struct agent *a)
{
	for (int i = 0; i < a->node.n_jobs; i++)
		if (a->node.jobs[i].acked_seq != a->node.jobs[i].seq)
			return false;
	return true;
}

static void fail_exchange(struct agent *a, const char *why)
{
	int64_t pause_ns = S_NS << (a->failures < 6 ? a->failures : 6);

	if (s.samples.n_failed++ < 20)
		fprintf(stderr, "%s: %s\n", a->node.name, why);
	connection_close(&a->connection);
	a->exchange = EXCHANGE_NONE;
	a->failures++;
	a->report_ns = now_ns();
	set_due(a, now_ns() + pause_ns - draw_number(pause_ns / 2 + 1));
}

/* After a failure the first request does not wait, so that the node knows soon that it is heard. */
static void start_exchange(struct agent *a)
{
	struct http_buffer body = { 0 };
	bool has_reports = now_ns() >= a->report_ns;
	int wait_s = has_reports || a->failures ? 0 : WAIT_S;
	struct err err = { "" };
	char path[64];
	int64_t number = a->is_overtaken ? 1 : clock_ns(CLOCK_BOOTTIME);
	int r = node_describe(&a->node, number, has_reports, &body, &err);

	a->is_overtaken = false;
	if (r < 0) {
		fprintf(stderr, "fleet: %s\n", err.text);
		exit(1);
	}
	snprintf(path, sizeof(path), "/v1/node/sync?wait=%d", wait_s);
	a->exchange = wait_s ? EXCHANGE_POLL : EXCHANGE_REPORT;
	r = connection_start(
		&a->connection, &s.target, path,
		(struct auth_text){ .second = body.data, .second_size = body.size }, &err);
	free(body.data);
	a->begun_ns = now_ns();
	a->until_ns = a->begun_ns + (TIMEOUT_S + wait_s) * S_NS;
	if (has_reports)
		a->report_ns = a->begun_ns + REPORT_S * S_NS;
	set_due(a, wait_s && a->report_ns < a->until_ns ? a->report_ns : a->until_ns);
	if (r < 0)
		fail_exchange(a, err.text);
}

static void note_in_second(int64_t at_ns, float ms)
{
	struct second *c = &s.second;
	int64_t at = (at_ns - c->from_ns) / S_NS;

	if (!c->from_ns)
		return;
	if (at != c->at) {
		if (c->n_late)
			printf("slow %lld max %.0f over250 %zu of %zu\n", (long long)c->at,
			       (double)c->longest_ms, c->n_late, c->n);
		*c = (struct second){ .from_ns = c->from_ns, .at = at };
	}
	c->n++;
	c->n_late += ms > LATE_MS;
	c->longest_ms = ms > c->longest_ms ? ms : c->longest_ms;
}

static void note_ack(struct agent *a)
{
	struct samples *to = &s.samples;
	int64_t at_ns = now_ns();
	float ms = (float)(at_ns - a->begun_ns) / 1e6f;

	note_in_second(at_ns, ms);
	if (to->n < SAMPLES_MAX)
		to->ms[to->n++] = ms;
	s.n_acked += !a->is_acked;
	a->is_acked = true;
}

static void finish_exchange(struct agent *a)
{
	int64_t lasted_ns = now_ns() - a->begun_ns, pause_ns = 0;
	_cleanup_json_ json_t *doc = NULL;
	struct node_taken taken;
	struct err err = { "" };
	int r;

	if (a->exchange == EXCHANGE_REPORT && a->connection.response.status == 200)
		note_ack(a);
	r = connection_read(&a->connection, &s.target, &doc, &err);
	if (r == 0)
		r = node_take(&a->node, doc, &taken, &err);
	if (r != 0) {
		fail_exchange(a, err.text);
		return;
	}
	if (a->connection.response.closes)
		connection_close(&a->connection);
	s.n_taken += taken.n_jobs;
	s.n_lost += taken.n_refused;
	s.samples.n_polls += a->exchange == EXCHANGE_POLL;
	a->failures = 0;
	if (a->exchange == EXCHANGE_POLL && lasted_ns < CALM_NS)
		pause_ns = CALM_NS - lasted_ns;
	if (taken.n_jobs) {
		pause_ns = GROWN_NS;
		a->report_ns = now_ns() + GROWN_NS;
	}
	a->exchange = EXCHANGE_NONE;
	set_due(a, now_ns() + pause_ns);
}

static void on_event(struct agent *a)
{
	int r = a->connection.fd < 0 ? 0 : connection_advance(&a->connection);

	if (r > 0 && a->exchange != EXCHANGE_NONE)
		finish_exchange(a);
	else if (r != 0 && a->exchange == EXCHANGE_NONE) /* closed between two requests */
		connection_close(&a->connection);
	else if (r < 0)
		fail_exchange(a, strerror(-r));
}

/* A poll that is cut closes its connection: HTTP/1.1 has no other way to withdraw a request. */
static void on_due(struct agent *a)
{
	if (a->exchange == EXCHANGE_POLL && now_ns() >= a->report_ns) {
		connection_close(&a->connection);
		a->exchange = EXCHANGE_NONE;
	}
	if (a->exchange == EXCHANGE_NONE && s.is_ending && is_settled(a))
		set_due(a, INT64_MAX);
	else if (a->exchange == EXCHANGE_NONE)
		start_exchange(a);
	else if (now_ns() >= a->until_ns)
		fail_exchange(a, "no answer in time");
}

/* ---- the loop ---- */

/* A few requests begin at a time, so that each is sent as soon as its connection is there. True: more are due. */
static bool start_due(void)
{
	static int at;
	int64_t now = now_ns();
	int n_started = 0;

	for (int n = 0; n < s.n; n++) {
		at = at + 1 < s.n ? at + 1 : 0;
		if (s.due_ns[at] > now)
			continue;
		on_due(&s.agents[at]);
		if (++n_started == STARTED_AT_ONCE)
			return true;
	}
	return false;
}

static void run_until(bool (*is_over)(int64_t until_ns), int64_t until_ns)
{
	struct epoll_event events[EVENTS_MAX];
	bool has_more = false;

	while (!is_over(until_ns)) {
		int n = epoll_wait(s.target.epoll, events, EVENTS_MAX, has_more ? 0 : 1);

		for (int i = 0; i < n; i++)
			on_event(&s.agents[events[i].data.u32]);
		has_more = start_due();
	}
}

static void exit_late(int64_t until_ns, const char *what)
{
	if (now_ns() < until_ns)
		return;
	printf("late %s: %lld of %lld jobs, %d of %d nodes\n", what, (long long)s.n_taken,
	       (long long)s.n_jobs, s.n_acked, s.n);
	exit(1);
}

/* Every job is there, and was reported. */
static bool is_filled(int64_t until_ns)
{
	exit_late(until_ns, "before all jobs were taken");
	if (s.n_taken < s.n_jobs)
		return false;
	for (int i = 0; i < s.n; i++)
		for (int k = 0; k < s.agents[i].node.n_jobs; k++)
			if (!s.agents[i].node.jobs[k].acked_seq)
				return false;
	return true;
}

static bool is_time(int64_t until_ns)
{
	return now_ns() >= until_ns;
}

static bool is_acked(int64_t until_ns)
{
	exit_late(until_ns, "before all nodes were acknowledged again");
	return s.n_acked == s.n;
}

static bool are_settled(int64_t until_ns)
{
	exit_late(until_ns, "before all was acknowledged");
	for (int i = 0; i < s.n; i++)
		if (s.agents[i].exchange == EXCHANGE_REPORT || !is_settled(&s.agents[i]))
			return false;
	return true;
}

/* ---- what is printed ---- */

static int compare_floats(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static void clear_samples(void)
{
	s.samples.n = s.samples.n_polls = 0;
	s.samples.n_failed = 0;
}

static double find_percentile(double part)
{
	size_t n = s.samples.n;

	return n ? (double)s.samples.ms[(size_t)((double)(n - 1) * part)] : 0;
}

static void print_samples(void)
{
	struct rusage used;
	size_t late = 0;

	qsort(s.samples.ms, s.samples.n, sizeof(*s.samples.ms), compare_floats);
	while (late < s.samples.n && s.samples.ms[s.samples.n - 1 - late] > LATE_MS)
		late++;
	getrusage(RUSAGE_SELF, &used);
	printf("p50 %.1f p99 %.1f max %.1f over250 %zu acks %zu polls %zu failed %lld cpu %lld\n",
	       find_percentile(0.5), find_percentile(0.99), find_percentile(1), late,
	       s.samples.n, s.samples.n_polls, (long long)s.samples.n_failed,
	       (long long)((used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 100 +
			   (used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 10000));
	fflush(stdout);
}

static int write_acked(const char *path)
{
	_cleanup_fclose_ FILE *f = fopen(path, "we");

	if (!f)
		return -errno;
	for (int i = 0; i < s.n; i++)
		for (int k = 0; k < s.agents[i].node.n_jobs; k++) {
			const struct node_job *j = &s.agents[i].node.jobs[k];

			fprintf(f, "%lld %d %lld %lld\n", (long long)j->job, (int)j->attempt,
				(long long)j->acked_seq, (long long)j->acked_running_ns);
		}
	return fflush(f) == 0 ? 0 : -errno;
}

/* ---- the course of a run ---- */

static void open_agents(void)
{
	for (int i = 0; i < s.n; i++) {
		struct agent *a = &s.agents[i];
		int64_t cores = s.n_jobs / s.n + (i < s.n_jobs % s.n);
		uint32_t source = (127U << 24) + (1U << 16) + (uint32_t)(i / 250 << 8) +
				  (uint32_t)(i % 250 + 1);

		node_init(&a->node, i, cores);
		connection_init(&a->connection, source, (uint32_t)i);
		set_due(a, now_ns() + i * S_NS / REGISTER_EACH);
	}
}

/* The starts of all jobs have left the controller with a report of each node at once: what is measured begins when these are acknowledged. */
static void spread_reports(int64_t from_ns)
{
	for (int i = 0; i < s.n; i++) {
		struct agent *a = &s.agents[i];

		a->report_ns = from_ns + draw_number(REPORT_S * S_NS);
		if (a->exchange == EXCHANGE_POLL && a->report_ns < a->until_ns)
			set_due(a, a->report_ns);
	}
}

static void drop_connections(void)
{
	s.n_acked = 0;
	for (int i = 0; i < s.n; i++) {
		struct agent *a = &s.agents[i];

		connection_close(&a->connection);
		a->exchange = EXCHANGE_NONE;
		a->is_acked = false;
		a->is_overtaken = s.each && i % s.each == 0;
		a->report_ns = 0;
		set_due(a, 0);
	}
}

static int run_phases(int64_t seconds, const char *path)
{
	int64_t from_ns = now_ns();

	open_agents();
	run_until(is_filled, from_ns + LIMIT_S * S_NS);
	printf("ready %.1f ", (double)(now_ns() - from_ns) / 1e9);
	print_samples();
	from_ns = now_ns() + (seconds < 60 ? 0 : SETTLE_S * S_NS);
	spread_reports(from_ns);
	run_until(is_time, from_ns);
	clear_samples();
	s.second.from_ns = now_ns();
	run_until(is_time, now_ns() + seconds * S_NS);
	s.second.from_ns = 0;
	printf("measured %lld ", (long long)seconds);
	print_samples();
	clear_samples();
	from_ns = now_ns();
	drop_connections();
	run_until(is_acked, from_ns + LIMIT_S * S_NS);
	printf("reconnected %.1f ", (double)(now_ns() - from_ns) / 1e9);
	print_samples();
	s.is_ending = true;
	run_until(are_settled, now_ns() + LIMIT_S * S_NS);
	printf("end lost %lld\n", (long long)s.n_lost);
	return write_acked(path);
}

static int raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		return -errno;
	return limit.rlim_cur > (rlim_t)s.n + 64 ? 0 : -EMFILE;
}

int main(int argc, char **argv)
{
	int r;

	if (argc != 8 && argc != 9)
		return 64;
	s.target = (struct connection_target){
		.address = { .sin_family = AF_INET,
			     .sin_port = htons((uint16_t)atoi(argv[1])),
			     .sin_addr.s_addr = htonl(INADDR_LOOPBACK) },
		.munge_socket = argv[2],
		.controller_uid = (uint32_t)atoi(argv[3]),
		.epoll = epoll_create1(EPOLL_CLOEXEC),
	};
	s.n = atoi(argv[4]);
	s.n_jobs = atoll(argv[5]);
	s.each = argc > 8 ? atoi(argv[8]) : 0;
	if (s.n < 1 || s.n > 50000 || s.target.epoll < 0 || raise_limit() < 0) {
		fprintf(stderr, "fleet: 1 to 50000 nodes, and a descriptor for each\n");
		return 1;
	}
	s.agents = calloc((size_t)s.n, sizeof(*s.agents));
	s.due_ns = calloc((size_t)s.n, sizeof(*s.due_ns));
	s.samples.ms = calloc(SAMPLES_MAX, sizeof(*s.samples.ms));
	r = s.agents && s.due_ns && s.samples.ms ? run_phases(atoll(argv[6]), argv[7])
						 : -ENOMEM;
	if (r < 0)
		fprintf(stderr, "fleet: %s\n", strerror(-r));
	return r < 0;
}
