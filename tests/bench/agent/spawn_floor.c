/* SPDX-License-Identifier: GPL-2.0-or-later */
/* spawn_floor.c - the least that a job can cost on this machine now: a cgroup, a process in it, its end, and one synced page.
 *
 * usage: spawn_floor CGROUP-DIRECTORY FILE N
 * N times: mkdir, clone3(CLONE_INTO_CGROUP), exec of /bin/true, wait, rmdir; the same with fork() and a write to
 * cgroup.procs, as the rival; and N times 4 KiB and fdatasync() to FILE. Prints means in milliseconds, by the clock. */
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void run_true(const char *group, bool is_direct)
{
	char procs[4200];
	int fd = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC), out;
	struct clone_args a = { .flags = CLONE_INTO_CGROUP,
				.exit_signal = SIGCHLD,
				.cgroup = (uint64_t)fd };
	pid_t pid = is_direct ? (pid_t)syscall(SYS_clone3, &a, sizeof(a)) : fork();

	if (!pid) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
		out = is_direct ? -1 : open(procs, O_WRONLY | O_CLOEXEC);
		if (is_direct || write(out, "0", 1) == 1)
			execl("/bin/true", "true", (char *)NULL);
		_exit(9);
	}
	close(fd);
	if (pid < 0 || waitpid(pid, &out, 0) != pid || out) {
		printf("no figures: no process in %s: %m\n", group);
		exit(1);
	}
}

static double time_runs(const char *parent, int n, bool is_direct)
{
	char group[4096];
	double from = now_ms();

	for (int i = 0; i < n; i++) {
		snprintf(group, sizeof(group), "%s/floor-%d", parent, i);
		if (mkdir(group, 0755) < 0) {
			printf("no figures: mkdir %s: %m\n", group);
			exit(1);
		}
		run_true(group, is_direct);
		rmdir(group);
	}
	return (now_ms() - from) / n;
}

int main(int argc, char **argv)
{
	static const char page[4096];
	double from;
	int fd, n;

	if (argc != 4 || (n = atoi(argv[3])) < 1)
		return 64;
	printf("clone3_ms %.2f ", time_runs(argv[1], n, true));
	printf("procs_ms %.2f ", time_runs(argv[1], n, false));
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	from = now_ms();
	for (int i = 0; i < n; i++)
		if (write(fd, page, sizeof(page)) != sizeof(page) || fdatasync(fd) < 0)
			return 1;
	printf("sync_ms %.2f\n", (now_ms() - from) / n);
	return 0;
}
