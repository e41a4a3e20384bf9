/* SPDX-License-Identifier: GPL-2.0-or-later */
/* command_cost.c - command_cost RUNS COMMAND [ARG]...: what one run of a command costs, output to
 * /dev/null: the medians of its CPU time (user and system, with its children) and of its duration,
 * and its largest resident size. Prints "CPU_MS WALL_MS RSS_KB". Exit status 1: a run failed, and
 * its status; a shell is no part of what is measured. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define RUNS_MAX 10000

extern char **environ;

struct run {
	double cpu_ms, wall_ms;
	long rss_kb;
	int status;
};

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double ms_of(struct timeval t)
{
	return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int run_once(char *argv[], posix_spawn_file_actions_t *to, struct run *ret)
{
	struct rusage used;
	double from = now_ms();
	pid_t pid;

	if (posix_spawnp(&pid, argv[0], to, NULL, argv, environ))
		return -1;
	if (wait4(pid, &ret->status, 0, &used) < 0)
		return -1;
	ret->wall_ms = now_ms() - from;
	ret->cpu_ms = ms_of(used.ru_utime) + ms_of(used.ru_stime);
	ret->rss_kb = used.ru_maxrss;
	return 0;
}

int main(int argc, char *argv[])
{
	static double cpu[RUNS_MAX], wall[RUNS_MAX];
	int n = argc > 2 ? atoi(argv[1]) : 0;
	posix_spawn_file_actions_t to;
	long rss = 0;

	if (n < 1 || n > RUNS_MAX)
		return fprintf(stderr, "usage: command_cost RUNS COMMAND [ARG]...\n"), 2;
	posix_spawn_file_actions_init(&to);
	posix_spawn_file_actions_addopen(&to, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&to, 1, "/dev/null", O_WRONLY, 0);
	for (int i = 0; i < n; i++) {
		struct run r;

		if (run_once(argv + 2, &to, &r) < 0 || r.status)
			return fprintf(stderr, "%s: run %d failed\n", argv[2], i), 1;
		cpu[i] = r.cpu_ms;
		wall[i] = r.wall_ms;
		rss = r.rss_kb > rss ? r.rss_kb : rss;
	}
	qsort(cpu, (size_t)n, sizeof(*cpu), by_value);
	qsort(wall, (size_t)n, sizeof(*wall), by_value);
	printf("%.2f %.2f %ld\n", cpu[n / 2], wall[n / 2], rss);
	return 0;
}
