/* SPDX-License-Identifier: GPL-2.0-or-later */
/* vmem_bench.c - how long a job lives beyond its limit, and what counting costs, as ratios
 * against the rivals in the same run.
 *
 * (a) A hog maps and touches 1 MiB at a time in a job of N processes. From the attempt that
 *     exceeds to the empty cgroup: our tier against a loop that reads statm of every process
 * each second and kills the cgroup. The 30-second loop usual in batch systems is not waited
 * for: it is computed from the 1-second runs (same reaction once it looks, same rate of
 * touching, phase spread evenly over the interval), and marked so. (b) mmap + munmap, without
 * programs, with them on a node without a job, outside a job while one runs (in a cgroup above all jobs, and in
 * one as deep as theirs, as of a service or a session), and in a job.
 *
 * usage: vmem_bench [--tier N] [--ops N] [cost]     (ops: pairs a sample of (b), 4000; cost: (b) alone)
 */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "tests/bpf/vmem_test.h"

#define ROOM (64 * MIB)
#define MAX_RUNS 64
#define POLL_RUNS 7

struct board {
	uint64_t crossed_ns; /* the attempt that exceeds begins */
	uint64_t touched;
	uint64_t began_ns;
	uint64_t pair_ns[2]; /* untouched, touched */
};

static struct board *board;
static struct vmem_signal go, ready;
static int kill_fd = -1;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Of this thread alone: what else runs on the machine is not measured. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static double compute_quantile(double *at, int n, double q)
{
	int i = (int)(q * n);

	qsort(at, (size_t)n, sizeof(*at), by_value);
	return at[i < n ? i : n - 1];
}

/* (a) */

static void allocate_until_killed(void)
{
	uint64_t granted = 0, i;
	char *at;

	board->began_ns = now_ns();
	for (;;) {
		if (granted + MIB > ROOM && !board->crossed_ns)
			board->crossed_ns = now_ns();
		at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
		if (at == MAP_FAILED)
			break;
		for (i = 0; i < MIB; i += 4096) {
			((volatile char *)at)[i] = 1;
			board->touched += 4096;
		}
		madvise(at, MIB, MADV_DONTNEED);
		granted += MIB;
	}
	pause();
}

/* The job: n - 1 that sit there, and the hog. */
static int job_main(void *ctx)
{
	int n = *(int *)ctx, i;

	for (i = 1; i < n; i++) {
		if (fork() == 0) {
			vmem_signal_send(&ready);
			for (;;)
				pause();
		}
	}
	vmem_signal_send(&ready);
	if (vmem_signal_wait(&go))
		allocate_until_killed();
	return 1;
}

static pid_t job_start(const struct testjob *j, int n)
{
	pid_t pid;
	int i;

	memset(board, 0, sizeof(*board));
	pid = testjob_run(j, job_main, &n);
	for (i = 0; i < n; i++)
		vmem_signal_wait(&ready);
	return pid;
}

static void on_excess(void *ctx, const struct vmem_excess *x)
{
	(void)ctx;
	(void)x;
	if (kill_fd >= 0 && write(kill_fd, "1", 1) != 1)
		tap_note("cgroup.kill failed");
}

static bool is_empty(int events_fd)
{
	char text[64] = "";

	return pread(events_fd, text, sizeof(text) - 1, 0) > 0 && strstr(text, "populated 0");
}

static int open_in(const struct testjob *j, const char *file, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", j->path, file);
	return open(path, flags | O_CLOEXEC);
}

struct outcome {
	double ms, overshoot_bytes, bytes_per_ms;
};

static struct outcome outcome_now(void)
{
	uint64_t end = now_ns();
	struct outcome o = { 0 };

	o.ms = (double)(end - board->crossed_ns) / 1e6;
	o.overshoot_bytes = board->touched > ROOM ? (double)(board->touched - ROOM) : 0;
	o.bytes_per_ms = (double)board->touched / ((double)(end - board->began_ns) / 1e6);
	return o;
}

static struct outcome run_ours(struct vmem_test *t, int n)
{
	struct vmem_request r = { 0 };
	struct outcome o;
	struct testjob j;
	int events_fd;
	pid_t pid;

	vmem_test_job(t, &j, "bench", &r);
	kill_fd = open_in(&j, "cgroup.kill", O_WRONLY);
	events_fd = open_in(&j, "cgroup.events", O_RDONLY);
	pid = job_start(&j, n);
	vmem_set_limit(t->v, j.id, vmem_test_now(t, &j) + ROOM, NULL);
	vmem_signal_send(&go);
	while (!is_empty(events_fd)) {
		struct pollfd p[] = { { .fd = vmem_fd(t->v), .events = POLLIN },
				      { .fd = events_fd, .events = POLLPRI } };

		poll(p, 2, 100);
		vmem_dispatch(t->v, NULL);
	}
	o = outcome_now();
	waitpid(pid, NULL, 0);
	close(events_fd);
	close(kill_fd);
	kill_fd = -1;
	vmem_test_drop(t, &j);
	return o;
}

/* The rival: the sum of statm each interval, then the same kill. */
static struct outcome run_poller(int n, int interval_ms, int phase_ms)
{
	struct outcome o;
	struct testjob j;
	int events_fd;
	uint64_t limit;
	pid_t pid;

	testjob_make(&j, "polled", 99);
	events_fd = open_in(&j, "cgroup.events", O_RDONLY);
	pid = job_start(&j, n);
	limit = vmem_test_statm(&j) + ROOM;
	vmem_signal_send(&go);
	poll(NULL, 0, phase_ms);
	while (vmem_test_statm(&j) <= limit)
		poll(NULL, 0, interval_ms);
	testjob_write(&j, "cgroup.kill", "1");
	while (!is_empty(events_fd)) {
		struct pollfd p = { .fd = events_fd, .events = POLLPRI };

		poll(&p, 1, 100);
	}
	o = outcome_now();
	waitpid(pid, NULL, 0);
	close(events_fd);
	testjob_remove(&j);
	return o;
}

struct summary {
	double p50, p95, overshoot, rate;
};

static void print_row(const char *who, int n, const struct summary *s,
		      const struct summary *ours)
{
	printf("%-26s %5d processes: exceed to all dead p50 %9.1f ms  p95 %9.1f ms (x%.0f)  "
	       "overshoot %.1f MiB\n",
	       who, n, s->p50, s->p95, s->p95 / ours->p95, s->overshoot / (double)MIB);
	fflush(stdout);
}

static struct summary measure_kill(struct vmem_test *t, int n, int runs)
{
	double ms[MAX_RUNS];
	struct summary s = { 0 };
	struct outcome o;
	int i;

	for (i = 0; i < runs; i++) {
		o = t ? run_ours(t, n) : run_poller(n, 1000, 100 + i * 1000 / runs);
		ms[i] = o.ms;
		s.rate = o.bytes_per_ms;
		if (o.overshoot_bytes > s.overshoot)
			s.overshoot = o.overshoot_bytes;
	}
	s.p50 = compute_quantile(ms, runs, 0.5);
	s.p95 = compute_quantile(ms, runs, 0.95);
	return s;
}

/* Half of the runs of a loop of `interval_ms` see the excess within half of it, 95 % within 95
 * %. */
static struct summary compute_poller(const struct summary *one_second, double interval_ms)
{
	struct summary s = *one_second;
	double reaction = one_second->p50 > 500 ? one_second->p50 - 500 : 0;

	s.p50 = interval_ms * 0.5 + reaction;
	s.p95 = interval_ms * 0.95 + reaction;
	s.overshoot = s.rate * interval_ms;
	return s;
}

static void bench_death(struct vmem_test *t)
{
	static const struct {
		int n, runs;
	} sizes[] = { { 1, 40 }, { 100, 20 }, { 1000, 7 } };
	struct summary ours, polled, batch;
	char name[32];
	size_t i;

	snprintf(name, sizeof(name), "tier %d", vmem_tier(t->v));
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		ours = measure_kill(t, sizes[i].n, sizes[i].runs);
		print_row(name, sizes[i].n, &ours, &ours);
		polled = measure_kill(NULL, sizes[i].n, POLL_RUNS);
		print_row("poll /proc, 1 s", sizes[i].n, &polled, &ours);
		batch = compute_poller(&polled, 30000);
		print_row("poll /proc, 30 s (computed)", sizes[i].n, &batch, &ours);
	}
}

/* (b) */

static uint64_t time_mmap_pairs(unsigned long n, size_t touch)
{
	uint64_t begin = cpu_ns();
	unsigned long i;
	size_t k;
	char *at;

	for (i = 0; i < n; i++) {
		at = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			  0);
		if (at == MAP_FAILED)
			return 0;
		for (k = 0; k < touch; k++)
			((volatile char *)at)[k * 4096] = 1;
		munmap(at, MIB);
	}
	return (cpu_ns() - begin) / n;
}

static int pairs_main(void *ctx)
{
	unsigned long n = *(unsigned long *)ctx;

	time_mmap_pairs(n / 10 + 1, 4);
	board->pair_ns[0] = time_mmap_pairs(n, 0);
	board->pair_ns[1] = time_mmap_pairs(n / 4 + 1, 16);
	return 0;
}

#define ROUNDS 4
#define SAMPLES 24 /* of each place in a round */
#define IN_TURN 4

static void sample_pairs(const struct testjob *j, unsigned long n, double *plain,
			 double *touched)
{
	pid_t pid = j ? testjob_run(j, pairs_main, &n) : fork();

	if (pid == 0)
		_exit(pairs_main(&n));
	waitpid(pid, NULL, 0);
	*plain = (double)board->pair_ns[0];
	*touched = (double)board->pair_ns[1];
}

/* The programs that run at each mapping are detached: as on a node without jobs. */
static void wait_until_idle(struct vmem_test *t)
{
	while (!vmem_is_idle(t->v)) {
		struct pollfd p = { .fd = vmem_fd(t->v), .events = POLLIN };

		poll(&p, 1, 100);
		vmem_dispatch(t->v, NULL);
	}
}

enum place { PLACE_NONE, PLACE_IDLE, PLACE_ABOVE, PLACE_BESIDE, PLACE_INSIDE, PLACES };

struct cost {
	double ns[PLACES][2][ROUNDS * SAMPLES];
};

static void sample_place(struct vmem_test *t, const struct testjob *j, struct cost *c,
			 enum place place, int at)
{
	sample_pairs(j, t->ops, &c->ns[place][0][at], &c->ns[place][1][at]);
}

/* Each place in turn and many times for a short while, so that other work on the machine is in all of them. To attach
 * and detach the programs takes longer than a sample: several are taken between. */
static void sample_places(struct vmem_test *t, struct cost *c, int at)
{
	struct vmem_request roomy = { .limit_bytes = 1024 * 1024 * MIB };
	struct testjob beside, j;

	wait_until_idle(t);
	for (int i = at; i < at + IN_TURN; i++)
		sample_place(t, NULL, c, PLACE_IDLE, i);
	vmem_test_job(t, &j, "jobs/cost", &roomy);
	testjob_make(&beside, "others/cost", 0);
	for (int i = at; i < at + IN_TURN; i++) {
		sample_place(t, NULL, c, PLACE_ABOVE, i);
		sample_place(t, &beside, c, PLACE_BESIDE, i);
		sample_place(t, &j, c, PLACE_INSIDE, i);
	}
	vmem_test_drop(t, &j);
	testjob_remove(&beside);
}

/* A round: the loop alone, then on a node with the programs. */
static void sample_round(struct vmem_test *t, const struct vmem_config *config, struct cost *c,
			 int at)
{
	struct err err = { "" };

	t->v = vmem_close(t->v);
	for (int i = at; i < at + SAMPLES; i++)
		sample_place(t, NULL, c, PLACE_NONE, i);
	if (vmem_open(config, &t->v, &err) < 0) {
		printf("Bail out! %s\n", err.text);
		exit(1);
	}
	for (int i = at; i < at + SAMPLES; i += IN_TURN)
		sample_places(t, c, i);
}

static const char *const what[] = { "mmap+munmap", "mmap+16 touches+munmap" };
static const char *const where[PLACES] = { "no programs", "node without a job",
					   "outside, above the jobs",
					   "outside, as deep as the jobs", "in a job" };

static double ratio_to(struct cost *c, int w, enum place place, enum place rival, double q)
{
	return compute_quantile(c->ns[place][w], ROUNDS * SAMPLES, q) /
	       compute_quantile(c->ns[rival][w], ROUNDS * SAMPLES, q);
}

/* Ratios of the fastest tenth and the fastest quarter of the samples: what disturbs a loop only makes
 * it slower. To the loop without programs, and to the node without a job, where none of these programs runs either and
 * which was measured nearer in time. */
static void print_ratio(struct vmem_test *t, struct cost *c, int w, enum place place)
{
	printf("tier %d %s: %s x%.3f and x%.3f; of the node without a job x%.3f and x%.3f\n",
	       vmem_tier(t->v), what[w], where[place], ratio_to(c, w, place, PLACE_NONE, 0.1),
	       ratio_to(c, w, place, PLACE_NONE, 0.25), ratio_to(c, w, place, PLACE_IDLE, 0.1),
	       ratio_to(c, w, place, PLACE_IDLE, 0.25));
}

static void bench_cost(struct vmem_test *t, const struct vmem_config *config)
{
	static struct cost c;
	struct testjob above;

	testjob_make(&above, "jobs", 0);
	testjob_make(&above, "others", 0);
	for (int i = 0; i < ROUNDS; i++)
		sample_round(t, config, &c, i * SAMPLES);
	for (int w = 0; w < 2; w++) {
		double tenth = compute_quantile(c.ns[PLACE_NONE][w], ROUNDS * SAMPLES, 0.1);
		double quarter = compute_quantile(c.ns[PLACE_NONE][w], ROUNDS * SAMPLES, 0.25);

		printf("tier %d %s: %s %.0f and %.0f ns\n", vmem_tier(t->v), what[w], where[0],
		       tenth, quarter);
		for (int p = PLACE_IDLE; p < PLACES; p++)
			print_ratio(t, &c, w, (enum place)p);
	}
}

int main(int argc, char **argv)
{
	struct vmem_test t = { .ops = 4000 };
	struct vmem_config config = { .on_excess = on_excess, .idle_ms = 1 };
	struct sched_param first = { .sched_priority = 1 };

	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		     -1, 0);
	if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &first))
		tap_note("no real-time place: the busy machine is in the figures");
	setlinebuf(stdout);
	vmem_signal_init(&go);
	vmem_signal_init(&ready);
	vmem_test_open(&t, "vmem-bench", argc, argv, &config);
	config.first_tier = t.tier;
	config.scratch_dir = testjob_root("vmem-bench");
	if (t.tier < 3)
		bench_cost(&t, &config);
	if (strcmp(argv[argc - 1], "cost") != 0)
		bench_death(&t);
	vmem_close(t.v);
	return 0;
}
