/* SPDX-License-Identifier: GPL-2.0-or-later */
/* sample_bench.c - one sample of all jobs: our pass, against opening and reading five files a
 * job, against the same files kept open. Medians; ratios; what the process weighs. How many jobs ran
 * since the sample before decides how many tasks the pass walks: none, a tenth of them, all.
 * usage: sample_bench [JOBS [PROCESSES_A_JOB]] */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <bpf/libbpf.h>
#include "agent/sample/sample.h"
#include "tests/bpf/testjob.h"

#define N_FILES 5
#define RUNS 9

static const char *const with_controllers[N_FILES] = { "cpu.stat", "memory.current",
						       "memory.stat", "pids.current",
						       "io.stat" };
static const char *const without[N_FILES] = { "cpu.stat", "cgroup.events", "cgroup.stat",
					      "cgroup.type", "cgroup.freeze" };
static const char *const *names = with_controllers;
static struct testjob *jobs;
static int n_jobs, (*kept)[N_FILES];
static uint64_t sink;
static pid_t *pids;
static int n_pids;

struct way {
	const char *name;
	void (*fn)(void *arg);
	void *arg;
	int wake_each; /* a process of each n-th job runs before; 0: none */
	uint64_t median_ns;
};

static void ignore_signal(int number)
{
	(void)number;
}

static int sleep_forever(void *arg)
{
	signal(SIGUSR1, ignore_signal);
	while (pause() < 0)
		;
	return arg != NULL;
}

static void add_sample(void *ctx, const struct sample *s)
{
	*(uint64_t *)ctx += s->cpu_ns + s->mem_bytes + s->tasks;
}

static void by_sampler(void *arg)
{
	struct err err = { "" };

	if (sample_all(arg, add_sample, &sink, &err) < 0) {
		printf("sample_all: %s\n", err.text);
		exit(1);
	}
}

static void by_opening(void *arg)
{
	char path[512], text[8192];
	int fd;

	(void)arg;
	for (int i = 0; i < n_jobs; i++) {
		for (int f = 0; f < N_FILES; f++) {
			snprintf(path, sizeof(path), "%s/%s", jobs[i].path, names[f]);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd < 0 || read(fd, text, sizeof(text)) < 0) {
				printf("%s: %s\n", path, strerror(errno));
				exit(1);
			}
			close(fd);
			sink += (uint64_t)text[0];
		}
	}
}

/* What the task walk gives, read from /proc: resident pages, faults, run delay. */
static void by_opening_all(void *arg)
{
	static const char *const files[] = { "statm", "stat", "schedstat" };
	char path[64], text[2048];
	int fd;

	by_opening(arg);
	for (int i = 0; i < n_pids; i++) {
		for (int f = 0; f < 3; f++) {
			snprintf(path, sizeof(path), "/proc/%d/%s", pids[i], files[f]);
			fd = open(path, O_RDONLY | O_CLOEXEC);
			if (fd >= 0 && read(fd, text, sizeof(text)) > 0)
				sink += (uint64_t)text[0];
			close(fd);
		}
	}
}

static void by_kept(void *arg)
{
	char text[8192];

	(void)arg;
	for (int i = 0; i < n_jobs; i++)
		for (int f = 0; f < N_FILES; f++)
			if (pread(kept[i][f], text, sizeof(text), 0) >= 0)
				sink += (uint64_t)text[0];
}

static int compare_uint64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The first process of each n-th job runs for a moment. */
static void wake_jobs(int n)
{
	int a_job = n_jobs ? n_pids / n_jobs : 0;

	if (!n || !a_job)
		return;
	for (int i = 0; i < n_jobs; i += n)
		kill(pids[i * a_job], SIGUSR1);
	usleep(300000);
}

static void measure_way(struct way *w)
{
	uint64_t t[RUNS];

	w->fn(w->arg); /* warm */
	for (int i = 0; i < RUNS; i++) {
		wake_jobs(w->wake_each);
		t[i] = testjob_now_ns();
		w->fn(w->arg);
		t[i] = testjob_now_ns() - t[i];
	}
	qsort(t, RUNS, sizeof(t[0]), compare_uint64);
	w->median_ns = t[RUNS / 2];
}

static uint64_t resident_kib(void)
{
	char line[256];
	uint64_t kib = 0;
	FILE *f = fopen("/proc/self/status", "re");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "VmRSS: %lu", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib;
}

static void make_jobs(int n_processes)
{
	char name[32], path[512];

	for (int i = 0; i < n_jobs; i++) {
		snprintf(name, sizeof(name), "job-%d", i);
		testjob_make(&jobs[i], name, i + 1);
		for (int p = 0; p < n_processes; p++)
			pids[n_pids++] = testjob_run(&jobs[i], sleep_forever, NULL);
	}
	snprintf(path, sizeof(path), "%s/memory.current", jobs[0].path);
	if (access(path, F_OK) < 0)
		names = without;
}

static void open_kept(void)
{
	char path[512];

	for (int i = 0; i < n_jobs; i++)
		for (int f = 0; f < N_FILES; f++) {
			snprintf(path, sizeof(path), "%s/%s", jobs[i].path, names[f]);
			kept[i][f] = open(path, O_RDONLY | O_CLOEXEC);
		}
}

static struct sampler *open_sampler(uint32_t tasks_every)
{
	struct sample_config config = {
		.root = testjob_root("bench"),
		.max_jobs = (uint32_t)n_jobs,
		.tasks_every = tasks_every,
	};
	struct sampler *s = NULL;
	struct err err = { "" };

	if (sample_open(&config, &s, &err) < 0) {
		printf("sample_open: %s\n", err.text);
		exit(1);
	}
	for (int i = 0; i < n_jobs; i++) {
		struct sample_job job = { jobs[i].job, jobs[i].id, jobs[i].path };

		if (sample_add(s, &job, &err) < 0)
			printf("sample_add: %s\n", err.text);
	}
	return s;
}

static void raise_files(void)
{
	struct rlimit r;

	r.rlim_cur = r.rlim_max = (rlim_t)n_jobs * N_FILES + 256;
	if (setrlimit(RLIMIT_NOFILE, &r) < 0)
		printf("the kept files may not all fit: %s\n", strerror(errno));
}

int main(int argc, char **argv)
{
	int n_processes = argc > 2 ? atoi(argv[2]) : 10;
	struct way ways[] = { { "five files a job, opened and read", by_opening, NULL, 0, 0 },
			      { "the same files kept open", by_kept, NULL, 0, 0 },
			      { "one pass, no job ran since", by_sampler, NULL, 0, 0 },
			      { "one pass over cgroups alone", by_sampler, NULL, 0, 0 },
			      { "five files, and three a process", by_opening_all, NULL, 0, 0 },
			      { "one pass, a tenth of the jobs ran", by_sampler, NULL, 10, 0 },
			      { "one pass, all jobs ran", by_sampler, NULL, 1, 0 } };
	const int n_ways = (int)(sizeof(ways) / sizeof(ways[0]));
	uint64_t before, after;

	n_jobs = argc > 1 ? atoi(argv[1]) : 1000;
	if (n_jobs < 1 || n_processes < 0)
		return 64;
	jobs = calloc((size_t)n_jobs, sizeof(*jobs));
	kept = calloc((size_t)n_jobs, sizeof(*kept));
	pids = calloc((size_t)n_jobs * (size_t)n_processes + 1, sizeof(*pids));
	if (!jobs || !kept || !pids)
		return 1;
	libbpf_set_print(NULL);
	raise_files();
	testjob_root("bench");
	make_jobs(n_processes);
	before = resident_kib();
	ways[2].arg = open_sampler(1);
	by_sampler(ways[2].arg);
	after = resident_kib();
	ways[5].arg = ways[6].arg = ways[2].arg;
	ways[3].arg = open_sampler(1000000);
	open_kept();
	printf("%d jobs, %d processes; files: %s %s %s %s %s\n", n_jobs, n_pids, names[0],
	       names[1], names[2], names[3], names[4]);
	printf("%s", sample_status(ways[2].arg));
	for (int i = 0; i < n_ways; i++)
		measure_way(&ways[i]);
	for (int i = 0; i < n_ways; i++)
		printf("%-36s %9.3f ms  %6.1f times cheaper than opening\n", ways[i].name,
		       (double)ways[i].median_ns / 1e6,
		       (double)ways[0].median_ns / (double)ways[i].median_ns);
	printf("cgroups and tasks of all jobs in one pass: %.1f times cheaper than files of both\n",
	       (double)ways[4].median_ns / (double)ways[6].median_ns);
	printf("resident: %lu KiB before the sampler, %lu KiB with %d jobs sampled\n", before,
	       after, n_jobs);
	sample_close(ways[2].arg);
	sample_close(ways[3].arg);
	return sink == 0;
}
