/* SPDX-License-Identifier: GPL-2.0-or-later */
/* load.c - programs that keep to a request, and programs that do not.
 *
 * One static binary for the demo and the node tests: `load MODE [ARG...]`. Sizes are in MiB,
 * times in seconds. A mode that its job should not survive prints "survived" and exits 99.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include "common/cleanup.h"

#define MIB (1UL << 20)

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static long number_arg(char **argv, int i, long def)
{
	for (int k = 0; k <= i; k++)
		if (!argv[k])
			return def;
	return atol(argv[i]);
}

static int say_survived(void)
{
	printf("survived\n");
	return 99;
}

static char *map_or_exit(size_t bytes, int flags)
{
	char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED) {
		printf("mmap of %zu MiB: %s\n", bytes / MIB, strerror(errno));
		fflush(stdout);
		exit(3);
	}
	return p;
}

/* How much arithmetic one thread gets done; "rate" lines are what the tests compare. */
static double spin_for(double seconds)
{
	double end = now_s() + seconds, begin = now_s();
	volatile unsigned x = 1;
	double rounds = 0;

	while (now_s() < end) {
		for (int i = 0; i < 200000; i++)
			x = x * 1664525 + 1013904223;
		rounds++;
	}
	return rounds / (now_s() - begin);
}

static int do_work(char **argv)
{
	size_t bytes = (size_t)number_arg(argv, 1, 16) * MIB;
	char *p = map_or_exit(bytes, MAP_PRIVATE);
	double rate;

	memset(p, 1, bytes);
	rate = spin_for((double)number_arg(argv, 0, 2));
	printf("rate %.1f\n", rate);
	return 0;
}

static int do_map(char **argv)
{
	char *p = map_or_exit((size_t)number_arg(argv, 0, 2048) * MIB,
			      MAP_PRIVATE | MAP_NORESERVE);

	p[0] = 1;
	return say_survived();
}

/* N processes of SIZE each: every one below the limit, together above. */
static int do_forks(char **argv)
{
	long n = number_arg(argv, 0, 16);
	size_t bytes = (size_t)number_arg(argv, 1, 64) * MIB;

	for (long i = 0; i < n; i++)
		if (fork() == 0) {
			map_or_exit(bytes, MAP_PRIVATE)[0] = 1;
			sleep(30);
			_exit(0);
		}
	sleep(30);
	return say_survived();
}

static int do_shared(char **argv)
{
	for (long i = 0, n = number_arg(argv, 0, 64); i < n; i++)
		map_or_exit(32 * MIB, MAP_SHARED)[0] = 1;
	return say_survived();
}

static int fill_stack(int depth)
{
	volatile char frame[65536];

	frame[0] = (char)depth;
	return depth ? fill_stack(depth - 1) + frame[0] : 0;
}

static int do_stack(char **argv)
{
	struct rlimit big = { RLIM_INFINITY, RLIM_INFINITY };
	char *again[] = { (char *)"load", (char *)"stack", argv[0] ? argv[0] : (char *)"1024",
			  (char *)"go", NULL };

	if (argv[0] && argv[1])
		return fill_stack((int)number_arg(argv, 0, 1024) * 16) < 0 ? 1 : say_survived();
	if (setrlimit(RLIMIT_STACK, &big) < 0)
		printf("the stack limit cannot be raised: %s\n", strerror(errno));
	execv("/proc/self/exe", again);
	return 3;
}

/* Each generation maps a little more, forks on and execs again. */
static int do_exec(char **argv)
{
	long n = number_arg(argv, 0, 0);
	char next[24];
	char *again[] = { (char *)"load", (char *)"exec", next, NULL };

	if (n > 400)
		return say_survived();
	if (fork() == 0) {
		map_or_exit(24 * MIB, MAP_PRIVATE)[0] = 1;
		sleep(30);
		_exit(0);
	}
	snprintf(next, sizeof(next), "%ld", n + 1);
	execv("/proc/self/exe", again);
	return 3;
}

static int do_touch(char **argv)
{
	size_t bytes = (size_t)number_arg(argv, 0, 512) * MIB;
	char *p = map_or_exit(bytes, MAP_PRIVATE);

	for (size_t i = 0; i < bytes; i += 4096)
		p[i] = 1;
	return say_survived();
}

static int write_all(int fd, size_t bytes)
{
	static char block[MIB];

	memset(block, 'x', sizeof(block));
	for (size_t i = 0; i < bytes; i += sizeof(block))
		if (write(fd, block, sizeof(block)) < 0) {
			printf("write after %zu MiB: %s\n", i / MIB, strerror(errno));
			fflush(stdout);
			return -1;
		}
	return 0;
}

static int open_here(const char *name)
{
	const char *dir = getenv("REEVE_JOBFS");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", name);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		printf("open %s: %s\n", path, strerror(errno));
	return fd;
}

static int do_file(char **argv)
{
	_cleanup_close_ int fd = open_here("big");

	if (fd < 0 || write_all(fd, (size_t)number_arg(argv, 0, 256) * MIB) < 0)
		sleep(5); /* a refused write does not end a program that ignores it */
	return say_survived();
}

static int do_fallocate(char **argv)
{
	_cleanup_close_ int fd = open_here("big");

	if (fd < 0 || fallocate(fd, 0, 0, (off_t)(number_arg(argv, 0, 256) * (long)MIB)) < 0)
		sleep(5);
	return say_survived();
}

static int do_files(char **argv)
{
	for (long i = 0, n = number_arg(argv, 0, 1000); i < n; i++) {
		_cleanup_close_ int fd = -1;
		char name[32];

		snprintf(name, sizeof(name), "small%ld", i);
		fd = open_here(name);
		if (fd < 0 || write_all(fd, MIB) < 0) {
			sleep(5);
			break;
		}
	}
	return say_survived();
}

static int do_deleted(char **argv)
{
	_cleanup_close_ int fd = open_here("gone");
	const char *dir = getenv("REEVE_JOBFS");
	char path[4096];

	snprintf(path, sizeof(path), "%s/gone", dir ? dir : ".");
	if (fd < 0 || unlink(path) < 0 ||
	    write_all(fd, (size_t)number_arg(argv, 0, 256) * MIB) < 0)
		sleep(5);
	return say_survived();
}

static void *spin_thread(void *seconds)
{
	double rate = spin_for(*(double *)seconds);
	double *ret = malloc(sizeof(*ret));

	if (ret)
		*ret = rate;
	return ret;
}

/* More threads than cores, each trying to go to every cpu of the machine in turn. */
static int do_greedy(char **argv)
{
	enum { MAX = 64 };
	pthread_t threads[MAX];
	double seconds = (double)number_arg(argv, 0, 4), sum = 0;
	long n = number_arg(argv, 1, 8), cpus = sysconf(_SC_NPROCESSORS_CONF), moved = 0;
	cpu_set_t had;

	sched_getaffinity(0, sizeof(had), &had);
	for (long c = 0; c < cpus; c++) {
		cpu_set_t one;

		CPU_ZERO(&one);
		CPU_SET((int)c, &one);
		moved += !sched_setaffinity(0, sizeof(one), &one) && !CPU_ISSET((int)c, &had);
	}
	CPU_ZERO(&had);
	for (long c = 0; c < cpus; c++)
		CPU_SET((int)c, &had);
	sched_setaffinity(0, sizeof(had), &had);
	sched_getaffinity(0, sizeof(had), &had);
	printf("cpus allowed %d, foreign cpus entered %ld\n", CPU_COUNT(&had), moved);
	for (long i = 0; i < n && i < MAX; i++)
		pthread_create(&threads[i], NULL, spin_thread, &seconds);
	for (long i = 0; i < n && i < MAX; i++) {
		void *rate = NULL;

		pthread_join(threads[i], &rate);
		sum += rate ? *(double *)rate : 0;
		free(rate);
	}
	printf("rate %.1f\n", sum);
	return 0;
}

static int do_bomb(char **argv)
{
	double end = now_s() + (double)number_arg(argv, 0, 5);
	long made = 0, refused = 0;

	while (now_s() < end) {
		pid_t pid = fork();

		if (pid == 0)
			for (;;)
				if (fork() < 0)
					pause();
		if (pid > 0)
			made++;
		else {
			refused++;
			usleep(10000);
		}
	}
	printf("forked %ld, refused %ld\n", made, refused);
	return refused ? 0 : say_survived();
}

static void *map_later(void *bytes)
{
	usleep(300000);
	map_or_exit(*(size_t *)bytes, MAP_PRIVATE)[0] = 1;
	sleep(60);
	_exit(say_survived());
}

/* The main thread is gone: /proc shows nothing of the process, cgroup.kill does not reach it.
 */
static int do_headless(char **argv)
{
	static size_t bytes;
	pthread_t thread;

	bytes = (size_t)number_arg(argv, 0, 200) * MIB;
	if (fork() == 0) {
		pthread_create(&thread, NULL, map_later, &bytes);
		pthread_exit(NULL);
	}
	sleep(30);
	return say_survived();
}

static int do_sleep(char **argv)
{
	sleep((unsigned)number_arg(argv, 0, 60));
	return 0;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
	const char *help;
} modes[] = {
	{ "work", do_work, "SECONDS MIB: compute in that much memory" },
	{ "map", do_map, "MIB: one mapping" },
	{ "forks", do_forks, "N MIB: N processes of MIB each" },
	{ "shared", do_shared, "N: N shared mappings of 32 MiB" },
	{ "stack", do_stack, "MIB: grow the stack" },
	{ "exec", do_exec, "fork and exec in a loop, 24 MiB more each time" },
	{ "touch", do_touch, "MIB: touch every page" },
	{ "file", do_file, "MIB: one big file in jobfs" },
	{ "fallocate", do_fallocate, "MIB: the same, allocated at once" },
	{ "files", do_files, "N: N files of 1 MiB in jobfs" },
	{ "deleted", do_deleted, "MIB: a deleted but open file" },
	{ "greedy", do_greedy, "SECONDS THREADS: spin on more cpus than granted" },
	{ "bomb", do_bomb, "SECONDS: fork bomb" },
	{ "headless", do_headless, "MIB: map it in a process whose main thread has exited" },
	{ "sleep", do_sleep, "SECONDS" },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; i < ARRAY_LEN(modes) && argc > 1; i++)
		if (!strcmp(argv[1], modes[i].name)) {
			int r = modes[i].run(argv + 2);

			fflush(stdout);
			return r;
		}
	for (size_t i = 0; i < ARRAY_LEN(modes); i++)
		fprintf(stderr, "load %-8s %s\n", modes[i].name, modes[i].help);
	return 2;
}
